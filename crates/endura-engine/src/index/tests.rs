//! Several changes at once in maps of all kinds, and what a killed commit leaves to the next open.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use super::bytes::ByteTree;
use super::commit::{Act, Operation, Sorted, commit, same_bytes};
use super::form::Entries;
use super::replay::replay;
use super::table;
use super::tree::Tree;
use super::words::WordTree;
use crate::kind::Kind;
use crate::media::{Heap, Media, Ordering, Region};
use crate::space::{
    AnyKey, ChangedMap, Changes, Guard, Needs, OpenMap, PAGE, Planned, Session, Space,
};
use crate::tree::records::record::Record;
use crate::tree::{ByteChange, ByteIndex, Index};
use crate::types::Types;
use crate::{Error, Result};

const KINDS: [(Kind, Entries); 7] = [
    (Kind::FastFair, Entries::Words),
    (Kind::NbTree, Entries::Words),
    (Kind::FastFair, Entries::WordKeys),
    (Kind::NbTree, Entries::WordKeys),
    (Kind::FastFair, Entries::Bytes),
    (Kind::NbTree, Entries::Bytes),
    (Kind::Roart, Entries::Bytes),
];

macro_rules! on_words {
    ($any:expr, $tree:ident => $body:expr) => {
        match $any {
            WordTree::Wide($tree) => $body,
            WordTree::NarrowLeaves($tree) => $body,
            WordTree::NbTree($tree) => $body,
        }
    };
}

macro_rules! on_bytes {
    ($any:expr, $tree:ident => $body:expr) => {
        match $any {
            ByteTree::Roart($tree) => $body,
            ByteTree::FairBytes($tree) => $body,
            ByteTree::NbBytes($tree) => $body,
            ByteTree::Wide($tree) => $body,
            ByteTree::NarrowLeaves($tree) => $body,
            ByteTree::NbTree($tree) => $body,
        }
    };
}

mod damage;
mod drops;
mod epochs;
mod exact;
mod expectations;
mod room;
mod stands;
mod taken;
mod turns;

struct World {
    space: Arc<Space<Heap>>,
    trees: Vec<Tree<Heap>>,
}

/// One change: of which map, which key, to which value.
type Step = (usize, u64, Option<u64>);

impl World {
    fn new() -> Self {
        Self::of_pages(32)
    }

    fn of_pages(pages: u64) -> Self {
        let medium = Heap::new(pages * PAGE);
        Space::format(&medium).unwrap();
        Self::open(medium, Session { generation: 1, clean: true, read_only: false })
    }

    fn open(medium: Heap, session: Session) -> Self {
        let space = Arc::new(Space::mount(medium, session).unwrap());
        let trees = KINDS.iter().enumerate().map(|(i, &(kind, entries))| {
            let structure = table::of_new(space.media(), kind, None, entries).unwrap();
            let map = structure.find_or_create(&space, &i.to_string(), &Types::default()).unwrap();
            structure.open(&space, map).unwrap()
        });
        let trees = trees.collect();
        Self { space, trees }
    }

    fn get(&self, map: usize, key: u64) -> Option<u64> {
        match &self.trees[map] {
            Tree::Words(tree) => on_words!(tree, tree => tree.get(key).unwrap()),
            Tree::Bytes(tree) => on_bytes!(tree, tree => read(tree, key)),
        }
    }

    fn put(&self, map: usize, key: u64, value: u64) {
        match &self.trees[map] {
            Tree::Words(tree) => tree.set(key, Some(value)).unwrap(),
            Tree::Bytes(tree) => on_bytes!(tree, tree => write(tree, key, value)),
        }
    }

    /// What readers find in the intent of a commit that is being applied: a value, or that the key is removed.
    fn answer(&self, map: usize, key: u64) -> Option<Option<u64>> {
        let bytes = key.to_be_bytes();
        match &self.trees[map] {
            Tree::Words(tree) => {
                tree.open_map().answer(AnyKey::Number(key)).unwrap().map(|answer| answer.value)
            }
            Tree::Bytes(tree) => {
                let answer = tree.open_map().answer(AnyKey::Bytes(&bytes)).unwrap()?;
                let record = |at| Record::enter(answer.guard.media(), at).unwrap().value();
                Some(answer.value.map(|at| word(record(at))))
            }
        }
    }

