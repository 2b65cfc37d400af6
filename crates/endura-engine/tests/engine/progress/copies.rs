//! Copies of a pool in use: what was flushed since the last one, taken while nobody stores, is the pool as it is then.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use endura_engine::media::{
    DIRTY_GRAIN, Domain, FlushInstruction, Heap, Mapped, Mapping, Media, Region, Reservation, STEP,
};
use endura_engine::space::{PAGE, Space};
use endura_engine::tree::fast_fair::LineBinary;
use endura_engine::tree::{ByteChange, ByteIndex, fast_fair, nbtree, roart};
use endura_variants::handles::{ByteMap, WordMap};
use endura_variants::sessions;

use crate::support::patience::ends;
use crate::support::words::Random;

type FastFair<M> = fast_fair::Tree<M, 256, 128, LineBinary>;
type NbTree<M> = nbtree::Tree<M, 128, 64>;
type Roart<M> = roart::Tree<M>;

/// Keys that the threads choose from.
const KEYS: u64 = 3_000;
const ROUNDS: usize = 40;

/// A map of each kind.
struct Maps<M: Media> {
    fast_fair: WordMap<FastFair<M>>,
    nbtree: WordMap<NbTree<M>>,
    roart: ByteMap<Roart<M>>,
}

type Contents = (BTreeMap<u64, u64>, BTreeMap<u64, u64>, BTreeMap<Vec<u8>, Vec<u8>>);

impl<M: Media> Maps<M> {
    fn of(space: &Arc<Space<M>>) -> Self {
        Self {
            fast_fair: WordMap::over(FastFair::open(space, "f").unwrap()),
            nbtree: WordMap::over(NbTree::open(space, "n").unwrap()),
            roart: ByteMap::over(Roart::open(space, "r").unwrap()),
        }
    }

    fn contents(&self) -> Contents {
        (
            self.fast_fair.iter().collect::<Result<_, _>>().unwrap(),
            self.nbtree.iter().collect::<Result<_, _>>().unwrap(),
            self.roart.iter().collect::<Result<_, _>>().unwrap(),
        )
    }

    /// Something with one of the maps.
    fn step(&self, random: &mut Random) {
        let (key, value) =
            (random.below(KEYS).wrapping_mul(0x9E37_79B9_7F4A_7C15), random.below(1 << 40));
        let bytes = vec![value as u8; random.below(300) as usize];
        let name = format!("{:05}", key % KEYS);
        match random.below(12) {
            0 | 1 => _ = self.fast_fair.insert(key, value).unwrap(),
            2 => _ = self.fast_fair.remove(key).unwrap(),
            3 | 4 => _ = self.nbtree.insert(key, value).unwrap(),
            5 => _ = self.nbtree.remove(key).unwrap(),
            6 | 7 => _ = self.roart.insert(&name, bytes).unwrap(),
            8 => _ = self.roart.remove(&name).unwrap(),
            9 => _ = self.roart.pop_first().unwrap(),
            10 => _ = self.nbtree.pop_last().unwrap(),
            _ => _ = self.fast_fair.pop_first().unwrap(),
        }
    }
}

fn medium(domain: Domain) -> Mapped {
    let instruction = FlushInstruction::best().unwrap_or(FlushInstruction::Clflush);
    let mapping =
        Mapping { read_only: false, direct: false, domain, instruction, notes_pages: true };
    let file = tempfile::tempfile().unwrap();
    file.set_len(STEP).unwrap();
    Mapped::new(file, Reservation::new(256 << 20).unwrap(), mapping).unwrap()
}

/// Brings a copy up to date; to be called while nobody stores.
fn copy_changes(space: &Space<Mapped>, copy: &mut Vec<u64>) -> usize {
    let media = space.media();
    copy.resize(media.len() as usize / 8, 0);
    let pages = media.dirty_pages().unwrap().take(media.len());
    for page in &pages {
        let words = DIRTY_GRAIN as usize / 8;
        let region = Region::new(media, page * DIRTY_GRAIN, words).unwrap();
        let from = *page as usize * words;
        for (i, word) in copy[from..from + words].iter_mut().enumerate() {
            *word = region.load(i, Ordering::Relaxed);
        }
    }
    pages.len()
}

/// Opens a copy as the next session would, and reads all of it; then writes to it.
fn contents_of(copy: &[u64], generation: u64) -> Contents {
    let media = Heap::new((copy.len() as u64 * 8).next_multiple_of(PAGE) + 64 * PAGE);
    for (i, &word) in copy.iter().enumerate().filter(|(_, word)| **word != 0) {
        Region::new(&media, 8 * i as u64, 1).unwrap().store(0, word, Ordering::Relaxed);
    }
    let space = sessions::begin(media, generation, false).unwrap();
    let maps = Maps::of(&space);
    let contents = maps.contents();
    let mut random = Random(generation);
    (0..500).for_each(|_| maps.step(&mut random));
    drop(maps.contents());
    contents
}

