//! Closures that write to the map that runs them: beside their key, their key, or both. Every one ends, with the same
//! answer in maps of all kinds.

use std::ops::ControlFlow;

use endura::{Map, MapOptions, Pool};
use endura_engine::{Error, Kind, Result};

use crate::support::patience::ends;
use crate::support::pools::pool;

const KINDS: [Kind; 3] = [Kind::FastFair, Kind::NbTree, Kind::Roart];
const KEY: u64 = 500;
/// More than a closure may run in vain, fewer than `ends` has patience for.
const MANY: u64 = 200_000;

fn map(pool: &Pool, kind: Kind) -> Map<u64, u64> {
    pool.map_with(&kind.to_string(), MapOptions::new().kind(kind)).unwrap()
}

/// What the closure of an update of [`KEY`] writes in its run number `n`.
type Write = fn(&Map<u64, u64>, u64);

/// An operation whose closure decides about [`KEY`], and calls what it is given in each run.
type Operation = fn(&Map<u64, u64>, &mut dyn FnMut()) -> Result<()>;

const OPERATIONS: [(&str, Operation); 3] = [
    ("update", |map, write| {
        map.update(KEY, |_| {
            write();
            7
        })
        .map(drop)
    }),
    ("alter", |map, write| {
        map.alter(KEY, |_| {
            write();
            Some(7)
        })
        .map(drop)
    }),
    ("an alter that takes out", |map, write| {
        map.alter(KEY, |_| {
            write();
            None
        })
        .map(drop)
    }),
];

/// Runs the operation with this closure on a map with `KEY` or without; how often the closure ran, and what came of it.
fn run(
    kind: Kind,
    has_key: bool,
    operation: Operation,
    write: Write,
) -> (u64, Result<()>, Option<u64>) {
    let (_folder, _, pool) = pool();
    let map = map(&pool, kind);
    if has_key {
        map.insert(KEY, 1).unwrap();
    }
    let mut runs = 0;
    let result = operation(&map, &mut || {
        runs += 1;
        if runs < MANY {
            write(&map, runs);
        }
    });
    pool.verify().unwrap();
    (runs, result, map.get(KEY).unwrap())
}

/// The record of a neighbour shares its place with the key's own in a ROART.
#[test]
fn a_closure_that_writes_beside_its_key_runs_once() {
    let writes: [(&str, Write); 5] = [
        ("one neighbour", |map, _| _ = map.insert(KEY + 1, 1).unwrap()),
        ("another each time", |map, n| _ = map.insert(KEY + n, n).unwrap()),
        ("in and out", |map, n| {
            map.insert(KEY + 1, n).unwrap();
            map.remove(KEY + 1).unwrap();
        }),
        ("many", |map, n| (0..300).for_each(|m| _ = map.insert(300 * n + 1_000 + m, m).unwrap())),
        ("on all sides", |map, n| {
            for key in [KEY - 1, KEY + 1, KEY << 32, KEY << 32 | n, n, 256 + n] {
                if key != KEY {
                    map.insert(key, n).unwrap();
                }
            }
        }),
    ];
    ends("an update beside its own neighbours", move || {
        for kind in KINDS {
            for (what, operation) in OPERATIONS {
                for (beside, write) in writes {
                    for has_key in [false, true] {
                        let (runs, result, value) = run(kind, has_key, operation, write);
                        let want = (what != "an alter that takes out").then_some(7);
                        let name = format!("{kind}, {what}, {beside}, {has_key}");
                        assert!(result.is_ok(), "{name}: {result:?}");
                        assert_eq!((runs, value), (1, want), "{name}");
                    }
                }
            }
        }
    });
}

/// As in the report that led here: the first two keys of a map of strings.
#[test]
fn the_second_key_of_a_map_comes_from_the_closure_of_the_first() {
    ends("an update of the first key of a map", || {
        let (_folder, _, pool) = pool();
        let map = pool.map::<str, u64>("users").unwrap();
        let mut runs = 0;
        let made = map.update("user:1", |old| {
            runs += 1;
            assert_eq!(old, None);
            map.insert("user:2", 1).unwrap();
            1
        });
        assert_eq!((made.unwrap(), runs, map.len().unwrap()), (1, 1, 2));
    });
}

#[test]
fn a_closure_that_writes_its_own_key_runs_until_the_value_stays() {
    let writes: [(&str, Write, u64); 4] = [
        ("one value", |map, _| _ = map.insert(KEY, 5).unwrap(), 2),
        (
            "one value, and beside",
            |map, n| {
                map.insert(KEY, 5).unwrap();
                map.insert(KEY + n, 5).unwrap();
            },
            2,
        ),
        (
            "out and in again",
            |map, _| {
                map.remove(KEY).unwrap();
                map.insert(KEY, 5).unwrap();
            },
            2,
        ),
        ("another value, thrice", |map, n| _ = map.insert(KEY, n.min(3) + 10).unwrap(), 4),
    ];
    ends("an update that writes its own key", move || {
        for kind in KINDS {
            for (what, operation) in OPERATIONS {
                for (how, write, want) in writes {
                    for has_key in [false, true] {
                        let (runs, result, value) = run(kind, has_key, operation, write);
                        let name = format!("{kind}, {what}, {how}, {has_key}");
                        assert!(result.is_ok(), "{name}: {result:?}");
                        let end = (what != "an alter that takes out").then_some(7);
                        assert_eq!((runs, value), (want, end), "{name}");
                    }
                }
            }
        }
    });
}

