//! F20. Lock words keep 20 bits of the generation. When these start over, locks that were left in
//! an earlier turn must not look like locks of this one: a writer would wait for them for ever.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use endura::{Error, Pool};

use crate::process::patch;

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
    const TURN: u64 = 1 << 20;
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
