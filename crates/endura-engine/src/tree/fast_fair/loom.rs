//! Tests of all executions of the lock word, and of a split beside a reader. The correctness of both rests on memory
//! orders, which the schedules of the explorer cannot test.

use std::sync::Arc;

use super::*;
use crate::media::Media;
use crate::media::loom::Modelled;
use crate::runtime::thread::be;
use crate::space::Space;
use crate::space::{PAGE, Seat, Session};
use crate::sync::loom::{Fault, check, check_finds, spawn};
use crate::sync::{AtomicU64, Ordering};
use crate::tree::fast_fair::nodes::header::{Fences, Init};
use crate::tree::fast_fair::nodes::lock_word::{LockWord, Primitive};
use crate::tree::fast_fair::nodes::locked::Locked;
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::{Change, Index};

type Leaf<'m> = Node<'m, Modelled, 14>;
type Tiny = Tree<Modelled, 14, 14, LineBinary>;

fn space() -> Arc<Space<Modelled>> {
    let medium = Modelled::new(2 * PAGE);
    Space::format(&medium).unwrap();
    let session = Session { generation: 1, clean: true, read_only: false };
    Arc::new(Space::mount(medium, session).unwrap())
}

/// A space with one unlocked leaf, which has two entries of value 0; and the offset of the leaf.
fn leaf() -> (Arc<Space<Modelled>>, u64) {
    let space = space();
    let at = another_leaf(&space);
    (space, at)
}

/// Adds an unlocked leaf with two entries of value 0; returns its offset.
fn another_leaf(space: &Space<Modelled>) -> u64 {
    let guard = space.pin_mut().unwrap();
    let at = guard.alloc(Leaf::BYTES).unwrap();
    let leaf = Leaf::fresh(guard.media(), at).unwrap();
    let fences = Fences { low: 0, high: 100 };
    let lock = LockWord::created(&guard, at);
    leaf.initialise(Init { lock, fences, sibling: 0, level: 0 }, 2);
    (0..2).for_each(|slot| leaf.set_value(slot, 0));
    at
}

/// In one primitive, increments both values.
fn add_one(space: &Space<Modelled>, at: u64) {
    let guard = space.pin_mut().unwrap();
    let node = Leaf::enter(guard.media(), at, 0).unwrap();
    let Ok(mut locked) = Locked::acquire(&guard, node) else { panic!("obsolete") };
    let value = node.peek_record(1);
    locked.begin(Primitive::Update);
    (0..2).for_each(|slot| node.set_value(slot, value + 1));
}

/// The values that an undisturbed reader saw belong to one state.
fn a_look_that_is_confirmed_saw_one_state() {
    let (space, at) = leaf();
    let writer = {
        let space = Arc::clone(&space);
        spawn(move || {
            be(1);
            add_one(&space, at);
        })
    };
    let guard = space.pin().unwrap();
    let node = Leaf::enter(guard.media(), at, 0).unwrap();
    let version = node.version();
    let values = (node.peek_record(3), node.peek_record(1));
    if version.is_plain() && node.confirms(version) {
        assert_eq!(values.0, values.1, "two halves of two states");
    }
    drop(guard);
    writer.join().unwrap();
}

#[test]
fn a_version_that_is_confirmed() {
    check(None, a_look_that_is_confirmed_saw_one_state);
    check_finds(Fault::NoFences, None, a_look_that_is_confirmed_saw_one_state);
    check_finds(Fault::RelaxedStores, None, a_look_that_is_confirmed_saw_one_state);
}

/// No change of two writers is lost.
fn one_holds_the_lock() {
    let (space, at) = leaf();
    let other = {
        let space = Arc::clone(&space);
        spawn(move || {
            be(1);
            add_one(&space, at);
        })
    };
    add_one(&space, at);
    other.join().unwrap();
    let node = Leaf::enter(space.media(), at, 0).unwrap();
    assert_eq!((node.value(0), node.value(1)), (2, 2), "a lost update");
}

#[test]
fn a_lock_that_two_want() {
    check(Some(3), one_holds_the_lock);
    check_finds(Fault::RelaxedStores, Some(3), one_holds_the_lock);
}