fn world(domain: Domain) -> (Arc<Space<Mapped>>, Maps<Mapped>) {
    let space = sessions::first(medium(domain)).unwrap();
    space.expect_checkpoints();
    let maps = Maps::of(&space);
    (space, maps)
}

fn copies_are_what_the_pool_was(domain: Domain) {
    let (space, maps) = world(domain);
    let (stop, mut copy) = (AtomicBool::new(false), Vec::new());
    let (mut longest, mut pages) = (Duration::ZERO, 0);
    std::thread::scope(|scope| {
        for seed in 1..3 {
            let (maps, stop) = (&maps, &stop);
            scope.spawn(move || {
                let mut random = Random(seed * 88_172_645_463_325_252);
                while !stop.load(Ordering::Relaxed) {
                    maps.step(&mut random);
                }
            });
        }
        let mut rounds = 0;
        while rounds < ROUNDS {
            std::thread::sleep(Duration::from_millis(5));
            let Some(held) = space.hold(Duration::from_secs(2)).unwrap() else { continue };
            let begun = Instant::now();
            pages += copy_changes(&space, &mut copy);
            longest = longest.max(begun.elapsed());
            let expected = maps.contents();
            drop(held);
            let found = contents_of(&copy, 2 + rounds as u64);
            assert!(found == expected, "{domain:?}: copy {rounds} is another pool");
            rounds += 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!("{domain:?}: {pages} pages in {ROUNDS} copies, of {} each", copy.len() / 512);
    assert!(pages < ROUNDS * copy.len() / 512, "each copy was of everything");
}

#[test]
fn a_copy_of_what_was_flushed_is_the_pool() {
    copies_are_what_the_pool_was(Domain::PageCache);
}

#[test]
fn also_where_lines_are_written_back() {
    copies_are_what_the_pool_was(Domain::Adr);
}

/// Writes `value` by an operation that runs a closure of its caller's, which calls `stay`.
fn write_in_closure(
    tree: &Roart<Mapped>,
    how: usize,
    (key, value): (&[u8], &[u8]),
    stay: impl Fn(),
) {
    let change = |work: &dyn Fn()| {
        work();
        ByteChange::Put(value.into())
    };
    match how {
        0 => tree.modify(key, |_| change(&stay)).unwrap(),
        1 => {
            let write_and_stay = || {
                tree.modify(b"inner", |_| ByteChange::Put(value.into())).unwrap();
                stay();
            };
            tree.modify(key, |_| change(&write_and_stay)).unwrap();
        }
        _ => {
            let (first, rest) = value.split_at(value.len() / 2);
            let fill = |to: &mut dyn std::io::Write| {
                to.write_all(first).unwrap();
                stay();
                to.write_all(rest).unwrap();
                Ok(())
            };
            tree.insert_from(key, value.len(), fill).unwrap();
        }
    }
}

/// While a writer is in a closure, or at its end, the copy has nothing of its operation; the next copy has all of it.
fn copies_leave_out_what_is_parked(domain: Domain) {
    let (space, maps) = world(domain);
    let (mut copy, mut random) = (Vec::new(), Random(88_172_645_463_325_252));
    for round in 0..12 {
        (0..300).for_each(|_| maps.step(&mut random));
        let key = format!("{:05}", random.below(KEYS));
        let value = vec![100 + round as u8; 100 * round + 50];
        let ((is_in, told), (leave, told_to)) = (channel(), channel::<()>());
        let mut compare = |generation: u64, is_in_it: bool| {
            let held = space.hold(Duration::from_secs(2)).unwrap().expect("a hold");
            if generation.is_multiple_of(4) {
                leave.send(()).unwrap();
                std::thread::sleep(Duration::from_millis(50));
            }
            copy_changes(&space, &mut copy);
            let expected = maps.contents();
            assert_eq!(expected.2.get(key.as_bytes()) == Some(&value), is_in_it, "round {round}");
            drop(held);
            assert!(contents_of(&copy, generation) == expected, "round {round}: another pool");
        };
        let generation = 2 * round as u64 + 2;
        std::thread::scope(|scope| {
            let (tree, key, value) = (maps.roart.index(), key.as_bytes(), &value[..]);
            scope.spawn(move || {
                write_in_closure(tree, round % 3, (key, value), || {
                    is_in.send(()).unwrap();
                    told_to.recv().unwrap();
                });
            });
            told.recv().unwrap();
            compare(generation, false);
            // Told already where the closure has ended during the copy.
            let _ = leave.send(());
        });
        compare(generation + 1, true);
    }
}

#[test]
fn a_copy_beside_a_closure_has_nothing_of_its_operation() {
    for domain in [Domain::PageCache, Domain::Adr] {
        ends("copies beside closures", move || copies_leave_out_what_is_parked(domain));
    }
}
