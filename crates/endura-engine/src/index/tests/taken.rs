//! Commits whose changes are applied when all other space is taken.

use std::sync::atomic::AtomicBool;

use super::*;

/// Chunks by which all space is taken.
const SIZES: [u64; 13] =
    [65_536, 4_096, 2_112, 2_048, 1_344, 1_024, 512, 320, 192, 128, 96, 64, 32];

/// Numbers that are different each time.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// A key that has a prefix with many others in common, and may be long.
fn key_of(random: &mut Random, map: usize) -> Vec<u8> {
    if KINDS[map].1 != Entries::Bytes {
        let key = match random.below(3) {
            0 => random.below(4_000),
            1 => random.below(u64::MAX),
            _ => random.below(64) << 32 | random.below(100),
        };
        return key.to_be_bytes().to_vec();
    }
    let mut key = Vec::new();
    for _ in 0..random.below(5) {
        match random.below(8) {
            0 => key.extend([b'x'; 9]),
            1 => key.extend([b'y'; 40]),
            2 => key.extend(std::iter::repeat_n(b'z', random.below(300) as usize)),
            3 => key.push(random.below(256) as u8),
            _ => key.push(b'a' + random.below(3) as u8),
        }
    }
    key
}

impl World {
    /// Calls `apply` when another thread has taken all space that was left, which takes what becomes free meanwhile as well.
    /// Returns these chunks too, with their bytes.
    fn beside_hunger(&self, apply: impl FnOnce() -> Result<()>) -> (Result<()>, Vec<(u64, u64)>) {
        let (is_full, is_over) = (Barrier::new(2), AtomicBool::new(false));
        let take_all = || {
            let guard = self.space.pin_mut().unwrap();
            let mut taken = Vec::new();
            let mut take = |bytes| {
                let all = std::iter::from_fn(|| guard.alloc(bytes).ok());
                taken.extend(all.map(|at| (at, bytes)));
            };
            [1 << 21, 1 << 18].into_iter().chain(SIZES).for_each(&mut take);
            is_full.wait();
            while !is_over.load(Ordering::Relaxed) {
                SIZES.into_iter().for_each(&mut take);
            }
            taken
        };
        thread::scope(|scope| {
            let hunger = scope.spawn(take_all);
            is_full.wait();
            let applied = apply();
            is_over.store(true, Ordering::Relaxed);
            (applied, hunger.join().unwrap())
        })
    }

    /// Commits the changes, and applies them beside hunger, whose chunks are given back then.
    fn commit_beside_hunger(&self, operations: &[Operation<'_, Heap>]) -> Result<()> {
        let apply = |changes: &OfMaps<'_, '_>, _: &mut dyn FnMut()| {
            let (applied, taken) = self.beside_hunger(|| changes.apply(&mut || ()));
            let guard = self.space.pin_mut().unwrap();
            taken.iter().for_each(|&(at, bytes)| guard.discard(at, bytes));
            applied
        };
        let mut staged = Staged { apply: &apply, ..Staged::of(operations) };
        self.space.commit(&mut staged)
    }
}

impl World {
    fn is_nbtree(&self, map: usize) -> bool {
        KINDS[map].0 == Kind::NbTree
    }

    fn remove(&self, map: usize, key: u64) {
        match &self.trees[map] {
            Tree::Words(tree) => tree.set(key, None).unwrap(),
            Tree::Bytes(tree) => tree.set(&key.to_be_bytes(), None).unwrap(),
        }
    }
}

fn put_of<'o>(tree: &'o ByteTree<Heap>, key: &'o [u8]) -> Operation<'o, Heap> {
    Operation::Bytes { tree, key, act: Act::Put(b"v"), is_same: same_bytes }
}

/// A change of a key: to a number or to bytes, as the tree has them, or to nothing.
fn operation<'o>(
    tree: &'o Tree<Heap>,
    key: &'o [u8],
    value: Option<(u64, &'o [u8])>,
) -> Operation<'o, Heap> {
    match tree {
        Tree::Words(tree) => {
            let key = u64::from_be_bytes(key.try_into().unwrap());
            Operation::Word { tree, key, act: act(value.map(|value| value.0)) }
        }
        Tree::Bytes(tree) => {
            let act = act(value.map(|value| value.1));
            Operation::Bytes { tree, key, act, is_same: same_bytes }
        }
    }
}