    /// Calls `run` with the changes of these steps.
    fn with<R>(&self, steps: &[Step], run: impl FnOnce(&[Operation<'_, Heap>]) -> R) -> R {
        let bytes: Vec<_> = steps
            .iter()
            .map(|&(_, key, value)| (key.to_be_bytes(), value.map(u64::to_le_bytes)))
            .collect();
        let operations: Vec<_> = steps
            .iter()
            .zip(&bytes)
            .map(|(&(map, key, value), bytes)| match &self.trees[map] {
                Tree::Words(tree) => Operation::Word { tree, key, act: act(value) },
                Tree::Bytes(tree) => Operation::Bytes {
                    tree,
                    key: &bytes.0,
                    act: act(bytes.1.as_ref().map(|value| &value[..])),
                    is_same: same_bytes,
                },
            })
            .collect();
        run(&operations)
    }

    fn commit(&self, steps: &[Step]) -> Result<()> {
        self.with(steps, |operations| commit(&self.space, operations))
    }

    /// Commits the steps, of which only the first `applied` are applied before an error.
    fn commit_in_part(&self, steps: &[Step], applied: usize) {
        self.with(steps, |operations| {
            let apply = |changes: &OfMaps<'_, '_>, _: &mut dyn FnMut()| {
                changes.apply_first(applied, &mut || ())?;
                Err(Error::Poisoned)
            };
            let mut staged = Staged { apply: &apply, ..Staged::of(operations) };
            assert!(matches!(self.space.commit(&mut staged), Err(Error::Poisoned)));
        });
        assert!(self.space.is_poisoned());
    }

    /// The words that the next open finds.
    fn image(&self, pages: u64) -> Heap {
        let (from, words) = (self.space.media(), self.space.media().len() as usize / 8);
        let copy = Heap::new(pages * PAGE);
        copy.grow(from.len()).unwrap();
        let [from, to] = [from, &copy].map(|medium| Region::new(medium, 0, words).unwrap());
        (0..words).for_each(|i| to.store(i, from.load(i, Ordering::Relaxed), Ordering::Relaxed));
        copy
    }
}

fn word(value: crate::tree::Bytes<'_>) -> u64 {
    u64::from_le_bytes(value.to_vec().try_into().unwrap())
}

fn read<I: ByteIndex>(tree: &I, key: u64) -> Option<u64> {
    tree.get_with(&key.to_be_bytes(), word).unwrap()
}

fn write<I: ByteIndex>(tree: &I, key: u64, value: u64) {
    let value = value.to_le_bytes();
    tree.apply(&key.to_be_bytes(), |_| ByteChange::Put(value[..].into())).unwrap();
}

fn act<V>(value: Option<V>) -> Act<V> {
    value.map_or(Act::Delete, Act::Put)
}

type OfMaps<'o, 'c> = Sorted<'o, 'c, Heap>;

/// Applies changes. The second argument is called after each of them.
type Apply<'s, C> = dyn Fn(&C, &mut dyn FnMut()) -> Result<()> + 's;

/// A commit that something happens beside.
struct Staged<'s, C> {
    changes: C,
    /// Runs before it writes its records and its intent (B1).
    writes: &'s dyn Fn(),
    /// Runs before it looks how much space it needs.
    looks: &'s dyn Fn(),
    apply: &'s Apply<'s, C>,
}

impl<'s, 'o, 'c> Staged<'s, OfMaps<'o, 'c>> {
    fn of(operations: &'o [Operation<'c, Heap>]) -> Self {
        let changes = Sorted::of(operations);
        Self { changes, writes: &|| (), looks: &|| (), apply: &|changes, each| changes.apply(each) }
    }
}

