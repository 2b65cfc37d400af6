//! What is in the files of an open pool stays what the session has left there, or the session ends without believing it.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use endura::{Checkpoints, Error, Pool};

use crate::places::expect_refusal;
use crate::power_loss::*;
use crate::process::*;

/// Where a pool has the number of its newest checkpoint.
const NEWEST_NUMBER: u64 = 512;
pub(crate) const NUMBER: std::ops::Range<usize> = 512..520;

pub(crate) fn word(path: &Path) -> [u8; 8] {
    let mut word = [0; 8];
    File::open(path).unwrap().read_exact_at(&mut word, NEWEST_NUMBER).unwrap();
    word
}

pub(crate) fn number(word: [u8; 8]) -> u64 {
    u64::from_le_bytes(word) >> 25
}

/// What a round says before it writes its root: this number is the newest, or the next one is.
pub(crate) fn under_way(number: u64) -> [u8; 8] {
    let what: u64 = number << 1 | 1;
    // CRC32C.
    let sum = what.to_le_bytes().iter().fold(!0_u32, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| {
            sum >> 1 ^ if sum & 1 != 0 { 0x82F6_3B78 } else { 0 }
        })
    });
    (what << 24 | u64::from(!sum & 0x00FF_FFFF)).to_le_bytes()
}

pub(crate) fn set_word(path: &Path, word: [u8; 8]) {
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(&word, NEWEST_NUMBER).unwrap();
}

fn fill(pool: &Pool, keys: std::ops::Range<u64>) {
    let map = pool.map::<u64, u64>("map").unwrap();
    keys.for_each(|key| _ = map.put(key, key).unwrap());
}

fn len(pool: &Pool) -> usize {
    pool.verify().unwrap();
    pool.map::<u64, u64>("map").unwrap().len().unwrap()
}

/// As `cp` or `rsync --inplace` do, which keep the file.
fn write_over(path: &Path, bytes: &[u8]) {
    File::options().write(true).open(path).unwrap().write_all_at(bytes, 0).unwrap();
}

/// A copy of an earlier session, and one of this session from before its last checkpoint.
#[test]
fn what_is_written_over_an_open_pool_comes_into_no_checkpoint() {
    for folder in folders() {
        for (of_this_session, rounds) in [(false, true), (false, false), (true, true)] {
            let path = folder.path().join("pool");
            let kept = checkpoint_of(&path);
            let _ = [&path, &kept].map(fs::remove_file);
            on_demand().create_new(&path).unwrap().close().unwrap();
            let mut older = fs::read(&path).unwrap();
            let pool = Pool::open(&path).unwrap();
            fill(&pool, 0..1000);
            if of_this_session {
                older = fs::read(&path).unwrap();
            }
            pool.checkpoint().unwrap();
            fill(&pool, 1000..2000);
            let good = fs::read(&kept).unwrap();
            write_over(&path, &older);
            let told = if of_this_session { "an older copy of the pool" } else { "another file" };
            if rounds {
                expect_refusal(pool.checkpoint(), told);
            }
            let found = fs::read(&path).unwrap();
            let closed = pool.close();
            assert!(matches!(closed, Err(Error::Corrupt { .. })), "{closed:?}");
            if rounds {
                assert!(fs::read(&path).unwrap() == found, "a close wrote to what is not its own");
            } else {
                expect_refusal(closed, told);
            }
            assert!(fs::read(&kept).unwrap() == good);
            // What is there now is not believed either, and the checkpoint has all that it had.
            let opened = Pool::open(&path);
            assert!(opened.is_err(), "{opened:?}");
            fs::rename(&path, folder.path().join("moved")).unwrap();
            assert_eq!(len(&Pool::open(&path).unwrap()), 1000);
        }
    }
}

#[test]
fn role_close_a_pool_that_was_cut() {
    let Some(path) = role_path() else { return };
    let pool = Pool::open(&path).unwrap();
    fill(&pool, 0..1000);
    pool.checkpoint().unwrap();
    File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    expect_refusal(pool.checkpoint(), "made shorter");
    expect_refusal(pool.close(), "made shorter");
    say("as it should be");
}

#[test]
fn a_pool_that_was_cut_is_not_closed() {
    for folder in folders() {
        let path = folder.path().join("pool");
        on_demand().create_new(&path).unwrap().close().unwrap();
        let mut process = Process::start(role("role_close_a_pool_that_was_cut", &path));
        assert_eq!(process.hear(), "as it should be");
        process.finish();
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
        expect_refusal(Pool::open(&path), "move this file away");
        fs::remove_file(&path).unwrap();
        assert_eq!(len(&Pool::open(&path).unwrap()), 1000);
    }
}

