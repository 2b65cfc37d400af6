//! Two operations at once, one of them stopped before its loads and stores: their answers and what
//! they leave behind are those of one order or the other.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use endura_engine::tree::Bytes;
use endura_engine::tree::roart::Full;
use endura_variants::media::Stop;
use endura_variants::roart::{Tiny, WithoutArrays};

use crate::byte_races::Op::{Get, Insert, InsertNew, Remove, Scan, Update};
use crate::byte_races::{Start, race, race_from};
use crate::stage::stopped;
use crate::world::World;

/// R15: a scan shows a map as it is before or after a write beside it, and the order that it leaves or
/// finds is that of the keys.
#[test]
fn r15_a_scan_that_sorts_against_a_writer() {
    let five = ["k1", "k2", "k3", "k4", "k5"];
    for keys in [&["k1", "k2"][..], &["k1", "k2", "k3"], &five] {
        for write in [Insert("k0"), Insert("k25"), Insert("k1"), Remove("k2"), Update("k2")] {
            for start in [Start::Written, Start::Scanned, Start::Killed] {
                race_from::<Tiny>(start, keys, Scan, &[write]);
                race_from::<Full>(start, keys, Scan, &[write]);
                race_from::<Full>(start, keys, write, &[Scan, Scan]);
            }
        }
    }
    race_from::<Full>(Start::Written, &five, Scan, &[Scan]);
}

/// R6: an array moves up out of a node, to which another thread has come, and takes a key without the
/// node's prefix.
#[test]
fn r6_an_array_that_moved_up_tells_nothing_of_the_node() {
    let hidden = ["1", "2a", "2b", "2c", "2d"].map(|end| format!("0123456789ab{end}"));
    let hidden = hidden.each_ref().map(String::as_str);
    let moves = [Remove("0123456789ab2a"), Remove("0123456789ab1"), Insert("01234zz")];
    for one in [Insert("0123456789ab3"), Insert("0123456789zb3"), Get("0123456789ab2b")] {
        race_from::<Tiny>(Start::Written, &hidden, one, &moves);
    }
}

/// R15: an array moves up out of a node and takes a key of another place, while a scan that begins there
/// stands anywhere.
#[test]
fn r15_an_array_moves_up_as_a_scan_looks_at_it() {
    for (other, up) in [("azz0", true), ("aaaz", false)] {
        // A walk looks through the root first.
        let stood = (1..600).take_while(|&at| scan_stopped_at(at, other, up)).count();
        assert!((200..599).contains(&stood), "{stood}");
    }
}

/// One run of it: whether the scan came so far.
fn scan_stopped_at(load: u64, other: &str, up: bool) -> bool {
    let world = World::<Tiny>::of_pages(16).with(["ab1p", "ab1q", "ab2x", "ab2y", "ab3z"]);
    let map = world.map();
    for key in ["ab2x", "ab2y"] {
        map.remove(key).unwrap();
    }
    let mut seen: Vec<Vec<u8>> = Vec::new();
    let note = |key: Bytes<'_>, _: Bytes<'_>| {
        seen.push(key.to_vec());
        ControlFlow::Continue(())
    };
    let scan = || match up {
        true => map.range_with::<&[u8]>(.., note).unwrap(),
        false => map.range_rev_with::<&[u8]>(.., note).unwrap(),
    };
    let moves = || {
        map.remove("ab3z").unwrap();
        map.insert(other, other).unwrap();
    };
    let stood = thread::scope(|scope| {
        stopped(
            &world,
            Stop::at_load(load),
            |_| scan(),
            || {
                // It may have to wait for a lock of the scan's.
                let mover = scope.spawn(moves);
                let deadline = Instant::now() + Duration::from_millis(10);
                while !mover.is_finished() && Instant::now() < deadline {
                    thread::yield_now();
                }
            },
        )
    });
    if !up {
        seen.reverse();
    }
    assert!(seen.is_sorted(), "{seen:?}");
    for stays in ["ab1p", "ab1q"] {
        assert!(seen.iter().any(|key| key == stays.as_bytes()), "{load}: no {stays} in {seen:?}");
    }
    stood
}

/// R6: the second thread enters the key between the first one's look and its lock.
#[test]
fn r6_one_key_is_entered_once() {
    for keys in [&[][..], &["k2"], &["k2", "k3"], &["k2", "k3", "k4", "k5"], &["k", "k2"]] {
        race::<Tiny>(false, keys, InsertNew("k1"), &[InsertNew("k1")]);
        race::<Tiny>(false, keys, Insert("k1"), &[Insert("k1")]);
        race::<Tiny>(false, keys, InsertNew("k1"), &[InsertNew("k6")]);
    }
    race::<WithoutArrays>(false, &["k2"], InsertNew("k1"), &[InsertNew("k1")]);
}

