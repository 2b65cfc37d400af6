//! No memory at the n-th request, for all n: the operation fails, and nothing else happens.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use endura_engine::media::Region;
use endura_engine::{Error, Result};
use endura_variants::media::Stop;

use crate::support::full::{refused_everywhere, without_room};
use crate::support::stage::{ends, join, spawn, stands, stopped};
use crate::support::world::{MapOf, Slots3, Slots7, Slots63, World};

#[test]
fn a_refused_chunk_leaves_the_map_unchanged_and_nothing_leaks() {
    refused_everywhere::<Slots3>();
    refused_everywhere::<Slots7>();
}

/// Removes free nothing before a change, and a change needs room first: the reserve makes it.
#[test]
fn a_pool_without_room_still_reads_updates_and_removes() {
    without_room::<Slots7>(6);
    without_room::<Slots63>(6);
}

/// Where the first map's entry has the heads of its chains, and its reserve behind them.
const HEADS: u64 = 16384 + 832;
const RESERVE: u64 = HEADS + 64;
const FROZEN: u64 = 1;
const CHUNK: u64 = 128;

type Small = World<Slots7>;

fn load(world: &Small, at: u64) -> u64 {
    Region::new(world.stage(), at, 1).unwrap().load(0, Ordering::Acquire)
}

fn store(world: &Small, at: u64, word: u64) {
    Region::new(world.stage(), at, 1).unwrap().store(0, word, Ordering::Release);
}

/// The blocks of the first partition.
fn blocks(world: &Small) -> Vec<u64> {
    let next = |at: &u64| Some(load(world, *at) & !3).filter(|&at| at != 0);
    std::iter::successors(Some(load(world, HEADS)), next).collect()
}

/// Takes all room, that of the map's reserve as well.
fn take_all(world: &Small) -> Vec<u64> {
    let guard = world.space().pin_mut().unwrap();
    let mut taken = Vec::new();
    for word in [RESERVE, RESERVE + 8] {
        taken.extend(Some(load(world, word)).filter(|&at| at != 0));
        store(world, word, 0);
    }
    loop {
        match guard.alloc(CHUNK) {
            Ok(at) => taken.push(at),
            Err(error) => {
                assert!(matches!(error, Error::Full { .. }));
                return taken;
            }
        }
    }
}

fn give(world: &Small, chunks: impl IntoIterator<Item = u64>) {
    let guard = world.space().pin_mut().unwrap();
    chunks.into_iter().for_each(|at| guard.discard(at, CHUNK));
}

/// A rival of an insert is frozen, the insert finds no room for the change, and another thread is about to
/// complete it: what has failed does not happen afterwards.
#[test]
fn an_insert_that_found_no_room_is_not_completed_by_others() {
    const KEY: u64 = 15;
    const PENDING: u64 = 1 << 62 | (KEY + 1);
    let pending = |world: &Small| {
        let slots = (0..7).map(|slot| blocks(world)[0] + 16 + 16 * slot);
        slots.filter(|&at| load(world, at) == PENDING).collect::<Vec<_>>()
    };
    ends("an insert without room", || {
        let world = Small::of_pages(4);
        let taken = take_all(&world);
        let outcomes = [const { Mutex::new(None::<Result<Option<u64>>>) }; 3];
        let insert = |i: usize| {
            let outcome = world.map().insert(KEY, i as u64);
            *outcomes[i].lock().unwrap() = Some(outcome);
        };
        let outcome = |i: usize| outcomes[i].lock().unwrap().take().unwrap();
        std::thread::scope(|scope| {
            let halt = |name, step| world.stage().halt(name, Stop::at(step));
            let halts = [halt("a", "insert.I4"), halt("b", "insert.I5"), halt("c", "insert.I4")];
            let [first, helper, rival] = [(0, "a"), (1, "b"), (2, "c")].map(|(i, name)| {
                let thread = spawn(scope, name, move || insert(i));
                assert!(stands(&halts[i], &thread));
                thread
            });
            // The helper has killed its own, which is the higher one, and is about to enter the first.
            let [a, c] = pending(&world)[..] else { panic!("the first insert, and the rival") };
            assert!(a < c);
            store(&world, c, PENDING | 1 << 63);
            let [first_halt, helper_halt, rival_halt] = halts;
            first_halt.release();
            join(first);
            assert!(matches!(outcome(0), Err(Error::Full { .. })));
            give(&world, taken);
            helper_halt.release();
            join(helper);
            assert_eq!(outcome(1).unwrap(), None, "what has failed was not entered");
            rival_halt.release();
            join(rival);
            assert_eq!(outcome(2).unwrap(), Some(1));
        });
        assert_eq!(world.entries(), [(KEY, 2)]);
    });
}

