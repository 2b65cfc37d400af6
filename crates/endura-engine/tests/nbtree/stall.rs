//! A thread that stands still at any step stops nobody.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::Instant;

use endura_engine::space::PAGE;
use endura_variants::media::Stop;
use endura_variants::nbtree::STEPS;

use crate::steps::work;
use crate::support::ops::scatter;
use crate::support::stage::{ends, stopped};
use crate::support::world::{MapOf, Shape, Slots3, Slots7, Slots63, World};

/// Threads beside the one that stands.
const OTHERS: u64 = 7;

/// Operations of each of them. `ENDURA_STALL_OPERATIONS` sets another number; it takes
///
/// ```text
/// ENDURA_STALL_OPERATIONS=1000000 cargo test -p endura-engine --test nbtree stands_at_any_step -- --nocapture
/// ```
///
/// three minutes of processor time: seven and a half on two cores that ten others wanted as well.
fn operations() -> u64 {
    given().unwrap_or(2_000)
}

fn given() -> Option<u64> {
    let text = std::env::var("ENDURA_STALL_OPERATIONS").ok()?;
    Some(text.parse().expect("a number of operations"))
}

/// A map of 40 keys, of a new session in which no block was read yet. Nothing is used again while a thread
/// stands inside an operation: room for all that the others replace meanwhile.
fn world_for(operations: u64) -> World<Slots3> {
    const BYTES_AN_OPERATION: u64 = 128;
    let world = World::<Slots3>::of_pages(64 + OTHERS * operations * BYTES_AN_OPERATION / PAGE);
    (0..40).for_each(|key| _ = world.map().insert(2 * key, key).unwrap());
    world.killed()
}

/// N10, and the claim of the paper: with one thread stopped at each step in turn, seven others end
/// their work on the same keys.
#[test]
fn a_thread_that_stands_at_any_step_stops_nobody() {
    // Many operations take long enough at one visit.
    let visits = if given().is_some() { &[1][..] } else { &[1, 2, 5] };
    for step in STEPS {
        let begin = Instant::now();
        ends(step, || {
            let met = visits.iter().filter(|&&visit| is_passed_by(step, visit)).count();
            assert!(2 * met > visits.len(), "{step} was reached {met} times");
        });
        println!("{step}: {OTHERS} x {} operations, {:.1?}", operations(), begin.elapsed());
    }
}

/// Whether the first thread came to the step for the `visit`-th time.
fn is_passed_by(step: &'static str, visit: u64) -> bool {
    let world = world_for(operations());
    let first = |map: &MapOf<Slots3>| (0..2_000).for_each(|n| work(map, 80, 9 * n + visit));
    let met = stopped(&world, Stop::at(step).visit(visit), first, || {
        thread::scope(|scope| {
            for thread in 0..OTHERS {
                let map = world.map();
                scope.spawn(move || {
                    (0..operations()).for_each(|n| work(map, 80, 90 * n + thread));
                });
            }
        });
    });
    let (found, facts) = (world.entries(), world.verify());
    assert_eq!((facts.entries, facts.repairs.total()), (found.len() as u64, 0), "{step}");
    for (key, value) in found {
        assert_eq!(world.map().get(key).unwrap(), Some(value), "{step}");
        assert_eq!(world.map().remove(key).unwrap(), Some(value), "{step}");
        assert_eq!(world.map().get(key).unwrap(), None, "{step}");
    }
    met
}

/// N10. Neither does it stop who asks for the ends of a map that runs empty: what lies before them is being replaced.
#[test]
fn the_ends_are_found_beside_a_thread_that_stands_at_any_step() {
    for step in STEPS {
        ends(step, || assert!((1..100).any(|visit| !leaves_ends(step, visit))));
    }
}

/// Whether the thread that empties the map came to the step for the `visit`-th time.
fn leaves_ends(step: &'static str, visit: u64) -> bool {
    const KEYS: u64 = 16;
    let world = World::<Slots3>::with((0..KEYS).map(|key| (2 * key, key)));
    let remove = |map: &MapOf<Slots3>, n: u64| _ = map.remove(2 * n).unwrap();
    // From both ends.
    let empty = |map: &MapOf<Slots3>| {
        (0..KEYS / 2).for_each(|n| {
            remove(map, n);
            remove(map, KEYS - 1 - n);
        });
    };
    stopped(&world, Stop::at(step).visit(visit), empty, || {
        let map = world.map();
        let entries: Vec<_> = map.iter().map(|entry| entry.unwrap()).collect();
        assert_eq!(map.first().unwrap(), entries.first().copied(), "{step} {visit}");
        assert_eq!(map.last().unwrap(), entries.last().copied(), "{step} {visit}");
        let popped = map.pop_first().unwrap();
        assert_eq!(popped, entries.first().copied(), "{step} {visit}");
    })
}