pub(super) fn tree_put(tree: &ByteTree<Heap>, key: &[u8]) {
    on_bytes!(tree, tree => tree.apply(key, |_| ByteChange::Put(b"v"[..].into())).unwrap());
}

/// Each key of a commit comes into an array of its own that is full, and whose records fall into as many groups as they can.
#[test]
fn every_key_of_a_commit_divides_a_full_array() {
    const ARRAYS: u8 = 100;
    let world = World::of_pages(12);
    let Tree::Bytes(tree) = &world.trees[6] else { panic!("a tree of words") };
    for group in [2, 5, 9] {
        let of = |array| (0..128).map(move |i| [array, i / group, i % group]);
        let full: Vec<[u8; 3]> = (0..ARRAYS).flat_map(of).collect();
        let more: Vec<[u8; 3]> = (0..ARRAYS).map(|array| [array, 200, 0]).collect();
        let all: Vec<[u8; 3]> = full.iter().chain(&more).copied().collect();
        for key in &full {
            tree_put(tree, key);
        }
        let puts: Vec<_> = more.iter().map(|key| put_of(tree, key)).collect();
        world.commit_beside_hunger(&puts).unwrap();
        for key in &all {
            tree.set(key, None).unwrap();
        }
    }
}

/// The distance of two keys of a map before its leaves are filled.
const SPACING: u64 = 1 << 20;

/// How many leaves, or blocks, a map has.
fn leaves(world: &World, map: usize) -> u64 {
    let (kind, entries) = KINDS[map];
    let structure = table::of_new(world.space.media(), kind, None, entries).unwrap();
    let guard = world.space.pin_mut().unwrap();
    let mut leaves = 0_u64;
    let state = match &world.trees[map] {
        Tree::Words(tree) => tree.open_map().map(),
        Tree::Bytes(tree) => tree.open_map().map(),
    };
    let mut visit = |_, bytes| leaves += u64::from(bytes == 1_024);
    structure.check(&guard, state, &mut visit).unwrap();
    leaves
}

/// A map with so many leaves that are full, except the first and the last one; how many keys each leaf has after ascending
/// puts, and how many more it has taken.
fn full_leaves(map: usize, count: u64) -> (World, u64, u64) {
    let ascending = |n: u64| {
        let world = World::of_pages(64);
        (0..n).for_each(|i| world.put(map, i * SPACING, 1));
        world
    };
    let world = ascending(6_000);
    let had = leaves(&world, map);
    let each = (6_000 + had / 2) / had;
    let few = 6_000 / each - 1;
    let mut more = 0;
    while leaves(&world, map) < had + had / 10 {
        more += 1;
        (1..few).for_each(|leaf| world.put(map, leaf * each * SPACING + more, 1));
    }
    more -= 1;
    let world = ascending(count * each);
    for leaf in 1..count - 1 {
        (1..=more).for_each(|i| world.put(map, leaf * each * SPACING + i, 1));
    }
    (world, each, more)
}

/// All leaves, or blocks, of a map are full, and a commit adds a key to each of them.
#[test]
fn every_key_of_a_large_commit_divides_a_full_leaf() {
    const LEAVES: u64 = 6_000;
    for map in 0..6 {
        let (world, each, more) = full_leaves(map, LEAVES);
        let had = leaves(&world, map);
        let steps: Vec<Step> =
            (1..LEAVES - 1).map(|leaf| (map, leaf * each * SPACING + more + 1, Some(2))).collect();
        let made = world.with(&steps, |operations| world.commit_beside_hunger(operations));
        assert!(made.is_ok(), "map {map}: {made:?}");
        let added = leaves(&world, map) - had;
        println!("map {map}: {each} and {more} a leaf, {had} leaves and {added} more");
        assert!(added > LEAVES / 2, "map {map}: {added} of {had} leaves were full");
    }
}