/// A map of ascending keys, each block of which has some.
fn ascending() -> Small {
    let world = Small::of_pages(4);
    (0..60).for_each(|key| assert_eq!(world.map().insert(key, key).unwrap(), None));
    assert!(blocks(&world).len() > 6);
    world
}

/// The keys of a block and the one behind it.
fn keys_of_two(world: &Small, block: usize) -> [Vec<u64>; 2] {
    let lows: Vec<u64> = blocks(world).iter().map(|&at| load(world, at + 8)).collect();
    [block, block + 1].map(|i| (lows[i]..lows[i + 1]).collect())
}

fn remove(map: &MapOf<Slots7>, keys: &[u64]) {
    keys.iter().for_each(|&key| assert_eq!(map.remove(key).unwrap(), Some(key)));
}

/// The right leaf is filled between the decision to merge and its capture, and there is room for one block
/// only: the chunk is not lost, and neither are those of the attempts that follow.
#[test]
fn a_merge_that_needs_two_blocks_and_finds_one_leaks_none() {
    ends("a merge of full leaves", || {
        let world = ascending();
        let [left, right] = keys_of_two(&world, 2);
        remove(world.map(), &right[1..]);
        let mut taken = Vec::new();
        // The last remove makes the left leaf empty, and looks for a neighbour.
        let met = stopped(
            &world,
            Stop::at("merge.M1"),
            |map| remove(map, &left),
            || {
                for &key in &right[1..] {
                    assert_eq!(world.map().insert(key, key).unwrap(), None);
                }
                taken = take_all(&world);
                give(&world, taken.pop());
            },
        );
        assert!(met);
        for _ in 0..3 {
            // Whatever comes of it: it does not lose what it takes.
            let _ = world.map().insert(left[0], left[0]);
        }
        give(&world, taken);
        for &key in &left {
            world.map().insert(key, key).unwrap();
        }
        assert_eq!(world.keys(), (0..60).collect::<Vec<_>>());
        assert_eq!(world.lost_bytes(), 0);
    });
}

/// A merge has happened, but the block before is frozen and there is no room to replace it: the absorbed
/// block is free after a close all the same.
#[test]
fn a_merge_that_waits_for_the_block_before_leaks_none_over_a_close() {
    ends("a merge behind a frozen block", || {
        let world = ascending();
        // As a crash in the middle of a change leaves it.
        let before = blocks(&world)[1];
        store(&world, before, load(&world, before) | FROZEN);
        let world = world.closed();
        let [left, right] = keys_of_two(&world, 2);
        remove(world.map(), &right[1..]);
        let mut taken = take_all(&world);
        give(&world, taken.pop());
        let merged = blocks(&world)[2];
        remove(world.map(), &left);
        assert!(load(&world, merged) & 2 != 0, "it was replaced");
        assert_eq!(load(&world, before), merged | FROZEN, "and is still in the chain");
        give(&world, taken);
        let world = world.closed();
        assert_eq!(world.lost_bytes(), 0);
        (0..60).for_each(|key| _ = world.map().insert(key, key).unwrap());
        assert_eq!((world.keys().len(), world.lost_bytes()), (60, 0));
    });
}
