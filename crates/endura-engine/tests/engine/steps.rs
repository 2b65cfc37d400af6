//! Each step of a range gives what is in the map at a moment of the step, whatever others do at any of its loads, and
//! whatever became of the map since the step before.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;
use std::sync::Arc;

use endura::Pool;
use endura_engine::Error;
use endura_engine::media::{Heap, Media, Ordering, Region};
use endura_engine::space::{PAGE, Space};
use endura_engine::tree::fast_fair::LineBinary;
use endura_engine::tree::roart::{Full, Techniques};
use endura_engine::tree::{ByteIndex, Entry, Index, fast_fair, nbtree, roart};
use endura_variants::handles::{ByteMap, WordMap};
use endura_variants::roart::{Tiny, WithoutArrays};
use endura_variants::sessions;

use crate::support::watched::{Watched, interrupted};

type NbTree = nbtree::Tree<Watched, 16, 4>;
type FastFair = fast_fair::Tree<Watched, 14, 14, LineBinary>;
type Roart<T> = roart::Tree<Watched, T>;

/// Keys, each with the version of its value.
type Contents = BTreeMap<u64, u64>;
type Found = Option<(u64, u64)>;

/// The entries that a map begins with: multiples of ten up to this.
const END: u64 = 240;
/// Keys of one part: numbers of different parts lie in different partitions of an NBTree.
const PART: u64 = 80;

/// A map of small numbers, each with a version.
trait Entries {
    fn put(&self, n: u64, version: u64);
    fn remove(&self, n: u64);
    fn clear(&self);
    /// The steps of a range from one end. They panic at what is no value of its key.
    fn steps(&self, up: bool) -> Box<dyn FnMut() -> Found + '_>;
}

fn spread(n: u64) -> u64 {
    (n / PART) << 61 | n
}

impl<I: Index> Entries for WordMap<I> {
    fn put(&self, n: u64, version: u64) {
        self.insert(spread(n), n << 8 | version).unwrap();
    }

    fn remove(&self, n: u64) {
        self.remove(spread(n)).unwrap();
    }

    fn clear(&self) {
        self.clear().unwrap();
    }

    fn steps(&self, up: bool) -> Box<dyn FnMut() -> Found + '_> {
        let mut range = self.iter();
        Box::new(move || {
            let found = if up { range.next() } else { range.next_back() };
            let (key, value) = found?.unwrap();
            assert_eq!(key, spread(value >> 8));
            Some((value >> 8, value & 0xff))
        })
    }
}

/// Some in one array, and some deeper.
fn spelled(n: u64) -> Vec<u8> {
    let tail = if n / 10 % 8 < 6 { "" } else { "/deep" };
    format!("k{n:03}{tail}").into_bytes()
}

/// Each version has another length.
fn value(n: u64, version: u64) -> Vec<u8> {
    [n, version].map(u64::to_le_bytes).concat().repeat(2 + 3 * version as usize)
}

impl<I: ByteIndex> Entries for ByteMap<I> {
    fn put(&self, n: u64, version: u64) {
        self.insert(spelled(n), value(n, version)).unwrap();
    }

    fn remove(&self, n: u64) {
        self.remove(spelled(n)).unwrap();
    }

    fn clear(&self) {
        self.clear().unwrap();
    }

    fn steps(&self, up: bool) -> Box<dyn FnMut() -> Found + '_> {
        let mut range = self.iter();
        Box::new(move || {
            let found = if up { range.next() } else { range.next_back() };
            let (key, bytes) = found?.unwrap();
            let words = bytes.as_chunks().0;
            let [n, version] = [0, 1].map(|i: usize| u64::from_le_bytes(words[i]));
            assert_eq!((&key, &bytes), (&spelled(n), &value(n, version)), "torn, or another's");
            Some((n, version))
        })
    }
}

struct World {
    space: Arc<Space<Watched>>,
    map: Box<dyn Entries>,
    /// Whatever is free becomes part of it.
    other: Box<dyn Entries>,
}

impl World {
    fn new<E: Entries + 'static>(
        open: impl Fn(&Arc<Space<Watched>>, &str) -> E,
        locks: bool,
    ) -> Rc<Self> {
        let space = sessions::first(Watched::new(Heap::new(64 * PAGE), locks)).unwrap();
        let (map, other) = (open(&space, "map"), open(&space, "other"));
        Rc::new(Self { space, map: Box::new(map), other: Box::new(other) })
    }

    fn roart<T: Techniques>() -> Rc<Self> {
        Self::new(|space, name| ByteMap::over(Roart::<T>::open(space, name).unwrap()), true)
    }

    fn fill(&self) {
        self.map.clear();
        self.other.clear();
        self.expire();
        (0..END).step_by(10).for_each(|n| self.map.put(n, 1));
    }

    fn contents(&self) -> Contents {
        let mut steps = self.map.steps(true);
        std::iter::from_fn(&mut *steps).collect()
    }

    /// Moves the epoch on, so far that what is retired now is free.
    fn expire(&self) {
        (0..4).for_each(|_| drop(self.space.relieve()));
    }

    /// Puts other contents into whatever is free and has the length of an entry.
    fn reuse(&self) {
        self.expire();
        (0..150).for_each(|n| self.other.put(800 + n, 1 + n % 2));
    }
}