#[test]
fn a_closure_that_writes_its_own_key_anew_each_time_is_told_so() {
    let writes: [(&str, Write); 2] = [
        ("another value", |map, n| _ = map.insert(KEY, n + 10).unwrap()),
        ("in and out in turn", |map, n| {
            if map.remove(KEY).unwrap().is_none() {
                map.insert(KEY, n + 10).unwrap();
            }
        }),
    ];
    for kind in KINDS {
        for (what, operation) in OPERATIONS {
            for (how, write) in writes {
                let (runs, result, value) =
                    ends("a recursive update", move || run(kind, true, operation, write));
                let name = format!("{kind}, {what}, {how}: {result:?} after {runs}");
                assert!(matches!(result, Err(Error::RecursiveUpdate { .. })), "{name}");
                assert!(runs < MANY && value != Some(7), "{name}");
            }
        }
    }
}

/// In each run another thread is faster: no error comes of it.
#[test]
fn rivals_are_no_recursion() {
    const TIMES: u64 = 80_000;
    ends("an update beside a faster one", || {
        for kind in KINDS {
            let (_folder, _, pool) = pool();
            let map = map(&pool, kind);
            let (mut runs, (ask, asked)) = (0, std::sync::mpsc::channel::<u64>());
            let (answer, answered) = std::sync::mpsc::channel();
            let rival = {
                let map = map.clone();
                std::thread::spawn(move || {
                    for n in asked {
                        map.insert(KEY, n).unwrap();
                        answer.send(()).unwrap();
                    }
                })
            };
            map.update(KEY, |_| {
                runs += 1;
                if runs <= TIMES {
                    ask.send(runs).unwrap();
                    answered.recv().unwrap();
                }
                7
            })
            .unwrap();
            assert!(runs == TIMES + 1, "{kind}: {runs}");
            drop(ask);
            rival.join().unwrap();
        }
    });
}

#[test]
fn retain_whose_closure_writes() {
    ends("a retain that writes", || {
        for kind in KINDS {
            let (_folder, _, pool) = pool();
            let map = map(&pool, kind);
            map.extend((0..100).map(|n| (2 * n, n))).unwrap();
            // Behind what was shown, and to what is shown: the second run decides.
            let mut runs = 0;
            let removed = map.retain(|key, value| {
                runs += 1;
                if key > 0 {
                    map.insert(key - 1, 1).unwrap();
                }
                if value < 1_000 {
                    map.insert(key, value + 1_000).unwrap();
                }
                false
            });
            assert_eq!(removed.unwrap(), 100, "{kind}");
            assert_eq!(runs, 200, "{kind}");
            // Its own key anew in each run.
            map.clear().unwrap();
            map.insert(KEY, 1).unwrap();
            let mut value = 10;
            let error = map.retain(|key, _| {
                value += 1;
                map.insert(key, value).unwrap();
                value > 10 + MANY
            });
            assert!(matches!(error, Err(Error::RecursiveUpdate { .. })), "{kind}: {error:?}");
        }
    });
}

#[test]
fn readers_whose_closures_write() {
    ends("a read that writes", || {
        for kind in KINDS {
            let (_folder, _, pool) = pool();
            let map = map(&pool, kind);
            map.extend((0..100).map(|n| (2 * n, n))).unwrap();
            let found = map.get_with(10, |value| {
                map.insert(10, 77).unwrap();
                map.insert(11, 78).unwrap();
                value
            });
            assert_eq!((found.unwrap(), map.get(10).unwrap()), (Some(5), Some(77)));
            // Behind the range, and the entry that is shown: it ends. Ahead of it, as long as there is a key to enter.
            let mut shown = 0;
            map.range_with(.., |key, value| {
                shown += 1;
                map.insert(key, value + 1).unwrap();
                if key > 0 {
                    map.insert(key - 1, value).unwrap();
                }
                if key == 198 {
                    map.insert(199, 1).unwrap();
                }
            })
            .unwrap();
            // What was entered ahead may be shown or not.
            assert!([101, 102].contains(&shown), "{kind}: {shown}");
            let (mut shown, last) = (0, 10_000);
            map.range_with(1_000..=last, |_, _| shown += 1).unwrap();
            assert_eq!(shown, 0);
            map.insert(1_000, 0).unwrap();
            let ended = map.range_with(1_000..=last, |key, _| {
                shown += 1;
                map.insert(key + 1, 0).unwrap();
                match shown > last {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
            assert!(ended.unwrap().is_continue());
            assert!((1..=last - 1_000 + 1).contains(&shown), "{kind}: {shown}");
        }
    });
}

/// A value that is written piece by piece, and a load.
#[test]
fn writers_whose_closures_write() {
    ends("a write that writes", || {
        let (_folder, _, pool) = pool();
        let map = pool.map::<str, [u8]>("m").unwrap();
        for n in 0..50_u8 {
            let mut runs = 0;
            map.insert_from("key", 1, |out| {
                runs += 1;
                map.insert("key", b"mine").unwrap();
                map.insert(&format!("key {n}"), b"beside").unwrap();
                out.write_all(&[n])
            })
            .unwrap();
            assert_eq!((runs, map.get("key").unwrap().unwrap()), (1, vec![n]));
        }
        for kind in KINDS {
            let map = self::map(&pool, kind);
            let keys = (0..100).inspect(|&key| _ = map.insert(key + 1, 1).unwrap());
            assert_eq!(map.extend(keys.map(|key| (key, 7))).unwrap(), 100);
            assert_eq!((map.get(99).unwrap(), map.get(100).unwrap()), (Some(7), Some(1)));
        }
    });
}