impl Changes<Heap> for Staged<'_, OfMaps<'_, '_>> {
    fn maps(&self) -> &[ChangedMap<'_, Heap>] {
        self.changes.maps()
    }

    fn are_few(&self) -> bool {
        self.changes.are_few()
    }

    fn prepare(&mut self, guard: &Guard<'_, Heap>) -> Result<Vec<Planned<'_>>> {
        (self.writes)();
        self.changes.prepare(guard)
    }

    fn take_back(&mut self, guard: &Guard<'_, Heap>) {
        self.changes.take_back(guard);
    }

    fn look(&self) -> Result<Needs> {
        (self.looks)();
        self.changes.look()
    }

    fn apply(&self, each: &mut dyn FnMut()) -> Result<()> {
        (self.apply)(&self.changes, each)
    }
}

/// Before each commit, every map has these keys.
fn before() -> Vec<Step> {
    (0..KINDS.len()).flat_map(|map| (0..40).map(move |key| (map, key, Some(1_000 + key)))).collect()
}

/// Replaces a key, removes one, adds one, and removes one that is not there, in every map.
fn changes() -> Vec<Step> {
    let of_map = |map| {
        [(map, 3, Some(7)), (map, 4, None), (map, 50, Some(8)), (map, 51, None), (map, 0, Some(9))]
    };
    (0..KINDS.len()).flat_map(of_map).collect()
}

fn expect(world: &World, is_changed: bool) {
    for map in 0..KINDS.len() {
        let found = [0, 3, 4, 5, 50, 51].map(|key| world.get(map, key));
        let expected = match is_changed {
            true => [Some(9), Some(7), None, Some(1_005), Some(8), None],
            false => [Some(1_000), Some(1_003), Some(1_004), Some(1_005), None, None],
        };
        assert_eq!(found, expected, "map {map}");
    }
}

const AFTER_A_KILL: Session = Session { generation: 2, clean: false, read_only: false };

#[test]
fn changes_of_maps_of_all_kinds_are_made_at_once() {
    let world = World::new();
    world.commit(&before()).unwrap();
    expect(&world, false);
    world.commit(&changes()).unwrap();
    expect(&world, true);
    world.commit(&[]).unwrap();
    assert!(world.space.has_batches());
}

#[test]
fn the_last_change_of_a_key_counts() {
    let world = World::new();
    for map in 0..KINDS.len() {
        world
            .commit(&[(map, 1, Some(1)), (map, 2, Some(2)), (map, 1, None), (map, 2, Some(3))])
            .unwrap();
        assert_eq!([1, 2].map(|key| world.get(map, key)), [None, Some(3)]);
    }
}

#[test]
fn an_open_applies_what_a_killed_commit_has_left() {
    for applied in 0..=changes().len() {
        let world = World::new();
        world.commit(&before()).unwrap();
        world.commit_in_part(&changes(), applied);
        let image = world.image(32);
        let world = World::open(image, AFTER_A_KILL);
        assert_eq!(replay(&world.space, false).unwrap(), changes().len());
        expect(&world, true);
        assert_eq!(replay(&world.space, false).unwrap(), 0);
    }
}

#[test]
fn a_read_only_session_refuses_unfinished_changes() {
    let world = World::new();
    world.commit_in_part(&changes(), 3);
    let session = Session { read_only: true, ..AFTER_A_KILL };
    let space = Arc::new(Space::mount(world.image(32), session).unwrap());
    assert!(matches!(replay(&space, false), Err(Error::NeedsRecovery)));
}

#[test]
fn torn_changes_are_refused_or_forgotten_as_a_whole() {
    let world = World::new();
    world.commit(&before()).unwrap();
    world.commit_in_part(&changes(), 0);
    let image = world.image(32);
    let value = Region::new(&image, damage::intent_of(&image) + 64 + 16, 1).unwrap();
    value.store(0, value.load(0, Ordering::Relaxed) ^ 1, Ordering::Relaxed);
    assert!(matches!(Space::inspect_intents(&image), Err(Error::Corrupt { .. })));
    let world = World::open(image, AFTER_A_KILL);
    assert!(matches!(replay(&world.space, false), Err(Error::Corrupt { .. })));
    expect(&world, false);
    assert_eq!(replay(&world.space, true).unwrap(), 0);
    expect(&world, false);
    assert_eq!(replay(&world.space, false).unwrap(), 0);
}

