//! Commits in pools with exactly as many free chunks as a commit asks for.

use std::collections::BTreeSet;
use std::ops::Range;

use super::taken::tree_put;
use super::*;

/// Chunks by which all space is taken.
const SIZES: [u64; 24] = [
    65_536, 16_384, 8_192, 4_096, 3_584, 3_072, 2_560, 2_112, 2_048, 1_792, 1_536, 1_344, 1_280,
    1_024, 896, 768, 704, 640, 576, 512, 448, 384, 320, 256,
];
/// A span that is set aside for chunks whose sizes are not known.
const RUN: u64 = 65_536;
/// Sizes of intents and records, of which there are always some.
const SMALL: [u64; 10] = [32, 64, 80, 96, 112, 128, 144, 160, 192, 2_048];
/// Keys that each map gets, one in each commit.
const KEYS: u64 = 140;
/// So many chunks of each size are enough for one key.
const ENOUGH: usize = 100;
/// The number of the key that divides a full array of ROART.
const DIVIDES: u64 = 128;

/// How the keys of a map look.
#[derive(Debug, Clone, Copy)]
enum Keys {
    Numbers,
    /// All agree in so many bytes that a word tells none of them apart.
    LongPrefix,
    /// The same with fences that need records.
    LongFences,
    /// Each array of ROART has records of many groups.
    Groups,
}

impl Keys {
    fn key(self, i: u64) -> Vec<u8> {
        let number = [(i / 100) as u8, (i % 100) as u8];
        match self {
            Self::Numbers => i.to_be_bytes().to_vec(),
            Self::LongPrefix => [&[b'k'; 12][..], &number].concat(),
            Self::LongFences if i < 2 => vec![b'j' + 2 * i as u8],
            Self::LongFences => [&[b'k'; 2_000][..], &number].concat(),
            Self::Groups => vec![1, (i / 2) as u8, (i % 2) as u8],
        }
    }
}

/// All space of a pool, taken.
struct Taken<'w> {
    world: &'w World,
    /// Chunks of the sizes that the map needs, which are given back one by one.
    spare: Vec<(u64, Vec<u64>)>,
}

impl<'w> Taken<'w> {
    fn all(world: &'w World, sizes: &[u64]) -> Self {
        let alloc = |bytes| world.space.with_room(|| world.space.pin_mut()?.alloc(bytes));
        // Every other chunk stays taken, so that no span becomes free, which could be one of another size.
        let some = |bytes, count| -> Vec<u64> {
            let all: Vec<u64> = (0..2 * count).map(|_| alloc(bytes).unwrap()).collect();
            all.into_iter().step_by(2).collect()
        };
        let others = SMALL.into_iter().filter(|bytes| !sizes.contains(bytes));
        let kept: Vec<_> = others.map(|bytes| (bytes, some(bytes, 200))).collect();
        let count = |bytes| if bytes < RUN { 200 } else { 150 };
        let spare = sizes.iter().map(|&bytes| (bytes, some(bytes, count(bytes)))).collect();
        for bytes in SIZES {
            while alloc(bytes).is_ok() {}
        }
        let guard = world.space.pin_mut().unwrap();
        for (bytes, chunks) in kept {
            chunks.into_iter().for_each(|at| guard.discard(at, bytes));
        }
        drop(guard);
        Self { world, spare }
    }

    /// Takes what has become free of the sizes that the map needs.
    fn take_again(&mut self) {
        for (bytes, chunks) in &mut self.spare {
            let world = self.world;
            let alloc = || world.space.with_room(|| world.space.pin_mut()?.alloc(*bytes));
            chunks.extend(std::iter::from_fn(|| alloc().ok()));
        }
    }

    fn counts(&self) -> Vec<usize> {
        self.spare.iter().map(|(_, chunks)| chunks.len()).collect()
    }

    /// Gives back chunks of one size; returns whether there were so many.
    fn give(&mut self, size: usize, count: usize) -> bool {
        let (bytes, chunks) = &mut self.spare[size];
        let guard = self.world.space.pin_mut().unwrap();
        let had = chunks.len();
        chunks.drain(had.saturating_sub(count)..).for_each(|at| guard.discard(at, *bytes));
        had >= count
    }
}

/// Each commit adds a key. It is `Full` until there are as many chunks as its change may need, and is made then. Each size
/// is once the one of which there are too few.
fn one_key_after_the_other(range: Range<u64>, map: usize, keys: Keys, sizes: &[u64]) {
    (0..sizes.len()).for_each(|few| with_few(few, range.clone(), map, keys, sizes));
}

