//! A map that gets another name is the same map, to handles that are open, to writers beside the call, and to the
//! next open after a kill at any moment of it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use endura::{Map, MapOptions, Pool};
use endura_engine::{Error, Kind, Result};

use crate::support::patience::ends;

const LONG: &str =
    "a name that is longer than one line of sixty-four bytes, so that it takes two of them";

fn nbtree(pool: &Pool, name: &str) -> Result<Map<u64, u64>> {
    pool.map_with(name, MapOptions::new().kind(Kind::NbTree))
}

fn names(pool: &Pool) -> Vec<String> {
    pool.maps().unwrap().into_iter().map(|map| map.name).collect()
}

#[test]
fn handles_and_writers_go_on_beside_a_renaming() {
    ends("writers beside a renaming", || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        let pool = Pool::options().max_size(1 << 30).create_new(&path).unwrap();
        let (numbers, more) = (pool.map::<u64, u64>("a").unwrap(), nbtree(&pool, "b").unwrap());
        let bytes = pool.map::<str, str>("c").unwrap();
        let (over, written) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let key = written.fetch_add(1, Ordering::Relaxed);
                    assert_eq!(numbers.insert(key, key).unwrap(), None);
                    assert_eq!(more.insert(key, key).unwrap(), None);
                    bytes.insert(&key.to_string(), "v").unwrap();
                }
            });
            for round in 0..500 {
                for (from, to) in [("a", LONG), ("b", "a"), ("c", "b")] {
                    pool.rename(from, to).unwrap();
                }
                // By its new name it is opened as what it is.
                assert!(
                    matches!(pool.map_with::<u64, u64>("a", MapOptions::new().kind(Kind::FastFair)), Err(Error::WrongKind { name, .. }) if name == "a")
                );
                assert_eq!(nbtree(&pool, "a").unwrap().get(0).unwrap(), more.get(0).unwrap());
                assert_eq!(names(&pool), ["a", LONG, "b"], "{round}");
                for (from, to) in [("b", "c"), ("a", "b"), (LONG, "a")] {
                    pool.rename(from, to).unwrap();
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        pool.rename("a", LONG).unwrap();
        let written = written.into_inner();
        assert_eq!(numbers.approximate_len().unwrap(), written as usize);
        pool.verify().unwrap();
        pool.drop_map(LONG).unwrap();
        assert!(matches!(numbers.get(0), Err(Error::Dropped)));
        pool.close().unwrap();
        let pool = Pool::options().open_existing(&path).unwrap();
        assert_eq!(names(&pool), ["b", "c"]);
        assert_eq!(nbtree(&pool, "b").unwrap().approximate_len().unwrap(), written as usize);
        assert_eq!(pool.map::<str, str>("c").unwrap().approximate_len().unwrap(), written as usize);
    });
}

/// Of a name that is given away, asked for beside that, there is the map or a new one; of two that give one name to
/// two maps, one comes first.
#[test]
fn one_of_two_gets_a_name() {
    ends("two that want one name", || {
        let folder = tempfile::tempdir().unwrap();
        let pool =
            Pool::options().max_size(1 << 30).create_new(folder.path().join("pool")).unwrap();
        for round in 0..200 {
            nbtree(&pool, "a").unwrap().insert(1, round).unwrap();
            nbtree(&pool, "b").unwrap().insert(1, round).unwrap();
            let won = std::thread::scope(|threads| {
                let one = threads.spawn(|| pool.rename("a", "c"));
                let other = threads.spawn(|| pool.rename("b", "c"));
                [one, other].map(|thread| thread.join().unwrap())
            });
            assert!(
                matches!(
                    won,
                    [Ok(()), Err(Error::MapExists { .. })] | [Err(Error::MapExists { .. }), Ok(())]
                ),
                "{won:?}"
            );
            assert_eq!(nbtree(&pool, "c").unwrap().get(1).unwrap(), Some(round));
            assert_eq!(names(&pool).len(), 2);
            pool.drop_map("c").unwrap();
        }
        pool.verify().unwrap();
    });
}

const ROLE: &str = "ENDURA_TEST_RENAMES";
const NAMES: [&str; 3] = ["a", LONG, "another"];
const ENTRIES: u64 = 1_000;

/// Gives a map one name after the other until it is killed; no test by itself.
#[test]
fn role_of_who_renames() {
    let Ok(path) = std::env::var(ROLE) else { return };
    let pool = Pool::options().open_existing(path).unwrap();
    let at = NAMES.iter().position(|name| names(&pool).iter().any(|found| found == name)).unwrap();
    println!("\nready");
    for i in at.. {
        pool.rename(NAMES[i % 3], NAMES[(i + 1) % 3]).unwrap();
    }
}

#[test]
fn a_killed_renaming_leaves_one_name_and_all_entries() {
    ends("killed renamings", || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        let pool = Pool::options().max_size(1 << 30).create_new(&path).unwrap();
        let map = nbtree(&pool, "a").unwrap();
        (0..ENTRIES).for_each(|key| assert_eq!(map.insert(key, !key).unwrap(), None));
        pool.close().unwrap();
        drop((map, pool));
        let mut met = [0; NAMES.len()];
        for round in 0..40 {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "lifetime::renames::role_of_who_renames", "--nocapture"])
                .env(ROLE, &path)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
            std::thread::sleep(Duration::from_micros(50 * (round % 20)));
            child.kill().unwrap();
            child.wait().unwrap();
            // A reader changes nothing, a writer completes what was begun: both find the same.
            let reader = Pool::options().read_only(true).open_existing(&path).unwrap();
            let found = names(&reader);
            drop(reader);
            let pool = Pool::options().open_existing(&path).unwrap();
            assert_eq!(names(&pool), found);
            let [name] = &found[..] else { panic!("{found:?}") };
            met[NAMES.iter().position(|known| known == name).unwrap()] += 1;
            let map = nbtree(&pool, name).unwrap();
            assert!((0..ENTRIES).all(|key| map.get(key).unwrap() == Some(!key)));
            pool.verify().unwrap();
        }
        assert!(met.iter().filter(|&&times| times > 0).count() > 1, "{met:?}");
    });
}
