//! N2 to N12, N15. Two threads, one of them stopped at each of its stores in turn while the other
//! works, and ends its work: it never needs the first.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use endura_variants::media::Stop;

use crate::support::races::{
    Race, drain, put, remove, scan_stopped_at_each_load, scans_while_a_writer_stands,
    search_through_changing_inner_nodes, seat_counts_from_its_pin, tens,
};
use crate::support::stage::{at_every_load, at_every_store, ends, join, spawn, stands, stopped};
use crate::support::world::{MapOf, Shape, Slots3, Slots7, Slots63, World};

/// N2, N4. Two inserts of one key, the first stopped anywhere: exactly one of them enters it, and one
/// remove makes it absent for ever. The published tree commits both; the second comes to light when
/// the first is removed.
#[test]
fn of_two_inserts_of_one_key_exactly_one_enters_it() {
    fn run<S: Shape>(n: u64) {
        at_every_store(|stop| {
            let world = World::<S>::with(tens(1..n + 1).into_iter().map(|key| (key, key)));
            let won = Mutex::new(Vec::new());
            let insert = |map: &MapOf<S>, value| {
                if map.insert_new(15, value).unwrap() {
                    won.lock().unwrap().push(value);
                }
            };
            let stands = stopped(
                &world,
                stop,
                |map| insert(map, 1),
                || {
                    insert(world.map(), 2);
                    let seen = world.map().get(15).unwrap();
                    assert!(
                        seen.is_some(),
                        "the second is there, or the first was before it: {stop:?}"
                    );
                },
            );
            let won = won.into_inner().unwrap();
            assert_eq!(won.len(), 1, "{won:?} at {stop:?}");
            assert_eq!(world.map().remove(15).unwrap(), Some(won[0]), "at {stop:?}");
            assert_eq!(world.map().get(15).unwrap(), None, "at {stop:?}");
            assert_eq!(world.verify().entries, n, "at {stop:?}");
            stands
        });
    }
    ends("two inserts of one key", || {
        (0..4).for_each(run::<Slots3>);
        (5..8).for_each(run::<Slots7>);
    });
}

/// V5. An insert is completed by another thread and removed by a third before its owner looks: the
/// owner must not insert again. With the first stopped anywhere, what it reports is what happened.
#[test]
fn an_insert_that_others_complete_and_remove_happens_once() {
    ends("an insert that is helped and removed", || {
        at_every_store(|stop| {
            let world = World::<Slots7>::new();
            let first = Mutex::new(None);
            let mut removed = Vec::new();
            let stands = stopped(
                &world,
                stop,
                |map| *first.lock().unwrap() = Some(map.insert(15, 1).unwrap()),
                || {
                    let map = world.map();
                    let second = map.insert_new(15, 2).unwrap();
                    removed.extend(map.remove(15).unwrap().map(|value| (second, value)));
                },
            );
            let first = first.into_inner().unwrap().expect("it has returned");
            let left = world.map().get(15).unwrap();
            match removed.first() {
                // The first came before: the second found it, and the remove took it.
                Some((false, 1)) => assert_eq!((first, left), (None, None), "{stop:?}"),
                // The second was entered and removed; the first comes after.
                Some((true, 2)) => assert_eq!((first, left), (None, Some(1)), "{stop:?}"),
                // The first came after the second and replaced it; the remove took that.
                Some((true, 1)) => assert_eq!((first, left), (Some(2), None), "{stop:?}"),
                other => assert!(!stands && other.is_none(), "{other:?} at {stop:?}"),
            }
            stands
        });
    });
}

/// N7. A remove stopped anywhere, across whole structural changes: it takes effect once. In the
/// published tree it zeroes the slot of the new leaf when it goes on, where another entry of the same
/// key is by then.
#[test]
fn a_remove_that_slept_through_changes_takes_effect_once() {
    ends("a sleeping remove", || {
        at_every_store(|stop| {
            let world = World::<Slots3>::with(tens(1..4).into_iter().map(|key| (key, key)));
            let first = Mutex::new(None);
            let stands = stopped(
                &world,
                stop,
                |map| *first.lock().unwrap() = Some(map.remove(20).unwrap()),
                || {
                    let map = world.map();
                    (21..29).for_each(|key| assert_eq!(map.insert(key, key).unwrap(), None));
                    let before = map.insert(20, 7).unwrap();
                    assert!(matches!(before, None | Some(20)), "{before:?} at {stop:?}");
                    (30..39).for_each(|key| _ = map.insert(key, key).unwrap());
                },
            );
            let left = world.map().get(20).unwrap();
            match first.into_inner().unwrap().expect("it has returned") {
                // It had happened when it was stopped.
                Some(20) if stands => assert_eq!(left, Some(7), "{stop:?}"),
                Some(7) => assert_eq!(left, None, "{stop:?}"),
                other => assert!(!stands && other == Some(20), "{other:?} at {stop:?}"),
            }
            stands
        });
    });
}

