//! Two threads, one of them stopped at each of its stores in turn while the other works.

use crate::support::races::{
    Race, put, remove, scan_stopped_at_each_load, scans_while_a_writer_stands,
    search_through_changing_inner_nodes, seat_counts_from_its_pin, tens,
};
use crate::support::stage::{at_every_load, ends, stopped};
use crate::support::world::{Cap3, Cap4, Cap8, MapOf, World};

/// F8. One thread splits and is preempted before the root grows; another splits the new node.
/// In the published tree its separator is dropped in silence, and the tree degenerates to a list.
#[test]
fn separators_posted_while_the_root_is_about_to_grow_are_not_lost() {
    for n in 8..14 {
        let (name, keys) = ("root growth against splits", tens(1..n));
        let first = put([10 * n + 1, 10 * n + 2, 10 * n + 3]);
        let second = put((1..6).map(|i| 10 * n + 10 + i));
        Race { name, keys, first, second }.run::<Cap3>();
    }
}

/// F9. (1, 5, 9, 15) splits while another thread posts 10. The published writer compares with the
/// first key of the sibling, 15, and lands in the left node, where nobody will look for it.
#[test]
fn a_separator_that_arrives_during_an_inner_split_lands_in_the_right_half() {
    let name = "inner split against separators";
    for at in [1, 3, 6, 9, 11] {
        let keys = tens(1..17);
        let first = put((1..4).map(|i| 10 * at + i));
        let second = put((1..4).map(|i| 10 * at + 10 + i).chain((1..4).map(|i| 10 * at + 20 + i)));
        Race { name, keys, first, second }.run::<Cap4>();
    }
}

/// F15. A merge against a writer that arrives at the dying node by its stale parent, against a
/// split of the node that absorbs it, and against a merge of their neighbour.
#[test]
fn a_merge_loses_nothing_of_what_others_do_around_it() {
    let keys = tens(1..25);
    let first = || remove([110, 120, 130, 100]);
    let others = [
        ("merge against inserts into the dying node", put([111, 121, 131, 101])),
        ("merge against a split on its left", put(81..88)),
        ("merge against a split on its right", put(141..148)),
        ("merge against a merge on its left", remove([80, 90, 70, 60])),
        ("merge against a merge on its right", remove([140, 150, 160, 170])),
    ];
    for (name, second) in others {
        Race { name, keys: keys.clone(), first: first(), second }.run::<Cap4>();
    }
}

/// F15. A poster stalls between "the new node exists" and "its separator is posted", while
/// the node is emptied, merged and freed: the published separator then leads to freed memory.
#[test]
fn a_separator_is_not_posted_for_a_node_that_is_gone() {
    let (name, keys) = ("posting against a merge", tens(1..13));
    let first = put([61, 62, 63]);
    let second = remove([60, 70, 80, 50, 90]);
    Race { name, keys, first, second }.run::<Cap4>();
}

/// F17. The root shrinks in one thread and grows again in another.
#[test]
fn the_root_shrinks_and_grows_at_once() {
    let (name, keys) = ("root shrinkage against inserts", tens(1..10));
    let (first, second) = (remove(tens(1..9)), put((1..12).map(|i| 90 + i)));
    Race { name, keys, first, second }.run::<Cap3>();
}

/// F10. The published reader trusts an 8-bit flag that counts changes of direction: 256 of them
/// while it is preempted are invisible to it, and it misses a key that was there all the time.
#[test]
fn a_reader_that_slept_through_many_changes_misses_no_key() {
    ends("sleeping reader", || {
        for (flips, sought) in [(1, 20), (256, 20), (256, 30), (512, 10), (512, 30), (256, 25)] {
            at_every_load(|stop| {
                let world = World::<Cap8>::adr();
                let map = world.map();
                for key in [10, 20, 30] {
                    assert_eq!(map.insert(key, key).unwrap(), None);
                }
                let expected = (sought % 10 == 0).then_some(sought);
                let read = |map: &MapOf<Cap8>| assert_eq!(map.get(sought).unwrap(), expected);
                stopped(&world, stop, read, || {
                    for flip in 0..flips {
                        let key = [5, 15, 35][flip % 3];
                        assert_eq!(map.insert(key, key).unwrap(), None);
                        assert_eq!(map.remove(key).unwrap(), Some(key));
                    }
                })
            });
        }
    });
}

#[test]
fn scans_see_every_permanent_key_once_wherever_a_writer_stands() {
    scans_while_a_writer_stands::<Cap4>();
}

#[test]
fn a_search_through_changing_inner_nodes_finds_its_leaf() {
    search_through_changing_inner_nodes::<Cap3>();
}

#[test]
fn a_scan_stopped_at_each_load_stays_sorted_and_complete() {
    scan_stopped_at_each_load::<Cap4>();
}

#[test]
fn a_seat_counts_from_its_pin() {
    seat_counts_from_its_pin::<Cap4>();
}