#[test]
fn role_two_checkpoints_and_stay() {
    let Some(path) = role_path() else { return };
    let pool = Pool::open(path).unwrap();
    for round in 0..2 {
        fill(&pool, 1000 * round..1000 * (round + 1));
        pool.checkpoint().unwrap();
        say("checkpoint");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
    }
}

/// A pool that was killed after two checkpoints, with what its files and its number were after the first.
struct Killed {
    pool: Vec<u8>,
    kept: Vec<u8>,
    word: [u8; 8],
}

fn kill_after_two(path: &Path) -> Killed {
    let mut command = role("role_two_checkpoints_and_stay", path);
    command.stdin(std::process::Stdio::piped());
    let mut writer = Process::start(command);
    assert_eq!(writer.hear(), "checkpoint");
    let [pool, kept] = [path, &checkpoint_of(path)].map(|path| fs::read(path).unwrap());
    let word = word(path);
    writer.tell();
    assert_eq!(writer.hear(), "checkpoint");
    writer.kill();
    Killed { pool, kept, word }
}

/// An older checkpoint of the same session that was put back is not gone back to, and nothing comes over it.
#[test]
fn an_older_checkpoint_of_the_same_session_is_refused() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let kept = checkpoint_of(&path);
        on_demand().create_new(&path).unwrap().close().unwrap();
        let killed = kill_after_two(&path);
        let newest = fs::read(&kept).unwrap();
        for loses_power in [false, true] {
            if loses_power {
                lose_power(&path, 4);
            }
            fs::write(&kept, &killed.kept).unwrap();
            unchanged(&path, || {
                unchanged(&kept, || {
                    expect_refusal(Pool::open(&path), "has made a newer checkpoint")
                });
            });
            let restored = Pool::restore(&path, None, false);
            assert!(restored.is_err(), "{restored:?}");
        }
        fs::write(&kept, newest).unwrap();
        assert_eq!(len(&Pool::open(&path).unwrap()), 2000);
    }
}

/// The number in the pool may be behind: a kill or a power loss came before it was written.
#[test]
fn a_number_that_was_not_written_is_no_doubt() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let kept = checkpoint_of(&path);
        on_demand().create_new(&path).unwrap().close().unwrap();
        let killed = kill_after_two(&path);
        // Killed between the checkpoint and its number: nothing is missing.
        assert_eq!(number(word(&path)), number(killed.word) + 1);
        set_word(&path, under_way(number(killed.word)));
        let files = [&path, &kept].map(|path| fs::read(path).unwrap());
        assert_eq!(len(&Pool::open(&path).unwrap()), 2000);
        // Again, with the power lost as well, which may leave the page of the number as it was.
        for left in [under_way(number(killed.word)), killed.word, [0; 8]] {
            [&path, &kept].iter().zip(&files).for_each(|(path, bytes)| {
                fs::write(path, bytes).unwrap();
            });
            set_word(&path, left);
            lose_power(&path, 7);
            let pool = Pool::open(&path).unwrap();
            assert!(pool.stats().unwrap().restored.is_some());
            assert_eq!(len(&pool), 2000);
        }
    }
}

/// By a copy from after the first checkpoint.
#[test]
fn a_killed_pool_that_was_put_back_is_refused() {
    for folder in folders() {
        let path = folder.path().join("pool");
        on_demand().create_new(&path).unwrap().close().unwrap();
        let killed = kill_after_two(&path);
        write_over(&path, &killed.pool);
        unchanged(&path, || expect_refusal(Pool::open(&path), "different points in time"));
        fs::rename(&path, folder.path().join("moved")).unwrap();
        assert_eq!(len(&Pool::open(&path).unwrap()), 2000);
    }
}

/// Programs that look at times see that the pool has changed, also where stores to a mapping leave them.
#[test]
fn a_round_and_a_close_change_the_time_of_the_file() {
    for folder in folders() {
        for how in [Checkpoints::on_demand(), Checkpoints::off()] {
            let path = folder.path().join("pool");
            let _ = [&path, &checkpoint_of(&path)].map(fs::remove_file);
            let pool = Pool::options().checkpoints(how).create_new(&path).unwrap();
            fill(&pool, 0..1);
            let changed = || {
                let facts = fs::metadata(&path).unwrap();
                (facts.mtime(), facts.mtime_nsec())
            };
            let mut before = changed();
            let mut expect_later = || {
                assert!(changed() > before);
                before = changed();
                std::thread::sleep(Duration::from_millis(20));
            };
            std::thread::sleep(Duration::from_millis(20));
            fill(&pool, 0..1);
            if pool.checkpoint().is_ok() {
                expect_later();
            }
            pool.close().unwrap();
            expect_later();
        }
    }
}
