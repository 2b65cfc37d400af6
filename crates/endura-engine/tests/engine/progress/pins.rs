//! Walks over whole maps give their pins up: what others retire meanwhile becomes free again.
//!
//! Of counts, clears and the walks of a leak recovery it is counted how often the epoch goes on during them, which one pin
//! lets it do once. Beside a drop a thread replaces a value, and looks how much waits to be reused: as long
//! as one pin lasts that only grows; if pins are given up it becomes less, again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use endura::{MapOptions, Pool};
use endura_engine::media::Heap;
use endura_engine::space::{LeakRecoverer, LeakRecoveryState, LeakWalk, PAGE, Space};
use endura_engine::tree::fast_fair::LineBinary;
use endura_engine::tree::{ByteIndex, Index, Len, fast_fair, fast_fair_bytes, nbtree, roart};
use endura_variants::handles::{ByteMap, WordMap};
use endura_variants::sessions;

use crate::support::patience::ends;
use crate::support::pools::pool;
use crate::support::watched::{Watched, epochs_of};

/// Keys of a map in memory.
const KEYS: u64 = 30_000;

/// Times that less must wait beside a walk. Beside a single pin it is less twice at most: what had been retired
/// before the pin, or as it began, still becomes free.
const OFTEN: u32 = 6;

fn key(n: u64) -> u64 {
    (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    FastFair,
    NbTree,
    Roart,
    FairBytes,
}

impl Kind {
    const ALL: [Self; 4] = [Self::FastFair, Self::NbTree, Self::Roart, Self::FairBytes];

    /// Enough for some hundred pins.
    fn keys(self) -> u64 {
        if matches!(self, Self::Roart | Self::FairBytes) { 300_000 } else { 150_000 }
    }

    fn fill(self, pool: &Pool) {
        let keys = (0..self.keys()).map(key);
        match self {
            Self::FastFair => {
                let map = pool.map::<u64, u64>("m").unwrap();
                keys.for_each(|key| _ = map.insert(key, key).unwrap());
            }
            Self::NbTree => {
                let map = pool
                    .map_with::<u64, u64>("m", MapOptions::new().kind(endura_engine::Kind::NbTree))
                    .unwrap();
                keys.for_each(|key| _ = map.insert(key, key).unwrap());
            }
            Self::Roart => {
                let of_kind = MapOptions::new().kind(endura_engine::Kind::Roart);
                let map = pool.map_with::<u64, [u8]>("m", of_kind).unwrap();
                keys.for_each(|key| _ = map.insert(key, b"value").unwrap());
            }
            Self::FairBytes => {
                let of_kind = MapOptions::new().kind(endura_engine::Kind::FastFair);
                let map = pool.map_with::<[u8], [u8]>("m", of_kind).unwrap();
                keys.for_each(|key| _ = map.insert(&key.to_be_bytes(), b"value").unwrap());
            }
        }
    }
}

/// Runs `walk` beside a writer, and looks whether its pins let memory be reused.
fn gives_its_pin_up(what: &str, pool: &Pool, walk: impl FnOnce()) {
    let beside = pool.map::<str, [u8]>("beside").unwrap();
    let (runs, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let (looks, times_less) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let (mut looks, mut times_less, mut before) = (0, 0, 0);
            while !stop.load(Ordering::Acquire) {
                (0..16).for_each(|n| _ = beside.insert("k", &[n; 2048]).unwrap());
                let waits = pool.stats().unwrap().limbo_bytes;
                looks += 1;
                times_less += u32::from(waits < before);
                before = waits;
                if looks == 20 && !runs.swap(true, Ordering::AcqRel) {
                    // From here on beside the walk.
                    (looks, times_less) = (0, 0);
                }
            }
            (looks, times_less)
        });
        while !runs.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        walk();
        stop.store(true, Ordering::Release);
        writer.join().unwrap()
    });
    // A walk that ends before that holds nobody up.
    assert!(looks < 60 || times_less >= OFTEN, "{what}: less {times_less} times of {looks}");
}

type Memory = Arc<Watched>;