/// R7: a record is replaced while another thread takes it out.
#[test]
fn r7_update_against_remove_of_one_key() {
    for keys in [&["k1"][..], &["k1", "k2"], &["k", "k1", "k2", "k3", "k4", "k5"]] {
        race::<Tiny>(false, keys, Update("k1"), &[Remove("k1")]);
        race::<Tiny>(false, keys, Remove("k1"), &[Update("k1")]);
        race::<Tiny>(false, keys, Remove("k1"), &[Insert("k1")]);
        race::<Tiny>(false, keys, Remove("k1"), &[Remove("k1")]);
    }
}

const FULL_ARRAY: [&str; 4] = ["a1", "a2", "a3x", "a3y"];

/// R8: other writers at an array that splits.
#[test]
fn r8_an_array_splits_under_other_writers() {
    for other in [Update("a1"), Remove("a1"), Insert("a3z"), Insert("a4"), Insert("a"), Get("a5")] {
        race::<Tiny>(false, &FULL_ARRAY, Insert("a5"), &[other]);
        race::<Tiny>(false, &FULL_ARRAY, other, &[Insert("a5")]);
    }
}

/// R8: a node that grows, and one that gives way to its only child.
#[test]
fn r8_nodes_grow_and_collapse_under_other_writers() {
    let full = ["n1", "n2", "n3", "n4", "n"];
    let two = ["p", "pq1", "pq2", "pq3", "pq4", "pq5"];
    for other in [Update("n1"), Remove("n2"), Insert("n1x"), Insert("n6"), Remove("n"), Insert("m")]
    {
        race::<Tiny>(false, &full, Insert("n5"), &[other]);
        race::<Tiny>(false, &full, other, &[Insert("n5")]);
    }
    for other in [Insert("pr"), Insert("pq6"), Remove("pq1"), Insert("p"), Get("pq5"), Insert("px")]
    {
        race::<Tiny>(false, &two, Remove("p"), &[other]);
        race::<Tiny>(false, &two, other, &[Remove("p")]);
    }
}

/// R8: a prefix is split while what is below the node comes and goes.
#[test]
fn r8_a_prefix_splits_over_a_subtree_that_is_emptied() {
    let keys = ["0123456789ab1", "0123456789ab2"];
    let both = [Remove("0123456789ab1"), Remove("0123456789ab2")];
    race::<WithoutArrays>(false, &keys, Insert("012345x"), &both[..1]);
    race::<WithoutArrays>(false, &keys, both[0], &[Insert("012345x")]);
    race::<WithoutArrays>(false, &keys, Insert("012345x"), &[Insert("0123x")]);
    race::<WithoutArrays>(false, &keys, Insert("0123456789abx"), &[Insert("0123456789x")]);
    // Several at once: any may be overtaken, but they are about other keys than the first.
    race::<WithoutArrays>(false, &keys, Insert("012345x"), &both);
}

/// R8: the last record of an array goes while another comes.
#[test]
fn r8_an_array_is_emptied_while_a_key_comes() {
    for keys in [&["a1"][..], &["a1", "b1", "b2"], &["ca1", "cb1", "cb2", "cb3", "cb4", "cb5"]] {
        let gone = keys[0];
        for other in [Insert("a2"), Insert("ca2"), Insert("c"), Remove(keys[keys.len() - 1])] {
            race::<Tiny>(false, keys, Remove(gone), &[other]);
            race::<Tiny>(false, keys, other, &[Remove(gone)]);
        }
    }
}

/// R10: two threads are the first to use a node or array after a restart.
#[test]
fn r10_the_first_two_after_a_restart() {
    let many: Vec<String> = (0..40).map(|n| format!("n{n:02}").replace('n', "m")).collect();
    let wide: Vec<String> = (0..40_u8).map(|n| format!("w{}", char::from(b'0' + n))).collect();
    for keys in [vec!["k1", "k2"], many[..5].iter().map(String::as_str).collect(), {
        wide.iter().map(String::as_str).collect()
    }] {
        let some: &'static str = Box::leak(keys[0].to_owned().into_boxed_str());
        let new: &'static str = Box::leak(format!("{}~", &some[..1]).into_boxed_str());
        race::<Tiny>(true, &keys, Insert(new), &[Remove(some)]);
        race::<Tiny>(true, &keys, Remove(some), &[Get(some)]);
        race::<Tiny>(true, &keys, Insert(new), &[Get(new)]);
        race::<Tiny>(true, &keys, Update(some), &[Insert(new)]);
    }
}