/// What others do to a map whose range comes to the first of these keys next, and then to the second.
type Act = (&'static str, fn(&World, u64, u64));

const ACTS: [Act; 13] = [
    ("nothing", |_, _, _| {}),
    ("the epoch moves on", |world, _, _| world.expire()),
    ("replaced", |world, next, _| world.map.put(next, 2)),
    ("removed", |world, next, _| world.map.remove(next)),
    ("removed, and the one behind it replaced", |world, next, behind| {
        world.map.remove(next);
        world.map.put(behind, 3);
    }),
    ("removed, and one comes in between", |world, next, behind| {
        world.map.remove(next);
        world.map.put(next.midpoint(behind), 2);
    }),
    ("removed, and one comes further on", |world, next, behind| {
        world.map.remove(next);
        world.map.put(behind.midpoint(2 * behind - next), 2);
    }),
    ("split", |world, next, behind| {
        (1..10).for_each(|i| world.map.put(next.min(behind) + i, 2));
        (1..10).for_each(|i| world.map.put(next.min(behind) + i + 10, 2));
        world.map.put(behind, 3);
    }),
    ("split, and removed", |world, next, behind| {
        (1..10).for_each(|i| world.map.put(next.min(behind) + i, 2));
        (1..10).for_each(|i| world.map.put(next.min(behind) + i + 10, 2));
        (0..10).for_each(|i| world.map.remove(next.min(behind) + i));
    }),
    ("merged", |world, next, behind| {
        (0..END)
            .filter(|n| n % 40 != 0 && ![next, behind].contains(n))
            .for_each(|n| world.map.remove(n));
        world.map.put(next, 3);
        world.map.put(behind, 3);
    }),
    ("removed and used again", |world, next, _| {
        world.map.remove(next);
        world.reuse();
    }),
    ("replaced and used again", |world, next, _| {
        world.map.put(next, 4);
        world.reuse();
    }),
    ("all of it removed and used again", |world, _, _| {
        world.map.clear();
        world.reuse();
    }),
];

/// Whether a step that has come to `last` may give this, if the map held `before` as it began and `after` as it ended:
/// an entry of either, and none is passed over that the map had all the time. (One that came since the range began may be.)
fn is_right(found: Found, last: u64, up: bool, [before, after]: [&Contents; 2]) -> bool {
    let is_behind = |key: u64, other: u64| if up { key > other } else { key < other };
    let is_passed =
        |key: u64| is_behind(key, last) && found.is_none_or(|(found, _)| is_behind(found, key));
    let is_there = |(key, version)| {
        is_behind(key, last)
            && [before, after].iter().any(|model| model.get(&key) == Some(&version))
    };
    let stayed = |key: &u64| before.contains_key(key) && after.contains_key(key);
    found.is_none_or(is_there) && !(0..END).step_by(10).filter(stayed).any(is_passed)
}

/// A range has given so many entries; then comes `first`, and `then` at each load of the next step in turn.
fn at_each_load(world: &Rc<World>, kind: &str, first: Act, then: Act, (up, taken): (bool, u64)) {
    let at = |i: u64| if up { 10 * i } else { END - 10 - 10 * i };
    let (next, behind) = (at(taken), at(taken + 1));
    let mut load = 0;
    loop {
        world.fill();
        let mut step = world.map.steps(up);
        (0..taken).for_each(|i| assert_eq!(step(), Some((at(i), 1))));
        (first.1)(world, next, behind);
        let before = world.contents();
        let act = {
            let world = Rc::clone(world);
            move || (then.1)(&world, next, behind)
        };
        let (mut found, loads) = interrupted(vec![load], act, &mut *step);
        let (mut last, after) = (at(taken - 1), world.contents());
        let what = || format!("{kind}: {}, {} at load {load}, up: {up}, {taken}", first.0, then.0);
        assert!(is_right(found, last, up, [&before, &after]), "{}: {found:?}", what());
        // Nothing happens any more.
        while let Some((key, _)) = found {
            (last, found) = (key, step());
            assert!(is_right(found, last, up, [&after, &after]), "{}: {found:?}", what());
        }
        load += 1;
        if then.0 == "nothing" || load > loads {
            return;
        }
    }
}

fn each_step(kind: &str, world: &Rc<World>) {
    let nothing = ACTS[0];
    for up in [true, false] {
        for taken in (1..END / 10 - 2).step_by(2) {
            ACTS.into_iter()
                .for_each(|first| at_each_load(world, kind, first, nothing, (up, taken)));
        }
        for first in &ACTS[..2] {
            ACTS.into_iter().for_each(|then| at_each_load(world, kind, *first, then, (up, 4)));
        }
    }
}

/// Below, each step gives what is in the map at a moment of the step.
#[test]
fn steps_over_an_nbtree() {
    let world = World::new(|space, name| WordMap::over(NbTree::open(space, name).unwrap()), false);
    each_step("NBTree", &world);
}

#[test]
fn steps_over_a_fast_fair_tree() {
    let world = World::new(|space, name| WordMap::over(FastFair::open(space, name).unwrap()), true);
    each_step("FAST & FAIR", &world);
}

#[test]
fn steps_over_a_roart_tree() {
    each_step("ROART", &World::roart::<Full>());
    each_step("ROART with small arrays", &World::roart::<Tiny>());
    each_step("ROART without arrays", &World::roart::<WithoutArrays>());
}

/// Whoever moves the bound of a scan on, beyond what it has noted, finds what came there since. The first of the noted
/// records is as it was, or has been replaced.
#[test]
fn behind_a_bound_that_was_moved_on_is_what_came_there_since() {
    for is_replaced in [false, true] {
        let world = World::roart::<Full>();
        let map = ByteMap::over(Roart::<Full>::open(&world.space, "third").unwrap());
        for key in ["0", "a1", "a2", "d1", "d2"] {
            map.insert(key, key).unwrap();
        }
        let (mut cursor, mut entry) = (roart::Cursor::default(), Entry::default());
        let mut next = |first: &str| {
            let keys = (Bound::Excluded(first.as_bytes()), Bound::Unbounded);
            map.index().next_entry(&mut cursor, keys, true, true, &mut entry).unwrap();
            String::from_utf8(entry.key().to_vec()).unwrap()
        };
        assert_eq!([next(""), next("0")], ["0", "a1"]);
        if is_replaced {
            map.insert("a2", "other").unwrap();
        }
        map.insert("c5", "c5").unwrap();
        assert_eq!(next("b"), "c5");
    }
}

/// Keys that a damage brings out of order, also after they were noted, come at most once each, in order.
#[test]
fn keys_that_damage_brings_out_of_order_come_in_order_or_not_at_all() {
    for up in [true, false] {
        for damaged in 0..20_u8 {
            for found in [b'0', b'z'] {
                let world = World::roart::<Full>();
                let map = ByteMap::over(Roart::<Full>::open(&world.space, "third").unwrap());
                (b'A'..b'A' + 20)
                    .for_each(|n| assert_eq!(map.insert([b'k', n], "").unwrap(), None));
                let mut range = map.iter();
                let mut next = || if up { range.next() } else { range.next_back() };
                let mut last = Vec::new();
                for _ in 0..5 {
                    last = next().unwrap().unwrap().0;
                }
                let key = u64::from(u16::from_le_bytes([b'k', b'A' + damaged]));
                // The key of a record: behind its lengths and its checksum.
                let words =
                    Region::new(world.space.media(), 0, world.space.media().len() as usize / 8)
                        .unwrap();
                let is_record = |i: &usize| {
                    words.load(*i, Ordering::Relaxed) == 2
                        && words.load(i + 2, Ordering::Relaxed) == key
                };
                let at = (0..words.words() - 2).find(is_record).unwrap();
                words.store(
                    at + 2,
                    u64::from(u16::from_le_bytes([b'k', found])),
                    Ordering::Relaxed,
                );
                let mut count = 0;
                while let Some(Ok((key, _))) = next() {
                    assert!(if up { key > last } else { key < last }, "{key:?} after {last:?}");
                    (last, count) = (key, count + 1);
                }
                assert!(count <= 20);
            }
        }
    }
}

/// Also where the range has noted what comes next.
#[test]
fn a_step_over_a_poisoned_pool_is_refused() {
    for up in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let pool = Pool::open(folder.path().join("pool")).unwrap();
        let map = pool.map::<str, [u8]>("map").unwrap();
        (10..50).for_each(|n| assert_eq!(map.insert(&format!("k{n}"), b"v").unwrap(), None));
        let mut range = map.iter();
        let mut step = || if up { range.next() } else { range.next_back() };
        assert!((0..5).all(|_| step().unwrap().is_ok()));
        pool.space().poison();
        assert!(matches!(step(), Some(Err(Error::Poisoned))));
    }
}

/// To another partition, in which the keys are alike, and to another leaf.
#[test]
fn a_scan_goes_on_from_where_its_caller_moves_it() {
    const FAR: u64 = 1 << 61;
    let world = World::roart::<Full>();
    let map = WordMap::over(NbTree::open(&world.space, "numbers").unwrap());
    for n in 0..60 {
        assert_eq!([n, FAR | n].map(|key| map.insert(key, key).unwrap()), [None; 2]);
    }
    let tree = map.index();
    for n in 0..60 {
        for to in (n..60).chain(FAR..FAR + 60) {
            let mut cursor = nbtree::Cursor::default();
            assert_eq!(tree.scan_up(&mut cursor, n).unwrap(), Some((n, n)));
            if to != n {
                assert_eq!(tree.scan_up(&mut cursor, to).unwrap(), Some((to, to)));
            }
        }
        let last = FAR | n;
        for to in (0..60).chain(FAR..last) {
            let mut cursor = nbtree::Cursor::default();
            assert_eq!(tree.scan_down(&mut cursor, last).unwrap(), Some((last, last)));
            assert_eq!(tree.scan_down(&mut cursor, to).unwrap(), Some((to, to)));
        }
    }
}