/// N5, N6, N12. An update stopped anywhere, while others write the same value again, split the leaf
/// and write on: no update is lost. The published trees of `nbsmo2.py` and `nbsmo3.py` lose one here: an
/// update of the old leaf during the copy, with a value that was there before, or with a reader
/// that repairs the copy from what it read earlier.
#[test]
fn no_update_is_lost_around_a_change() {
    ends("updates around a change", || {
        at_every_store(|stop| {
            let world = World::<Slots3>::with([(10, 0), (20, 0), (30, 0)]);
            let add = |map: &MapOf<Slots3>| {
                map.fetch_update(20, |old| Some(old.unwrap() + 1)).unwrap();
                map.insert(25, 0).unwrap();
                map.fetch_update(20, |old| Some(old.unwrap() + 1)).unwrap();
            };
            let stands = stopped(&world, stop, add, || {
                let map = world.map();
                let seen = map.get(20).unwrap().unwrap();
                // The same value once more, then another, then the first again.
                assert_eq!(map.insert(20, seen).unwrap(), Some(seen));
                assert_eq!(map.insert(20, seen + 100).unwrap(), Some(seen));
                assert_eq!(map.get(20).unwrap(), Some(seen + 100));
                (21..25).for_each(|key| _ = map.insert(key, key).unwrap());
                assert_eq!(map.insert(20, seen).unwrap(), Some(seen + 100));
                add(map);
                assert_eq!(map.get(20).unwrap(), Some(seen + 2));
            });
            assert_eq!(world.map().get(20).unwrap(), Some(if stands { 4 } else { 2 }), "{stop:?}");
            stands
        });
    });
}

/// N5. A reader stopped at each of its loads, while the leaf that it is in is updated, replaced, and
/// replaced again: it answers what was there at some moment meanwhile, and it writes nothing.
#[test]
fn a_reader_that_slept_through_changes_repairs_nothing() {
    ends("a sleeping reader", || {
        at_every_load(|stop| {
            let world = World::<Slots3>::with([(10, 1), (20, 1), (30, 1)]);
            let read = |map: &MapOf<Slots3>| {
                let seen = map.get(20).unwrap().unwrap();
                assert!((1..=6).contains(&seen), "{seen} at {stop:?}");
            };
            let stands = stopped(&world, stop, read, || {
                let map = world.map();
                for value in 2..=6 {
                    assert_eq!(map.insert(20, value).unwrap(), Some(value - 1));
                    map.insert(20 + value, 0).unwrap();
                }
            });
            assert_eq!(world.map().get(20).unwrap(), Some(if stands { 6 } else { 1 }));
            stands
        });
    });
}

/// N8, N9. An insert that has claimed its slot and stands there: the leaf fills and is replaced,
/// its memory waits; what the insert finds when it goes on is its own old block.
#[test]
fn a_claimed_slot_that_is_never_written_stops_nobody() {
    ends("a claimed slot", || {
        for step in ["insert.I2", "insert.I3", "insert.I4", "insert.I5", "insert.durable"] {
            let world = World::<Slots7>::with(tens(1..4).into_iter().map(|key| (key, key)));
            let met = stopped(
                &world,
                Stop::at(step),
                |map| _ = map.insert(15, 1).unwrap(),
                || {
                    let map = world.map();
                    for round in 0..200 {
                        for key in 100..140 {
                            assert_eq!(map.insert(key, round).unwrap(), None);
                        }
                        for key in 100..140 {
                            assert_eq!(map.remove(key).unwrap(), Some(round));
                        }
                    }
                    // A crash at this moment: what lies behind the gap is found.
                    let next = world.crashed();
                    let found: BTreeSet<u64> = next.keys().into_iter().collect();
                    assert!(tens(1..4).iter().all(|key| found.contains(key)), "{found:?}");
                },
            );
            assert!(met, "{step}");
            assert_eq!(world.keys(), [10, 15, 20, 30]);
        }
    });
}

/// N10, N11. Two neighbouring leaves that split at once, three in a row, the leftmost one included:
/// no block is lost, and no gap stays. In the published tree the second links its new block into a
/// block that is being replaced.
#[test]
fn neighbours_split_at_once_without_a_gap() {
    let keys = tens(1..13);
    for at in [0, 10, 40, 60, 110] {
        let name = "a split beside a split";
        let first = put((1..5).map(|i| at + i));
        let second = put((1..5).flat_map(|i| [at + 10 + i, at + 20 + i, at + 30 + i]));
        Race { name, keys: keys.clone(), first, second }.run::<Slots3>();
        let second = put((1..5).flat_map(|i| [at + 5 + i, at + 10 + i]));
        let first = put((1..5).map(|i| at + i));
        Race { name, keys: keys.clone(), first, second }.run::<Slots7>();
    }
}