/// The pool in this memory, in a session after one that was killed, or in its first.
fn session(memory: &Memory, generation: u64) -> Arc<Space<Memory>> {
    sessions::begin(Arc::clone(memory), generation, generation == 1).unwrap()
}

/// What `work` does in a session after a kill with a tree that `fill` has filled, and the least number of epochs.
fn after_a_kill(
    has_locks: bool,
    fill: impl Fn(&Arc<Space<Memory>>),
    work: impl Fn(&Arc<Space<Memory>>) -> usize,
) {
    let memory = Arc::new(Watched::new(Heap::new(32 * PAGE), has_locks));
    Space::format(&memory).unwrap();
    fill(&session(&memory, 1));
    let epochs = work(&session(&memory, 2));
    assert!(epochs > 8, "{epochs} epochs");
}

type FastFair = fast_fair::Tree<Memory, 128, 64, LineBinary>;
type NbTree = nbtree::Tree<Memory, 64, 64>;
type Roart = roart::Tree<Memory>;
type FairBytes = fast_fair_bytes::Tree<Memory, 64, 64>;

fn fill_fast_fair(space: &Arc<Space<Memory>>) {
    let map = WordMap::over(FastFair::open(space, "m").unwrap());
    (0..KEYS).for_each(|n| _ = map.insert(key(n), n).unwrap());
}

fn fill_nbtree(space: &Arc<Space<Memory>>) {
    let map = WordMap::over(NbTree::open(space, "m").unwrap());
    (0..KEYS).for_each(|n| _ = map.insert(key(n), n).unwrap());
}

fn fill_fair_bytes(space: &Arc<Space<Memory>>) {
    let map = ByteMap::over(FairBytes::open(space, "m").unwrap());
    (0..KEYS).for_each(|n| _ = map.insert(key(n).to_be_bytes(), n.to_le_bytes()).unwrap());
}

fn fill_roart(space: &Arc<Space<Memory>>) {
    let map = ByteMap::over(Roart::open(space, "m").unwrap());
    (0..KEYS).for_each(|n| _ = map.insert(key(n).to_be_bytes(), "value").unwrap());
}

#[test]
fn a_count_after_a_kill_gives_its_pins_up() {
    let all = Len::Exact(KEYS);
    after_a_kill(true, fill_fast_fair, |space| {
        let tree = FastFair::open(space, "m").unwrap();
        let epochs = epochs_of(space, || tree.count_all().unwrap());
        assert_eq!(tree.len().unwrap(), all);
        epochs
    });
    after_a_kill(false, fill_nbtree, |space| {
        let tree = NbTree::open(space, "m").unwrap();
        let epochs = epochs_of(space, || tree.rebuild(1).unwrap());
        assert_eq!(tree.len().unwrap(), all);
        epochs
    });
    after_a_kill(true, fill_roart, |space| {
        let tree = Roart::open(space, "m").unwrap();
        let epochs = epochs_of(space, || tree.count_all().unwrap());
        assert_eq!(tree.len().unwrap(), all);
        epochs
    });
    after_a_kill(true, fill_fair_bytes, |space| {
        let tree = FairBytes::open(space, "m").unwrap();
        let epochs = epochs_of(space, || tree.count_all().unwrap());
        assert_eq!(tree.len().unwrap(), all);
        epochs
    });
}

/// Each operation may be the first that comes to a part of the keys; here all keys are in the same.
#[test]
fn the_first_use_of_an_nbtree_in_a_session_gives_its_pins_up() {
    type Use = fn(&WordMap<NbTree>);
    let uses: [Use; 6] = [
        |map| assert_eq!(map.get(7).unwrap(), Some(7)),
        |map| assert_eq!(map.get_many(&[7, 8]).unwrap(), [Some(7), Some(8)]),
        |map| assert_eq!(map.insert(KEYS, 1).unwrap(), None),
        |map| assert_eq!(map.range(5..).next().unwrap().unwrap(), (5, 5)),
        |map| assert_eq!(map.first().unwrap(), Some((0, 0))),
        |map| assert_eq!(map.pop_last().unwrap(), Some((KEYS - 1, KEYS - 1))),
    ];
    let fill = |space: &Arc<Space<Memory>>| {
        let map = WordMap::over(NbTree::open(space, "m").unwrap());
        (0..KEYS).for_each(|n| _ = map.insert(n, n).unwrap());
    };
    for (i, it) in uses.into_iter().enumerate() {
        eprintln!("use {i}");
        after_a_kill(false, fill, |space| {
            let map = WordMap::over(NbTree::open(space, "m").unwrap());
            epochs_of(space, || it(&map))
        });
    }
}

