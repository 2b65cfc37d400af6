//! Checkpoints that were forged: their hashes are right, and what they say was never written.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use endura::{Checkpoints, Error, Pool, PoolOptions};
use xxhash_rust::xxh3::xxh3_64;

use crate::process::*;

const SLOT: usize = 4096;
/// More than an honest checkpoint of such a pool takes by far, and less than a forged one took.
const PATIENCE: Duration = Duration::from_secs(10);

fn on_demand() -> PoolOptions {
    Pool::options().checkpoints(Checkpoints::on_demand())
}

/// Changes the newest root, and makes its hash right.
fn forge(bytes: &mut [u8], change: impl FnOnce(&mut [u8])) {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let at = if number(24) > number(SLOT + 24) { 0 } else { SLOT };
    let root = &mut bytes[at..at + SLOT];
    change(root);
    let hash = xxh3_64(&root[..SLOT - 8]);
    root[SLOT - 8..].copy_from_slice(&hash.to_le_bytes());
}

fn set(root: &mut [u8], at: usize, bytes: &[u8]) {
    root[at..at + bytes.len()].copy_from_slice(bytes);
}

type Forgery = (&'static str, fn(&mut [u8]), u64);

/// Pages are at 32, the number of runs at 40, the slot of the first run at 320, and its entries behind. The last number is how long
/// the file is made, if that is more than it was.
const FORGERIES: [Forgery; 9] = [
    ("no pages", |root| set(root, 32, &0_u64.to_le_bytes()), 0),
    ("three pages", |root| set(root, 32, &3_u64.to_le_bytes()), 0),
    ("2^32 - 1 pages", |root| set(root, 32, &u64::from(u32::MAX).to_le_bytes()), 0),
    ("2^32 pages", |root| set(root, 32, &(1_u64 << 32).to_le_bytes()), 0),
    ("2^28 pages", |root| set(root, 32, &(1_u64 << 28).to_le_bytes()), 0),
    ("no runs", |root| set(root, 40, &0_u64.to_le_bytes()), 0),
    ("a run at 2^31", |root| set(root, 320, &(1_u32 << 31).to_le_bytes()), 0),
    (
        "a run at 2^31 of holes",
        |root| set(root, 320, &(1_u32 << 31).to_le_bytes()),
        (1 << 43) + 8192,
    ),
    ("2^31 entries", |root| set(root, 324, &(1_u32 << 31).to_le_bytes()), 0),
];

fn expect_whole(pool: &Pool, what: &str) {
    pool.verify().unwrap();
    assert_eq!(pool.map::<u64, u64>("map").unwrap().len().unwrap(), 3000, "{what}");
}

/// Writes the checkpoint, and leaves a hole up to the length.
fn write(path: &Path, bytes: &[u8], length: u64) -> bool {
    fs::write(path, bytes).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(length.max(bytes.len() as u64)).is_ok()
}

/// A pool that was torn, one that is missing, and a copy. Each is what the checkpoint was, or is refused, soon, and a torn
/// pool stays as it was.
#[test]
fn a_forged_checkpoint_costs_neither_the_pool_nor_the_machine() {
    for folder in folders() {
        let (path, kept) = (folder.path().join("pool"), folder.path().join("pool.checkpoint"));
        let copy = folder.path().join("copy");
        let pool = on_demand().create_new(&path).unwrap();
        let map = pool.map::<u64, u64>("map").unwrap();
        (0..3000).for_each(|key| _ = map.put(key, !key).unwrap());
        pool.close().unwrap();
        drop((pool, map));
        patch(&path, |superblock| superblock.clean = false);
        patch(&path, |superblock| superblock.boot.id = [0xEE; 16]);
        let pool = File::options().write(true).open(&path).unwrap();
        pool.write_all_at(&[0x5A; SLOT], 5 * SLOT as u64).unwrap();
        drop(pool);
        let (torn, good) = (fs::read(&path).unwrap(), fs::read(&kept).unwrap());
        for (what, change, length) in FORGERIES {
            let mut bytes = good.clone();
            forge(&mut bytes, change);
            if !write(&kept, &bytes, length) {
                continue;
            }
            let begun = Instant::now();
            let copied =
                Pool::backup_of_checkpoint(&path, None, &copy, |_, _| ControlFlow::Continue(()));
            match copied {
                Ok(_) => {
                    expect_whole(&Pool::open(&copy).unwrap(), what);
                    let _ = fs::remove_file(folder.path().join("copy.checkpoint"));
                    fs::remove_file(&copy).unwrap();
                }
                Err(error) => {
                    assert!(matches!(error, Error::BadCheckpoint { .. }), "{what}: {error}")
                }
            }
            let aside = folder.path().join("aside");
            for is_missing in [false, true] {
                if is_missing {
                    fs::rename(&path, &aside).unwrap();
                }
                match Pool::open(&path) {
                    Ok(pool) => expect_whole(&pool, what),
                    Err(error) => {
                        assert!(matches!(error, Error::BadCheckpoint { .. }), "{what}: {error}");
                        let found = fs::read(&path).ok();
                        assert!(found == (!is_missing).then(|| torn.clone()), "{what}");
                    }
                }
                if is_missing {
                    fs::rename(&aside, &path).unwrap();
                }
                // The same file.
                fs::write(&path, &torn).unwrap();
                write(&kept, &bytes, length);
            }
            assert!(begun.elapsed() < PATIENCE, "{what}: {:?}", begun.elapsed());
        }
        fs::write(&kept, &good).unwrap();
        expect_whole(&Pool::open(&path).unwrap(), "as it was");
    }
}