/// N15. A merge against everything that can happen to the two leaves and their neighbours.
#[test]
fn a_merge_loses_nothing_of_what_others_do_around_it() {
    let keys = tens(1..25);
    let first = || remove([110, 120, 130, 100]);
    let others = [
        ("merge against inserts into both leaves", put([111, 121, 131, 101])),
        ("merge against a split on its left", put(81..88)),
        ("merge against a split on its right", put(141..148)),
        ("merge against a merge on its left", remove([80, 90, 70, 60])),
        ("merge against a merge on its right", remove([140, 150, 160, 170])),
    ];
    for (name, second) in others {
        let race = Race { name, keys: keys.clone(), first: first(), second };
        race.run::<Slots3>();
        race.run::<Slots7>();
    }
}

/// N20. Inner nodes of four children split, join and change height in both threads.
#[test]
fn inner_nodes_change_at_once() {
    for n in [7, 9, 16, 17] {
        let (name, keys) = ("inner nodes against inner nodes", tens(1..n));
        let first = put([10 * n + 1, 10 * n + 2, 10 * n + 3, 10 * n + 4]);
        let second = put((1..8).map(|i| 10 * n + 10 + i));
        Race { name, keys: keys.clone(), first, second }.run::<Slots3>();
        let (first, second) = (remove(tens(1..n - 1)), put((1..9).map(|i| 10 * n + i)));
        Race { name, keys, first, second }.run::<Slots3>();
    }
}

/// A change of the inner nodes that stands before its exchange, while others do as much at the same
/// cells: it finds that done, or does it anew, and nothing twice.
#[test]
fn a_reroute_that_stands_is_done_by_others_and_once() {
    ends("a reroute that stands", || {
        for step in ["reroute.cell", "reroute.frozen", "reroute.root"] {
            for visit in 1..=6 {
                for fills in [true, false] {
                    let world = World::<Slots3>::with(tens(1..25).into_iter().map(|k| (k, k)));
                    let own = |map: &MapOf<Slots3>| match fills {
                        true => (121..135).for_each(|key| _ = map.insert(key, key).unwrap()),
                        false => (1..21).for_each(|n| _ = map.remove(10 * n).unwrap()),
                    };
                    let met = stopped(&world, Stop::at(step).visit(visit), own, || {
                        let map = world.map();
                        (141..155).for_each(|key| _ = map.insert(key, key).unwrap());
                        (205..209).for_each(|key| _ = map.insert(key, key).unwrap());
                        (141..155).for_each(|key| _ = map.remove(key).unwrap());
                    });
                    let at = format!("{step}, {visit}, {fills}");
                    assert!(met || visit > 1, "{at}");
                    if !met {
                        break;
                    }
                    let mut keys = world.keys();
                    keys.retain(|key| !(121..155).contains(key) && !(205..209).contains(key));
                    let left = if fills { tens(1..25) } else { tens(21..25) };
                    keys.extend(left.iter().filter(|key| (121..155).contains(*key)));
                    keys.sort_unstable();
                    assert_eq!(keys, left, "{at}");
                    for &key in &left {
                        let there = !(141..155).contains(&key);
                        assert_eq!(world.map().get(key).unwrap().is_some(), there, "{at}: {key}");
                    }
                    assert_eq!(world.verify().repairs.total(), 0, "{at}");
                    drain(&world);
                }
            }
        }
    });
}

#[test]
fn scans_see_every_permanent_key_once_wherever_a_writer_stands() {
    scans_while_a_writer_stands::<Slots3>();
}

#[test]
fn a_search_through_changing_inner_nodes_finds_its_leaf() {
    search_through_changing_inner_nodes::<Slots3>();
}

#[test]
fn a_scan_stopped_at_each_load_stays_sorted_and_complete() {
    scan_stopped_at_each_load::<Slots3>();
}

#[test]
fn a_seat_counts_from_its_pin() {
    seat_counts_from_its_pin::<Slots3>();
}