/// Changes one leaf and reads another. Both are in one pin: the barrier of a second pin would order them. Returns
/// whether the change of the other leaf was missed.
fn change_and_look(space: &Space<Modelled>, own: u64, other: u64) -> bool {
    let guard = space.pin_mut().unwrap();
    let node = Leaf::enter(guard.media(), own, 0).unwrap();
    let Ok(mut locked) = Locked::acquire(&guard, node) else { panic!("obsolete") };
    locked.begin(Primitive::Update);
    node.set_value(0, 1);
    guard.media().drain();
    drop(locked);
    let node = Leaf::enter(guard.media(), other, 0).unwrap();
    let version = node.version();
    let value = node.value(0);
    version.is_plain() && node.confirms(version) && value == 0
}

/// If two threads each change a leaf and then read the other's, at least one sees the other's change.
fn one_of_two_writers_sees_the_other() {
    let (space, at) = leaf();
    let second = another_leaf(&space);
    let other = {
        let space = Arc::clone(&space);
        spawn(move || {
            be(1);
            change_and_look(&space, second, at)
        })
    };
    let missed = change_and_look(&space, at, second);
    assert!(!(other.join().unwrap() && missed), "both missed what the other had written");
}

#[test]
fn a_handshake_of_two_writers() {
    check(Some(3), one_of_two_writers_sees_the_other);
    check_finds(Fault::NoFences, Some(3), one_of_two_writers_sees_the_other);
}

/// A reader beside a split finds every key, in the old node or in the new one. If it sees the link, it sees the words
/// of the new node.
fn a_reader_finds_its_key_beside_a_split() {
    let space = space();
    let tree = Tiny::open(&space, "t").unwrap();
    [10, 20, 30].into_iter().for_each(|key| _ = tree.modify(key, |_| Change::Put(key)).unwrap());
    // The chunks of the new node and of the new root.
    space.media().fill(12 * 4096, 32 * Leaf::BYTES);
    let reader = {
        let tree = tree.clone();
        spawn(move || {
            be(1);
            assert_eq!(tree.get(30).unwrap(), Some(30));
        })
    };
    tree.modify(40, |_| Change::Put(40)).unwrap();
    reader.join().unwrap();
}

#[test]
fn a_split_publishes_a_node_that_is_whole() {
    check(Some(2), a_reader_finds_its_key_beside_a_split);
    check_finds(Fault::RelaxedStores, Some(2), a_reader_finds_its_key_beside_a_split);
}

/// A scan that reads a remembered leaf without a pin gets only what that leaf held. The chunk may be another leaf by
/// now, with the same lock word. A scan that knows that its leaf is gone gets nothing from the chunk.
fn a_seat_is_not_read_in_another_leaf() {
    let (space, at) = leaf();
    let seat = {
        let guard = space.pin().unwrap();
        let node = Leaf::enter(guard.media(), at, 0).unwrap();
        Seat::take(&guard, node.version().unlocked())
    };
    let gone = Arc::new(AtomicU64::new(0));
    let reader = {
        let (space, gone) = (Arc::clone(&space), Arc::clone(&gone));
        spawn(move || {
            be(1);
            let knows = gone.load(Ordering::Acquire) != 0;
            let seen = seat.look(&space, |&version| {
                let node = Leaf::fresh(space.media(), at).ok()?;
                let value = node.peek_record(1);
                node.is_still(version).then_some(value)
            });
            let is_right = |value| value == 0 && !knows;
            assert!(seen.is_none_or(is_right), "read in another leaf");
        })
    };
    {
        let guard = space.pin_mut().unwrap();
        let node = Leaf::enter(guard.media(), at, 0).unwrap();
        let Ok(locked) = Locked::acquire(&guard, node) else { panic!("obsolete") };
        locked.retire_into(0);
        gone.store(1, Ordering::Release);
        guard.retire(at, Leaf::BYTES);
    }
    space.reclaim_outside().unwrap();
    let guard = space.pin_mut().unwrap();
    assert_eq!(guard.alloc(Leaf::BYTES).unwrap(), at);
    let node = Leaf::fresh(guard.media(), at).unwrap();
    let init = Init {
        lock: LockWord::created(&guard, at),
        fences: Fences { low: 0, high: 100 },
        sibling: 0,
        level: 0,
    };
    node.initialise(init, 2);
    node.set_value(0, 7);
    drop(guard);
    reader.join().unwrap();
}

#[test]
fn a_leaf_that_is_another_one_by_now() {
    check(Some(2), a_seat_is_not_read_in_another_leaf);
    check_finds(Fault::NoFences, Some(2), a_seat_is_not_read_in_another_leaf);
    check_finds(Fault::RelaxedLoads, Some(2), a_seat_is_not_read_in_another_leaf);
}