/// The keys before the range are there already, if they are byte strings.
fn with_few(few: usize, range: Range<u64>, map: usize, keys: Keys, sizes: &[u64]) {
    let world = World::of_pages(24);
    if let Tree::Bytes(tree) = &world.trees[map] {
        (0..range.start).for_each(|i| tree_put(tree, &keys.key(i)));
    }
    let mut taken = Taken::all(&world, sizes);
    let (mut full, mut most, mut divisions) = (0, 0, 0);
    let mut had = taken.counts();
    for i in range {
        let key = keys.key(i);
        let operation = match &world.trees[map] {
            Tree::Words(tree) => Operation::Word { tree, key: i, act: Act::Put(i) },
            Tree::Bytes(tree) => {
                Operation::Bytes { tree, key: &key, act: Act::Put(b"v"), is_same: same_bytes }
            }
        };
        let is_there = |key: &[u8]| match &world.trees[map] {
            Tree::Words(_) => world.get(map, i).is_some(),
            Tree::Bytes(tree) => tree.look(key, |_| ()).unwrap(),
        };
        let mut given = 0;
        let mut others = (0..sizes.len()).filter(|&size| size != few);
        loop {
            match commit(&world.space, &[operation]) {
                Ok(()) => break,
                Err(Error::Full { .. } | Error::ReclaimStalled { .. }) => {}
                Err(error) => panic!("map {map}, {keys:?}, key {i}, {given} given: {error:?}"),
            }
            assert!(!world.space.is_poisoned(), "map {map}, {keys:?}, key {i}, {given} given");
            assert!(!is_there(&key));
            full += 1;
            if let Some(size) = others.next() {
                assert!(taken.give(size, ENOUGH));
                continue;
            }
            assert!(taken.give(few, 1), "map {map}, {keys:?}, key {i}, {given} given");
            given += 1;
        }
        assert!(is_there(&key));
        taken.take_again();
        let counts = taken.counts();
        divisions += usize::from(counts.iter().zip(&had).any(|(now, had)| now < had));
        had = counts;
        most = most.max(given);
    }
    let of = sizes[few];
    println!("map {map}, {keys:?}, few of {of}: {most} at most given, {divisions} times used");
    assert!(full > 0 && divisions > 0, "map {map}, {keys:?}, few of {of}: {full}, {divisions}");
}

#[test]
fn a_commit_has_all_that_its_change_may_need() {
    for map in 0..4 {
        one_key_after_the_other(0..KEYS, map, Keys::Numbers, &[1_024]);
    }
    for map in [4, 5] {
        one_key_after_the_other(0..KEYS, map, Keys::Numbers, &[1_024]);
        one_key_after_the_other(0..KEYS, map, Keys::LongPrefix, &[1_024]);
        one_key_after_the_other(0..KEYS, map, Keys::LongFences, &[RUN, 1_024]);
    }
    let nodes = crate::tree::roart::node_sizes();
    let arrays = crate::tree::roart::arrays_of_groups().map(|(bytes, _)| bytes);
    let sizes: Vec<u64> = BTreeSet::from_iter(nodes.chain(arrays)).into_iter().collect();
    for keys in [Keys::Numbers, Keys::LongPrefix, Keys::Groups] {
        // One of these divides an array into smaller ones, below a new node.
        one_key_after_the_other(DIVIDES - 2..DIVIDES + 2, 6, keys, &sizes);
    }
}

/// A pool has one span that can be set aside, and a commit may need several.
#[test]
fn no_span_is_set_aside_twice() {
    let world = World::of_pages(4);
    let alloc = |bytes| world.space.with_room(|| world.space.pin_mut()?.alloc(bytes));
    let spans = [alloc(RUN).unwrap(), alloc(RUN).unwrap()];
    for bytes in SIZES.into_iter().chain(SMALL) {
        while alloc(bytes).is_ok() {}
    }
    let mut needs = Needs::default();
    needs.add_loose(RUN / 2, 1, 4_096);
    for (given, at) in spans.into_iter().enumerate() {
        let guard = world.space.pin_mut().unwrap();
        let refused = guard.set_aside(&needs).err();
        assert!(matches!(refused, Some(Error::Full { .. })), "{given} of two spans");
        guard.discard(at, RUN);
    }
    let guard = world.space.pin_mut().unwrap();
    drop(guard.set_aside(&needs).unwrap());
    // They are given back.
    assert!(spans.map(|_| guard.alloc(RUN)).iter().all(Result::is_ok));
}