/// A commit removes keys, so that leaves are merged, and adds keys to full leaves. The merges come first.
#[test]
fn merges_take_nothing_that_is_set_aside() {
    const LEAVES: u64 = 300;
    for map in 0..6 {
        let (world, each, more) = full_leaves(map, LEAVES);
        // The first leaves get so few keys that a few removes make them sparse.
        let sparse = 1..LEAVES / 2;
        let left = if world.is_nbtree(map) { 5 } else { each / 3 };
        for leaf in sparse.clone() {
            (left..each).for_each(|i| world.remove(map, (leaf * each + i) * SPACING));
            (1..=more).for_each(|i| world.remove(map, leaf * each * SPACING + i));
        }
        let had = leaves(&world, map);
        let mut steps: Vec<Step> = sparse
            .flat_map(|leaf| (0..left).map(move |i| (map, (leaf * each + i) * SPACING, None)))
            .filter(|(_, key, _)| !(key / SPACING).is_multiple_of(each))
            .collect();
        let full = LEAVES / 2 + 1..LEAVES - 1;
        steps.extend(full.map(|leaf| (map, leaf * each * SPACING + more + 1, Some(2))));
        let made = world.with(&steps, |operations| world.commit_beside_hunger(operations));
        assert!(made.is_ok(), "map {map}: {made:?}");
        println!("map {map}: {had} leaves, then {}", leaves(&world, map));
    }
}

/// All leaves are divided by one commit, each into two new ones, whose separators fill the nodes above them.
#[test]
fn separators_take_nothing_that_is_set_aside() {
    const GROUPS: u8 = 250;
    let world = World::of_pages(24);
    let Tree::Bytes(tree) = &world.trees[4] else { panic!("a tree of words") };
    // A word tells none of these keys of a group apart.
    let key = |group: u8, i: u8| [&[group], &[b'x'; 12][..], &[i]].concat();
    for group in 0..GROUPS {
        (0..20).for_each(|i| tree_put(tree, &key(group, i)));
    }
    for i in 20..150 {
        let keys: Vec<Vec<u8>> = (0..GROUPS).map(|group| key(group, i)).collect();
        let puts: Vec<_> = keys.iter().map(|key| put_of(tree, key)).collect();
        let made = world.commit_beside_hunger(&puts);
        assert!(made.is_ok(), "{i}: {made:?}");
    }
}

/// Short keys come into full leaves whose keys, and so their fences, are long.
#[test]
fn short_keys_divide_leaves_with_long_fences() {
    const LEAVES: u8 = 200;
    for (map, length) in [(4, 2_000), (5, 2_000), (4, 60_000), (5, 60_000)] {
        let world = World::of_pages(160);
        let Tree::Bytes(tree) = &world.trees[map] else { panic!("a tree of words") };
        let leaves = if length > 10_000 { 2 } else { LEAVES };
        let key = |leaf: u8, i: u8| {
            let mut key = vec![b'x'; length];
            key[0] = leaf;
            key.push(i);
            key
        };
        for leaf in 0..leaves {
            for i in 0..100 {
                tree_put(tree, &key(leaf, i));
            }
        }
        // Of so many keys in a row one divides a leaf.
        for i in 0..40 {
            let keys: Vec<Vec<u8>> = (0..leaves).map(|leaf| vec![leaf, b'x', b'x', i]).collect();
            let puts: Vec<_> = keys.iter().map(|key| put_of(tree, key)).collect();
            let made = world.commit_beside_hunger(&puts);
            assert!(made.is_ok(), "map {map}, {length} bytes, {i}: {made:?}");
        }
    }
}

/// Short keys come into leaves whose fences are short too. The keys between which the leaves are divided are long.
#[test]
fn short_keys_divide_leaves_of_long_keys() {
    const GROUPS: u8 = 60;
    for map in [4, 5] {
        let world = World::of_pages(64);
        let Tree::Bytes(tree) = &world.trees[map] else { panic!("a tree of words") };
        // Group by group in turn, so that the shortest separators are those between two groups.
        for i in 0..40 {
            (0..GROUPS)
                .for_each(|group| tree_put(tree, &[&[group], &[b'x'; 3_000][..], &[i]].concat()));
        }
        for i in 0..40 {
            let keys: Vec<[u8; 3]> = (0..GROUPS).map(|group| [group, b'a', i]).collect();
            let puts: Vec<_> = keys.iter().map(|key| put_of(tree, key)).collect();
            let made = world.commit_beside_hunger(&puts);
            assert!(made.is_ok(), "map {map}, {i}: {made:?}");
        }
    }
}