/// How many epochs there are during the walks of a leak recovery.
fn mark(space: &Arc<Space<Memory>>, walks: Vec<Box<dyn LeakWalk<Memory>>>) -> usize {
    let ends = walks.len();
    let recoverer = LeakRecoverer::new(space, walks, LeakRecoverer::<Memory>::BITE / 32);
    let is_marking = || {
        recoverer.step().unwrap();
        space.leak_recovery().state == LeakRecoveryState::Marking
    };
    let epochs = epochs_of(space, || while is_marking() {});
    assert!(recoverer.finish().unwrap() && ends > 0);
    epochs
}

#[test]
fn a_leak_recovery_gives_its_pins_up() {
    after_a_kill(true, fill_fast_fair, |space| {
        mark(space, vec![FastFair::open(space, "m").unwrap().marking()])
    });
    after_a_kill(false, fill_nbtree, |space| {
        mark(space, NbTree::open(space, "m").unwrap().marking())
    });
    after_a_kill(true, fill_roart, |space| {
        mark(space, vec![Roart::open(space, "m").unwrap().marking()])
    });
    after_a_kill(true, fill_fair_bytes, |space| {
        mark(space, FairBytes::open(space, "m").unwrap().marking())
    });
}

/// Clears a map, alone and inside of one pin.
fn clear(space: &Arc<Space<Memory>>, clear: impl Fn(), fill: impl Fn(&Arc<Space<Memory>>)) {
    fill(space);
    let epochs = epochs_of(space, &clear);
    assert!(epochs > 8, "{epochs} epochs");
    fill(space);
    let outer = ByteMap::over(Roart::open(space, "outer").unwrap());
    outer.insert("k", "").unwrap();
    let epochs = epochs_of(space, || outer.get_with("k", |_| clear()).unwrap().unwrap());
    assert!(epochs <= 3, "{epochs} epochs in one pin");
}

#[test]
fn a_clear_gives_its_pins_up() {
    let space = |has_locks| {
        let memory = Arc::new(Watched::new(Heap::new(32 * PAGE), has_locks));
        Space::format(&memory).unwrap();
        session(&memory, 1)
    };
    let numbers = space(true);
    let map = WordMap::over(FastFair::open(&numbers, "m").unwrap());
    clear(&numbers, || map.clear().unwrap(), fill_fast_fair);
    let strings = space(true);
    let map = ByteMap::over(Roart::open(&strings, "m").unwrap());
    clear(&strings, || map.clear().unwrap(), fill_roart);
    let strings = space(true);
    let map = ByteMap::over(FairBytes::open(&strings, "m").unwrap());
    clear(&strings, || map.clear().unwrap(), fill_fair_bytes);
    let numbers = space(false);
    let map = WordMap::over(NbTree::open(&numbers, "m").unwrap());
    clear(&numbers, || map.clear().unwrap(), fill_nbtree);
}

#[test]
fn a_drop_gives_its_pins_up() {
    for kind in Kind::ALL {
        ends("a drop", move || {
            let (_folder, path, pool) = pool();
            kind.fill(&pool);
            let drop = || assert!(pool.drop_map("m").unwrap());
            gives_its_pin_up(&format!("drop of {kind:?}"), &pool, drop);
            // Where the drop had to wait it is freed now at the latest.
            pool.close().unwrap();
            let pool = Pool::options().open_existing(&path).unwrap();
            let report = pool.verify().unwrap();
            assert_eq!((report.maps.len(), report.shares.leaked), (1, 0));
            assert!(report.shares.reached < 1 << 20, "{report:?}");
        });
    }
}