#[test]
fn a_commit_that_fails_before_its_word_changes_nothing() {
    let world = World::new();
    world.commit(&before()).unwrap();
    let Tree::Bytes(tree) = &world.trees[2] else { panic!("a tree of words") };
    world.with(&changes(), |operations| {
        let failing = [
            // The map has keys of eight bytes, of which one has the same number.
            Operation::Bytes { tree, key: b"\0", act: Act::Put(b"v"), is_same: same_bytes },
            Operation::Bytes { tree, key: b"123456789", act: Act::Delete, is_same: same_bytes },
        ];
        for failing in failing {
            let mut all = operations.to_vec();
            all.push(failing);
            let failed = commit(&world.space, &all);
            assert!(
                matches!(failed, Err(Error::Encode { .. } | Error::KeyTooLong { .. })),
                "{failed:?}"
            );
            expect(&world, false);
        }
    });
    assert!(!world.space.is_poisoned());
    // All marks are off.
    world.commit(&changes()).unwrap();
    expect(&world, true);
}

/// A commit that stands after each change of another map holds up writers of its own keys, and nobody else. Readers find
/// all changes, or none, at every moment.
#[test]
fn a_commit_that_stands_holds_up_its_own_keys_only() {
    let world = World::new();
    world.commit(&before()).unwrap();
    let (stands, go_on) = (Barrier::new(2), Barrier::new(2));
    let apply = |changes: &OfMaps<'_, '_>, _: &mut dyn FnMut()| {
        stands.wait();
        go_on.wait();
        changes.apply_first(changes_of_two_maps().len(), &mut || ())?;
        stands.wait();
        go_on.wait();
        changes.apply(&mut || ())
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            world.with(&changes(), |operations| {
                let mut staged = Staged { apply: &apply, ..Staged::of(operations) };
                world.space.commit(&mut staged).unwrap();
            });
        });
        for _ in 0..2 {
            stands.wait();
            for map in 0..KINDS.len() {
                let found = [0, 3, 4, 5, 50, 51].map(|key| world.answer(map, key));
                let expected =
                    [Some(Some(9)), Some(Some(7)), Some(None), None, Some(Some(8)), Some(None)];
                assert_eq!(found, expected, "map {map}");
                world.put(map, 6, 66);
                assert_eq!(world.get(map, 6), Some(66));
            }
            go_on.wait();
        }
    });
    expect(&world, true);
}

fn changes_of_two_maps() -> Vec<Step> {
    changes().into_iter().filter(|&(map, ..)| map < 2).collect()
}

#[test]
fn a_writer_of_a_key_of_a_commit_waits_for_it() {
    let world = World::new();
    world.commit(&before()).unwrap();
    for map in 0..KINDS.len() {
        let (stands, go_on) = (Barrier::new(2), Barrier::new(2));
        let apply = |changes: &OfMaps<'_, '_>, _: &mut dyn FnMut()| {
            stands.wait();
            go_on.wait();
            changes.apply(&mut || ())
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                world.with(&[(map, 3, Some(7))], |operations| {
                    let mut staged = Staged { apply: &apply, ..Staged::of(operations) };
                    world.space.commit(&mut staged).unwrap();
                });
            });
            stands.wait();
            let writer = scope.spawn(|| world.put(map, 3, 8));
            thread::sleep(Duration::from_millis(20));
            assert!(!writer.is_finished());
            assert_eq!(world.answer(map, 3), Some(Some(7)));
            go_on.wait();
            writer.join().unwrap();
        });
        assert_eq!((world.get(map, 3), world.answer(map, 3)), (Some(8), None));
    }
}

/// A thread stays inside a write that began before the first commit.
#[test]
fn a_commit_gives_up_if_a_writer_stays() {
    let world = World::new();
    let (inside, go_on) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            let guard = world.space.pin_mut().unwrap();
            inside.wait();
            go_on.wait();
            drop(guard);
        });
        inside.wait();
        assert!(matches!(world.commit(&before()), Err(Error::WritersStay { .. })));
        assert!(!world.space.has_batches());
        go_on.wait();
    });
    world.commit(&before()).unwrap();
    expect(&world, false);
}