#[test]
fn changes_need_no_space_but_what_was_set_aside() {
    let rounds = std::env::var("ROUNDS").map_or(150, |rounds| rounds.parse().unwrap());
    for map in 0..KINDS.len() {
        let world = World::of_pages(12);
        let mut random = Random(77 + map as u64);
        let mut most = 0;
        for round in 0..rounds {
            let count = 1 + random.below(if round % 5 == 0 { 600 } else { 40 });
            let removes = round % 4 == 3;
            let keys: Vec<Vec<u8>> = (0..count).map(|_| key_of(&mut random, map)).collect();
            let value = vec![7; random.below(200) as usize];
            let operations: Vec<_> = keys
                .iter()
                .map(|key| {
                    let is_put = !removes || random.below(4) == 0;
                    operation(&world.trees[map], key, is_put.then_some((round, &value[..])))
                })
                .collect();
            match world.commit_beside_hunger(&operations) {
                Ok(()) => most = most.max(count),
                // There was not enough for the commit, and nothing has changed.
                Err(Error::Full { .. }) if !world.space.is_poisoned() => {}
                Err(error) => panic!("map {map}, round {round}, {count} changes: {error:?}"),
            }
        }
        assert!(most > 100, "map {map}: {most}");
        println!("map {map}: {rounds} rounds, up to {most} changes");
    }
}

/// A process is killed while it applies a commit, when there is no more space than what was set aside for that. The next
/// open has to get along with the same space.
#[test]
fn an_open_has_space_for_what_a_killed_commit_has_set_aside() {
    let rounds = std::env::var("ROUNDS").map_or(8, |rounds| rounds.parse().unwrap());
    let mut recovered = 0;
    for map in 0..KINDS.len() {
        let mut random = Random(99 + map as u64);
        for round in 0..rounds {
            let world = World::of_pages(12);
            // Of the keys that the commit meets, and a larger part of them than of others.
            for _ in 0..4 {
                let keys: Vec<_> =
                    (0..random.below(600)).map(|_| key_of(&mut random, map)).collect();
                let value = vec![5; random.below(200) as usize];
                let puts: Vec<_> = keys
                    .iter()
                    .map(|key| operation(&world.trees[map], key, Some((round, &value[..]))))
                    .collect();
                commit(&world.space, &puts).unwrap();
            }
            let count = 1 + random.below(600) as usize;
            let keys: Vec<_> = (0..count).map(|_| key_of(&mut random, map)).collect();
            let operations: Vec<_> = keys
                .iter()
                .map(|key| {
                    let is_put = random.below(8) > 0;
                    operation(&world.trees[map], key, is_put.then_some((round, &b"value"[..])))
                })
                .collect();
            let applied = random.below(count as u64 + 1) as usize;
            let taken = std::cell::RefCell::new(Vec::new());
            let apply = |changes: &OfMaps<'_, '_>, _: &mut dyn FnMut()| {
                let (made, chunks) =
                    world.beside_hunger(|| changes.apply_first(applied, &mut || ()));
                taken.replace(chunks);
                made.and(Err(Error::Poisoned))
            };
            let mut staged = Staged { apply: &apply, ..Staged::of(&operations) };
            assert!(matches!(world.space.commit(&mut staged), Err(Error::Poisoned)));
            let world = World::open(world.image(12), AFTER_A_KILL);
            let guard = world.space.pin_mut().unwrap();
            taken.borrow().iter().for_each(|&(at, bytes)| guard.keep(at, bytes));
            drop(guard);
            let made = replay(&world.space, false);
            assert!(made.is_ok(), "map {map}, round {round}, {applied} of {count}: {made:?}");
            recovered += usize::from(world.space.leak_recovery().is_done());
        }
    }
    let all = rounds as usize * KINDS.len();
    assert!(recovered > all / 5, "{recovered} of {all} opens had to free what had been set aside");
}