/// An insert has claimed its slot and stands; a scan enters the leaf and stands in its first call; the
/// insert is completed and acknowledged. The calls that follow give it.
#[test]
fn an_insert_that_ends_while_a_scan_enters_its_leaf_is_seen_by_the_calls_that_follow() {
    fn keys_seen(world: &World<Slots7>, load: u64) -> Option<Vec<u64>> {
        let inserts = world.stage().halt("inserts", Stop::at("insert.I2"));
        let scans = world.stage().halt("scans", Stop::at_load(load));
        let (entered, mut keys) = (AtomicBool::new(false), Vec::new());
        let in_first_call = thread::scope(|scope| {
            let insert = spawn(scope, "inserts", || _ = world.map().insert(15, 1).unwrap());
            assert!(stands(&inserts, &insert));
            let scan = spawn(scope, "scans", || {
                let mut range = world.map().range(..);
                keys.extend(range.next().map(|entry| entry.unwrap().0));
                entered.store(true, Ordering::Release);
                keys.extend(range.map(|entry| entry.unwrap().0));
            });
            let in_first_call = stands(&scans, &scan) && !entered.load(Ordering::Acquire);
            inserts.release();
            join(insert);
            scans.release();
            join(scan);
            in_first_call
        });
        in_first_call.then_some(keys)
    }
    ends("an insert and a scan", || {
        let entries = || tens(1..4).into_iter().map(|key| (key, key));
        let mut stops = 0;
        for load in 1.. {
            let Some(keys) = keys_seen(&World::with(entries()), load) else { break };
            assert_eq!(keys, [10, 15, 20, 30], "stopped at load {load}");
            stops = load;
        }
        assert!(stops > 4, "{stops}");
    });
}

/// A remove that is late: its key is in the map again, and a pop has decided to take that out. What the remove does
/// behind its exchange lets no insert in front of the key.
#[test]
fn a_late_remove_releases_no_insert_in_front_of_a_pop() {
    const END: u64 = 20;
    ends("a late remove beside a pop", || {
        let world = World::<Slots63>::with([(END, 1)]);
        let (popped, seen) = (Mutex::new(None), Mutex::new(None));
        thread::scope(|scope| {
            let halt = |name, step| world.stage().halt(name, Stop::at(step));
            let gone = halt("remove", "alter.durable");
            let remove = spawn(scope, "remove", || {
                assert_eq!(world.map().remove(END).unwrap(), Some(1));
            });
            assert!(stands(&gone, &remove));
            assert_eq!(world.map().insert(END, 2).unwrap(), None);
            let takes = halt("pop", "alter.exchange");
            let pop = spawn(scope, "pop", || {
                *popped.lock().unwrap() = world.map().pop_first().unwrap();
            });
            assert!(stands(&takes, &pop));
            gone.release();
            join(remove);
            let front = spawn(scope, "front", || {
                assert_eq!(world.map().insert(10, 3).unwrap(), None);
                *seen.lock().unwrap() = world.map().get(END).unwrap();
            });
            thread::sleep(std::time::Duration::from_millis(20));
            takes.release();
            join(pop);
            join(front);
        });
        assert_eq!(popped.into_inner().unwrap(), Some((END, 2)));
        assert_eq!(seen.into_inner().unwrap(), None, "beside a smaller key that is popped later");
    });
}

/// Two inserts of one key, the second of which has killed its own and is about to complete the first, beside a pop that
/// met neither: it had passed the place of the first, and came to that of the second too late. What is popped is gone
/// before the key is seen.
#[test]
fn who_completes_an_insert_for_another_heeds_a_pop() {
    const END: (u64, u64) = (20, 20);
    ends("an insert that is completed beside a pop", || {
        let world = World::<Slots7>::with([END]);
        let popped = Mutex::new(None);
        let came = thread::scope(|scope| {
            let halt = |name, step| world.stage().halt(name, Stop::at(step));
            let insert = |name, key| {
                let map = world.map();
                spawn(scope, name, move || assert!(map.insert(key, 1).is_ok()))
            };
            let claimed = halt("first", "insert.I2");
            let first = insert("first", 15);
            assert!(stands(&claimed, &first));
            // One behind the end, which the pop decides: there it stands between the places of the two.
            let between = halt("between", "insert.I4");
            let other = insert("between", 25);
            assert!(stands(&between, &other));
            let pending = halt("second", "insert.I4");
            let second = insert("second", 15);
            assert!(stands(&pending, &second));
            let looks = halt("pop", "insert.I5");
            let pop = spawn(scope, "pop", || {
                *popped.lock().unwrap() = Some(world.map().pop_first().unwrap());
            });
            assert!(stands(&looks, &pop));
            let asks = halt("first", "insert.pending");
            claimed.release();
            assert!(stands(&asks, &first));
            let completes = halt("second", "insert.I5");
            pending.release();
            let has_killed_its_own = stands(&completes, &second);
            let takes = halt("pop", "alter.exchange");
            looks.release();
            let decided = stands(&takes, &pop);
            completes.release();
            thread::sleep(std::time::Duration::from_millis(20));
            let came = world.map().get(15).unwrap();
            assert!(has_killed_its_own && decided);
            takes.release();
            join(pop);
            asks.release();
            between.release();
            [first, second, other].into_iter().for_each(join);
            came
        });
        let popped = popped.into_inner().unwrap().flatten();
        if popped == Some(END) {
            assert_eq!(came, None, "a smaller key was seen before the end was taken out");
        } else {
            assert_eq!(popped, Some((15, 1)));
        }
    });
}
