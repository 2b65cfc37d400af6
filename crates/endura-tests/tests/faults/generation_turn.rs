//! F20. Lock words keep 20 bits of the generation. When these start over, locks that were left in
//! an earlier turn must not look like locks of this one: a writer would wait for them for ever.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use endura::{Error, Kind, MapOptions, Pool};

use crate::process::*;

/// Sessions in a turn.
const TURN: u64 = 1 << 20;

/// The maps that the sessions at the end of a turn write to.
const KINDS: [Kind; 3] = [Kind::FastFair, Kind::NbTree, Kind::Roart];

/// Writes `value` to every third key of a map of each kind, and so leaves lock words of its session.
fn write_to_all(pool: &Pool, value: u64) {
    for kind in KINDS {
        let map = pool.map_with::<u64, u64>(kind.name(), MapOptions::new().kind(kind)).unwrap();
        (0..5_000)
            .filter(|key| key % 3 == value % 3)
            .for_each(|key| _ = map.put(key, value).unwrap());
    }
    // Lock words of another layout of nodes.
    let of_kind = MapOptions::new().kind(Kind::FastFair);
    let map = pool.map_with::<str, u64>("strings", of_kind).unwrap();
    (0..5_000)
        .filter(|key| key % 3 == value % 3)
        .for_each(|key| _ = map.put(&key.to_string(), value).unwrap());
}

#[test]
fn role_write_at_the_end_of_a_turn() {
    let Some(path) = role_path() else { return };
    let pool = plain().open_existing(path).unwrap();
    write_to_all(&pool, pool.stats().unwrap().generation);
    say("written");
    wait_to_be_killed();
}

/// The last session of a turn ends with a power loss, and the first one of the next turn is to accept what it left: with
/// the lock words of all sessions of the old turn.
#[test]
fn a_pool_is_accepted_at_the_turn() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed_pool(&folder);
    patch(&path, |superblock| superblock.generation = TURN - 4);
    for generation in [TURN - 3, TURN - 2] {
        let pool = plain().open_existing(&path).unwrap();
        assert_eq!(pool.stats().unwrap().generation, generation);
        write_to_all(&pool, generation);
        pool.close().unwrap();
    }
    let mut writer = Process::start(role("role_write_at_the_end_of_a_turn", &path));
    assert_eq!(writer.hear(), "written");
    writer.kill();
    patch(&path, |superblock| superblock.boot.id = [0xEE; 16]);
    assert!(matches!(plain().open_existing(&path), Err(Error::NeedsRestore { .. })));
    let reading = plain().accept_unclean(true).read_only(true).open_existing(&path);
    assert!(matches!(reading, Err(Error::NeedsRecovery)), "{reading:?}");
    let pool = plain().accept_unclean(true).open_existing(&path).unwrap();
    assert_eq!(pool.stats().unwrap().generation, TURN);
    pool.verify().unwrap();
    for kind in KINDS {
        let map = pool.map::<u64, u64>(kind.name()).unwrap();
        for key in 0..5_000 {
            let last = (TURN - 3..TURN).find(|generation| key % 3 == generation % 3);
            assert_eq!(map.get(key).unwrap(), last, "{kind}: {key}");
        }
    }
    write_to_all(&pool, TURN);
    pool.close().unwrap();
    plain().open_existing(&path).unwrap().verify().unwrap();
}

fn check_and_write(path: &Path, generation: u64) {
    let pool = Pool::options().open_existing(path).unwrap();
    assert_eq!(pool.stats().unwrap().generation, generation);
    pool.verify().unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    for key in 0..5_000 {
        assert!(map.insert(key, generation).unwrap().is_some(), "{key}");
    }
    pool.close().unwrap();
}

#[test]
fn locks_of_an_earlier_turn_are_void() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("turn.endura");
    let pool = Pool::options().create_new(&path).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    (0..5_000).for_each(|key| assert_eq!(map.insert(key, 0).unwrap(), None));
    drop(map);
    pool.close().unwrap();

    // A leaf, as a session of the same 20 bits would have left it when it was killed: locked.
    let locked = first_node(&path);
    write_word(&path, locked, 1);
    patch(&path, |superblock| superblock.generation = TURN - 1);
    let refused = Pool::options().read_only(true).open_existing(&path);
    assert!(matches!(refused, Err(Error::NeedsRecovery)), "{refused:?}");
    check_and_write(&path, TURN);
    check_and_write(&path, TURN + 1);
    Pool::options().read_only(true).open_existing(&path).unwrap().verify().unwrap();
}

/// Where the first leaf of the first map is: the child of record 0, down from the root.
fn first_node(path: &Path) -> u64 {
    let mut word = read_word(path, 16384 + 16);
    while word >> 48 > 0 {
        let child = read_word(path, (word & ((1 << 48) - 1)) + 72);
        word = child | ((word >> 48) - 1) << 48;
    }
    word
}

fn read_word(path: &Path, at: u64) -> u64 {
    let mut bytes = [0; 8];
    OpenOptions::new().read(true).open(path).unwrap().read_exact_at(&mut bytes, at).unwrap();
    u64::from_le_bytes(bytes)
}

fn write_word(path: &Path, at: u64, word: u64) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&word.to_le_bytes(), at).unwrap();
}
