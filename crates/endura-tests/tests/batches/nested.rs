//! Batches committed in closures of operations: on the key of the operation, on a neighbour, on another map; by one thread,
//! and by two in each other's way.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use endura::{Kind, Map, MapOptions, Pool};

const OPERATIONS: [&str; 8] = [
    "update",
    "alter",
    "get_with",
    "insert_from",
    "retain",
    "visit",
    "get_or_insert_with",
    "transact",
];
const OWN: u64 = 5;

struct Maps {
    pool: Pool,
    map: Map<str, [u8]>,
    other: Map<u64, u64>,
}

fn key(n: u64) -> String {
    format!("{n:03}")
}

impl Maps {
    fn commit(&self, target: &str, value: u64) {
        let bytes = value.to_be_bytes();
        let mut batch = self.pool.batch();
        match target {
            "own" => batch.put(&self.map, &key(OWN), &bytes).unwrap(),
            "neighbour" => batch.put(&self.map, &key(OWN + 1), &bytes).unwrap(),
            _ => batch.put(&self.other, OWN, value).unwrap(),
        };
        batch.put(&self.other, 9, value).unwrap();
        batch.commit().unwrap();
    }

    /// Runs an operation on the key whose closure commits a batch the first three times it runs.
    fn run(&self, operation: &str, target: &str) {
        let own = key(OWN);
        let mut runs = 0;
        let mut commit = || {
            runs += 1;
            if runs <= 3 {
                self.commit(target, runs);
            }
        };
        match operation {
            "update" => {
                let change = |_: Option<&[u8]>| {
                    commit();
                    b"new".to_vec()
                };
                drop(self.map.update(&own, change).unwrap());
            }
            "alter" => {
                let change = |_: Option<&[u8]>| {
                    commit();
                    None
                };
                drop(self.map.alter(&own, change).unwrap());
            }
            "get_with" => drop(self.map.get_with(&own, |_| commit()).unwrap()),
            "insert_from" => self
                .map
                .insert_from(&own, 3, |out| {
                    commit();
                    out.write_all(b"abc")
                })
                .unwrap(),
            "retain" => drop(
                self.map
                    .retain(|_, _| {
                        commit();
                        true
                    })
                    .unwrap(),
            ),
            "visit" => {
                self.map.iter().visit(|_, _| commit()).unwrap();
            }
            "get_or_insert_with" => {
                self.map.delete("absent").unwrap();
                let make = || {
                    commit();
                    b"made".to_vec()
                };
                self.map.get_or_insert_with("absent", make).unwrap();
            }
            _ => self
                .pool
                .transact(|tx| {
                    let _ = tx.get(&self.map, &own)?;
                    commit();
                    tx.put(&self.map, &own, b"tx")
                })
                .unwrap(),
        }
    }
}

/// Fails if `run` does not end.
fn ends(what: String, run: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let thread = thread::spawn(move || {
        run();
        let _ = done.send(());
    });
    if let Err(mpsc::RecvTimeoutError::Timeout) = is_done.recv_timeout(Duration::from_secs(30)) {
        panic!("{what} hangs");
    }
    thread.join().unwrap_or_else(|_| panic!("{what} failed"));
}

fn open(folder: &tempfile::TempDir, kind: Kind) -> Maps {
    let pool = Pool::open(folder.path().join(kind.name())).unwrap();
    let map = pool.map_with::<str, [u8]>("map", MapOptions::new().kind(kind)).unwrap();
    let other = pool.map("other").unwrap();
    (0..10).for_each(|n| _ = map.put(&key(n), b"value").unwrap());
    Maps { pool, map, other }
}

#[test]
fn closures_commit_batches() {
    let folder = tempfile::tempdir().unwrap();
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        let maps = std::sync::Arc::new(open(&folder, kind));
        for operation in OPERATIONS {
            for target in ["own", "neighbour", "other"] {
                let own = std::sync::Arc::clone(&maps);
                ends(format!("{kind} {operation} {target}"), move || own.run(operation, target));
                assert!(maps.other.get(9).unwrap().is_some());
            }
        }
        maps.pool.verify().unwrap();
    }
}

#[test]
fn two_threads_commit_in_closures_in_each_others_way() {
    let folder = tempfile::tempdir().unwrap();
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        let maps = std::sync::Arc::new(open(&folder, kind));
        for first in OPERATIONS {
            for second in OPERATIONS {
                let own = std::sync::Arc::clone(&maps);
                ends(format!("{kind} {first} beside {second}"), move || {
                    thread::scope(|scope| {
                        for (operation, targets) in
                            [(first, ["own", "other"]), (second, ["own", "neighbour"])]
                        {
                            let maps = &own;
                            scope.spawn(move || {
                                for target in targets {
                                    (0..5).for_each(|_| maps.run(operation, target));
                                }
                            });
                        }
                    });
                });
            }
        }
        maps.pool.verify().unwrap();
    }
}