/// N12. Sixteen threads add to few counters: none of the additions is lost, whatever happens to the
/// leaves around them.
#[test]
fn no_addition_to_a_counter_is_lost() {
    fn run<S: Shape>() {
        const COUNTERS: u64 = 4;
        let world = World::<S>::with((0..COUNTERS).map(|key| (100 * key, 0)));
        let each = operations() / 2;
        thread::scope(|scope| {
            for thread in 0..16_u64 {
                let map = world.map();
                scope.spawn(move || {
                    for n in 0..each {
                        let key = 100 * (n % COUNTERS);
                        map.fetch_update(key, |old| Some(old.unwrap() + 1)).unwrap();
                        let beside = 1 + scatter(n << 8 | thread) % (100 * COUNTERS);
                        if !beside.is_multiple_of(100) {
                            map.insert(beside, n).unwrap();
                            map.remove(beside).unwrap();
                        }
                    }
                });
            }
        });
        let counters = (0..COUNTERS).map(|key| world.map().get(100 * key).unwrap().unwrap());
        assert_eq!(counters.sum::<u64>(), 16 * each);
    }
    ends("counters", || {
        run::<Slots3>();
        run::<Slots63>();
    });
}

/// N18. Three hundred threads come to one full leaf at once. The published tree counts claims in a byte:
/// those above 255 write to slots that others have.
#[test]
fn three_hundred_threads_claim_a_slot_of_one_leaf_at_once() {
    const THREADS: u64 = 320;
    ends("320 threads", || {
        let world = World::<Slots63>::with((0..60).map(|key| (1_000 * key, key)));
        let barrier = Barrier::new(THREADS as usize);
        thread::scope(|scope| {
            for n in 0..THREADS {
                let (map, barrier) = (world.map(), &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    assert_eq!(map.insert(1_000 * (n % 60) + 1 + n, n).unwrap(), None);
                });
            }
        });
        assert_eq!(world.verify().entries, 60 + THREADS);
        for n in 0..THREADS {
            assert_eq!(world.map().get(1_000 * (n % 60) + 1 + n).unwrap(), Some(n));
        }
    });
}

/// N20. A thread that has frozen a cell, or drafted a root, stands while others split leaves a hundred
/// thousand times, and the root grows above it.
#[test]
fn inner_nodes_change_a_hundred_thousand_times_around_one_that_stands() {
    ends("inner nodes around one that stands", || {
        // Two or three entries are in a leaf.
        let all = [("reroute.cell", 20_000), ("reroute.frozen", 280_000), ("reroute.root", 20_000)];
        for (step, keys) in all {
            let world = World::<Slots3>::with((0..12).map(|n| (n << 40, n)));
            let first = |map: &MapOf<Slots3>| {
                (0..20).for_each(|n| _ = map.insert((6 << 40) + 1 + n, n).unwrap());
            };
            let met = stopped(&world, Stop::at(step), first, || {
                let before = world.verify().nodes;
                thread::scope(|scope| {
                    for thread in 0..2 {
                        let map = world.map();
                        scope.spawn(move || {
                            for n in 0..keys / 2 {
                                let key = scatter(2 * n + thread) >> 20 | 1 << 50;
                                map.insert(key, key).unwrap();
                            }
                        });
                    }
                });
                let nodes = world.verify().nodes - before;
                assert!(nodes > keys * 10 / 28, "{nodes} blocks more, at {step}");
            });
            assert!(met, "{step}");
            let check = world.verify();
            assert_eq!(check.entries, world.entries().len() as u64, "{step}");
        }
    });
}

/// N2, N18. Many threads enter and remove the same few keys through full leaves: each entry that was
/// entered is removed once, or is there at the end.
#[test]
fn entries_that_were_entered_and_removed_balance() {
    fn run<S: Shape>(keys: u64) {
        let world = World::<S>::new();
        let balance: BTreeMap<u64, AtomicI64> =
            (0..keys).map(|key| (key, AtomicI64::new(0))).collect();
        thread::scope(|scope| {
            for thread in 0..16_u64 {
                let (map, balance) = (world.map(), &balance);
                scope.spawn(move || {
                    for n in 0..operations() {
                        let key = scatter(n << 8 | thread) % keys;
                        if map.insert_new(key, thread).unwrap() {
                            balance[&key].fetch_add(1, Ordering::Relaxed);
                        }
                        let key = scatter(n << 8 | 0x80 | thread) % keys;
                        if map.remove(key).unwrap().is_some() {
                            balance[&key].fetch_sub(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        for (&key, balance) in &balance {
            let left = i64::from(world.map().contains_key(key).unwrap());
            assert_eq!(balance.load(Ordering::Relaxed), left, "key {key}");
        }
        let entries = world.verify().entries;
        assert_eq!(world.map().len().unwrap(), endura_engine::tree::Len::Exact(entries));
    }
    ends("balance", || {
        run::<Slots3>(3);
        run::<Slots7>(30);
        run::<Slots63>(200);
    });
}
