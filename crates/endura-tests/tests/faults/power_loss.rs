//! A power loss takes a pool back to its last checkpoint, and nothing else does.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use endura::{Checkpoints, Error, Pool, PoolOptions};
use tempfile::TempDir;

use crate::process::*;

const PAGE: u64 = 4096;

pub(crate) fn on_demand() -> PoolOptions {
    Pool::options().checkpoints(Checkpoints::on_demand())
}

pub(crate) fn checkpoint_of(path: &Path) -> PathBuf {
    path.with_file_name("pool.checkpoint")
}

/// Puts keys `from..to` in, says so, makes a checkpoint, and puts in a thousand more.
#[test]
fn role_checkpoint_and_stay() {
    let Some(path) = role_path() else { return };
    let pool = Pool::options().open(path).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    let words = pool.map::<str, str>("words").unwrap();
    let from = map.len().unwrap() as u64;
    for key in from..from + 3000 {
        map.put(key, !key).unwrap();
        words.put(&format!("key {key}"), &"x".repeat(key as usize % 3000)).unwrap();
    }
    pool.checkpoint().unwrap();
    for key in from + 3000..from + 4000 {
        map.put(key, 1).unwrap();
        words.put(&format!("key {}", key - 2000), "later").unwrap();
    }
    pool.map::<u64, u64>("later").unwrap().put(1, 1).unwrap();
    say("checkpoint");
    wait_to_be_killed();
}

pub(crate) fn kill_after_checkpoint(path: &Path) {
    let mut writer = Process::start(role("role_checkpoint_and_stay", path));
    assert_eq!(writer.hear(), "checkpoint");
    writer.kill();
}

/// What a power loss leaves on a disk: another boot, and pages of any time. (Here: garbage, which is worse.)
pub(crate) fn lose_power(path: &Path, seed: u64) {
    patch(path, |superblock| superblock.boot.id = [0xEE; 16]);
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let pages = file.metadata().unwrap().len() / PAGE;
    for page in 2..pages {
        if next() % 3 == 0 {
            file.write_all_at(&[next() as u8; PAGE as usize], page * PAGE).unwrap();
        }
    }
    match seed % 3 {
        0 => file.set_len((pages / 2) * PAGE + 100).unwrap(),
        1 => file.set_len((pages + 64) * PAGE).unwrap(),
        _ => {}
    }
}

/// Has what was put in before so many checkpoints, and nothing after the last.
pub(crate) fn expect_checkpoint(pool: &Pool, keys: u64) {
    pool.verify().unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    let found: Vec<_> = map.iter().map(|entry| entry.unwrap()).collect();
    assert_eq!(found.len() as u64, keys);
    assert!(found.iter().enumerate().all(|(i, entry)| *entry == (i as u64, !(i as u64))));
    let words = pool.map::<str, str>("words").unwrap();
    assert_eq!(words.len().unwrap() as u64, keys);
    for key in 0..keys {
        let value = words.get(&format!("key {key}")).unwrap().unwrap();
        assert_eq!(value.len(), key as usize % 3000);
    }
    assert!(!pool.maps().unwrap().iter().any(|map| map.name == "later"));
}

#[test]
fn a_torn_pool_goes_back_to_its_last_checkpoint() {
    for folder in folders() {
        let path = folder.path().join("pool");
        on_demand().create_new(&path).unwrap().close().unwrap();
        for round in 1..=4 {
            kill_after_checkpoint(&path);
            lose_power(&path, round);
            let refused = Pool::options().restore(false).open_existing(&path);
            assert!(matches!(refused, Err(Error::NeedsRestore { .. })), "{refused:?}");
            let refused = Pool::options().read_only(true).open_existing(&path);
            assert!(refused.is_err(), "{refused:?}");
            let pool = Pool::open(&path).unwrap();
            let stats = pool.stats().unwrap();
            assert!(stats.restored.is_some() && !stats.clean_open);
            assert!(stats.checkpoints.unwrap().newest.is_some());
            expect_checkpoint(&pool, 3000 * round);
            // It can be written, and closed.
            let extra = pool.map::<u64, u64>("extra").unwrap();
            (0..1000).for_each(|key| _ = extra.put(key, key).unwrap());
            pool.drop_map("extra").unwrap();
            pool.close().unwrap();
            let pool = Pool::open(&path).unwrap();
            let stats = pool.stats().unwrap();
            assert!(stats.restored.is_none() && stats.clean_open);
            expect_checkpoint(&pool, 3000 * round);
        }
    }
}

/// The session after a close has made no checkpoint itself.
#[test]
fn a_close_is_never_lost() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let pool = on_demand().create_new(&path).unwrap();
        let map = pool.map::<u64, u64>("map").unwrap();
        for key in 0..5000 {
            map.put(key, !key).unwrap();
        }
        pool.close().unwrap();
        let pool = Pool::open(&path).unwrap();
        assert_eq!(pool.map::<u64, u64>("map").unwrap().len().unwrap(), 5000);
        pool.close().unwrap();
        let mut writer = Process::start(role("role_insert_and_stay", &path));
        assert_eq!(writer.hear(), "inserted");
        writer.kill();
        lose_power(&path, 2);
        let pool = Pool::open(&path).unwrap();
        let map = pool.map::<u64, u64>("map").unwrap();
        assert_eq!(map.len().unwrap(), 5000);
        assert!((0..5000).all(|key| map.get(key).unwrap() == Some(!key)));
        pool.verify().unwrap();
    }
}

#[test]
fn a_missing_pool_is_made_from_its_checkpoint() {
    for folder in folders() {
        let path = folder.path().join("pool");
        on_demand().create_new(&path).unwrap().close().unwrap();
        kill_after_checkpoint(&path);
        fs::remove_file(&path).unwrap();
        let refused = Pool::options().create_new(&path);
        assert!(matches!(refused, Err(Error::BadCheckpoint { .. })), "{refused:?}");
        assert!(Pool::options().restore(false).open_existing(&path).is_err());
        let pool = Pool::open(&path).unwrap();
        assert!(pool.stats().unwrap().restored.is_some());
        expect_checkpoint(&pool, 3000);
        pool.close().unwrap();
    }
}

#[test]
fn checkpoints_of_others_are_refused_by_name() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let (old, kept) = (folder.path().join("old"), folder.path().join("kept"));
        on_demand().create_new(&path).unwrap().close().unwrap();
        fs::copy(&path, &old).unwrap();
        fs::copy(checkpoint_of(&path), &kept).unwrap();
        kill_after_checkpoint(&path);
        Pool::open(&path).unwrap().close().unwrap();
        // The pool is put back, and its checkpoint is not; and the other way round.
        let today = folder.path().join("today");
        fs::copy(&path, &today).unwrap();
        fs::copy(&old, &path).unwrap();
        let refused = unchanged(&path, || Pool::open(&path).unwrap_err());
        assert!(refused.to_string().contains("different points in time"), "{refused}");
        fs::copy(&today, &path).unwrap();
        fs::copy(&kept, checkpoint_of(&path)).unwrap();
        let refused = unchanged(&path, || Pool::open(&path).unwrap_err());
        assert!(refused.to_string().contains("different points in time"), "{refused}");
        // Of another pool.
        let other = folder.path().join("other");
        on_demand().create_new(&other).unwrap().close().unwrap();
        fs::rename(folder.path().join("other.checkpoint"), checkpoint_of(&path)).unwrap();
        let refused = unchanged(&path, || Pool::open(&path).unwrap_err());
        assert!(refused.to_string().contains("another pool"), "{refused}");
        // Without it, a new one is made.
        fs::remove_file(checkpoint_of(&path)).unwrap();
        let pool = Pool::open(&path).unwrap();
        assert!(pool.stats().unwrap().checkpoints.unwrap().newest.is_none());
        pool.checkpoint().unwrap();
        assert!(pool.stats().unwrap().checkpoints.unwrap().newest.is_some());
    }
}

#[test]
fn a_backup_of_a_live_pool_opens_anywhere() {
    for folder in folders() {
        for how in [Checkpoints::on_demand(), Checkpoints::off()] {
            let path = folder.path().join("pool");
            let _ = fs::remove_file(&path);
            let _ = fs::remove_file(checkpoint_of(&path));
            let pool = Pool::options().checkpoints(how.clone()).create_new(&path).unwrap();
            let map = pool.map::<str, u64>("map").unwrap();
            for key in 0..5000 {
                map.put(&key.to_string(), key).unwrap();
            }
            let [to, moved] = ["backup", "moved"].map(|name| folder.path().join(name));
            let mut calls = 0;
            let cancelled = pool.backup_with(&to, |done, all| {
                calls += 1;
                assert!(done <= all);
                std::ops::ControlFlow::Break(())
            });
            assert!(matches!(cancelled, Err(Error::Io { .. })) && calls == 1, "{cancelled:?}");
            assert!(!to.exists());
            pool.backup(&to).unwrap();
            map.put("later", 1).unwrap();
            assert!(pool.backup(&to).is_err(), "something is there");
            fs::copy(&to, &moved).unwrap();
            let copy = Pool::open(&moved).unwrap();
            assert!(copy.stats().unwrap().clean_open);
            let found = copy.map::<str, u64>("map").unwrap();
            assert_eq!(found.len().unwrap(), 5000);
            assert!((0..5000).all(|key| found.get(&key.to_string()).unwrap() == Some(key)));
            found.put("later", 2).unwrap();
            copy.verify().unwrap();
            copy.close().unwrap();
            pool.close().unwrap();
            for path in [&to, &moved] {
                fs::remove_file(path).unwrap();
            }
            let _ = fs::remove_file(folder.path().join("moved.checkpoint"));
        }
    }
}

/// While the interval passes, the thread makes checkpoints of what was written.
#[test]
fn checkpoints_come_by_themselves() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let how = Checkpoints::every(Duration::from_millis(50));
        let pool = Pool::options().checkpoints(how).create_new(&path).unwrap();
        let map = pool.map::<u64, u64>("map").unwrap();
        let mut last = None;
        for key in 0..3 {
            map.put(key, key).unwrap();
            let begun = std::time::Instant::now();
            loop {
                let found = pool.stats().unwrap().checkpoints.unwrap();
                if found.last.is_some() && found.last != last && found.changed_bytes == 0 {
                    last = found.last;
                    break;
                }
                assert!(begun.elapsed() < Duration::from_secs(60), "{found:?}");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        pool.close().unwrap();
        // The pool keeps it, and it can be taken away.
        let pool = Pool::open(&path).unwrap();
        let every = pool.stats().unwrap().checkpoints.unwrap().every;
        assert_eq!(every, Some(Duration::from_millis(50)));
        pool.close().unwrap();
        assert!(checkpoint_of(&path).exists());
        let pool = Pool::options().checkpoints(Checkpoints::off()).open(&path).unwrap();
        assert!(pool.stats().unwrap().checkpoints.is_none() && !checkpoint_of(&path).exists());
        pool.close().unwrap();
        assert!(Pool::open(&path).unwrap().stats().unwrap().checkpoints.is_none());
    }
}

/// A pool in memory, with its checkpoints on the disk, comes back after a reboot.
#[test]
fn a_pool_in_memory_comes_back_from_the_disk() {
    let [disk, memory] = &folders()[..] else { return };
    let path = memory.path().join("pool");
    let how = || Checkpoints::on_demand().in_file(disk.path().join("kept"));
    let pool = Pool::options().checkpoints(how()).open(&path).unwrap();
    pool.map::<u64, u64>("map").unwrap().put(7, 8).unwrap();
    pool.close().unwrap();
    let refused = Pool::open(&path).unwrap_err();
    assert!(refused.to_string().contains("Checkpoints::in_file"), "{refused}");
    fs::remove_file(&path).unwrap();
    let pool = Pool::options().checkpoints(how()).open(&path).unwrap();
    assert_eq!(pool.map::<u64, u64>("map").unwrap().get(7).unwrap(), Some(8));
}

/// Neither takes the place of the checkpoint of the other, whichever makes one first.
#[test]
fn two_pools_do_not_share_a_file() {
    for folder in folders() {
        let how = || Checkpoints::on_demand().in_file(folder.path().join("kept"));
        let [a, b] = ["a", "b"].map(|name| {
            let pool =
                Pool::options().checkpoints(how()).create_new(folder.path().join(name)).unwrap();
            pool.map::<str, u64>(name).unwrap().put(name, 1).unwrap();
            pool
        });
        a.checkpoint().unwrap();
        let refused = b.checkpoint();
        assert!(matches!(refused, Err(Error::BadCheckpoint { .. })), "{refused:?}");
        a.close().unwrap();
        let refused = b.checkpoint();
        assert!(matches!(refused, Err(Error::BadCheckpoint { .. })), "{refused:?}");
        expect_close_without_checkpoint(&b, &folder);
        fs::remove_file(folder.path().join("a")).unwrap();
        let a = Pool::options().checkpoints(how()).open(folder.path().join("a")).unwrap();
        assert_eq!(a.map::<str, u64>("a").unwrap().get("a").unwrap(), Some(1));
    }
}

/// A close whose checkpoint is refused says so: by its error where nothing else outlives the machine, else beside its success.
fn expect_close_without_checkpoint(pool: &Pool, folder: &TempDir) {
    let told = match pool.close() {
        Ok(closed) => closed.checkpoint_error,
        Err(error) => {
            assert!(folder.path().starts_with("/dev/shm"), "{error:?}");
            Some(error)
        }
    };
    assert!(matches!(told, Some(Error::BadCheckpoint { .. })), "{told:?}");
}

#[test]
fn a_checkpoint_that_is_removed_is_made_anew() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let pool = on_demand().create_new(&path).unwrap();
        let map = pool.map::<u64, u64>("map").unwrap();
        map.put(1, 1).unwrap();
        pool.checkpoint().unwrap();
        fs::remove_file(checkpoint_of(&path)).unwrap();
        pool.checkpoint().unwrap();
        assert!(checkpoint_of(&path).exists());
        // What somebody puts there is not theirs to lose.
        fs::remove_file(checkpoint_of(&path)).unwrap();
        fs::write(checkpoint_of(&path), "precious").unwrap();
        let refused = pool.checkpoint();
        assert!(matches!(refused, Err(Error::BadCheckpoint { .. })), "{refused:?}");
        expect_close_without_checkpoint(&pool, &folder);
        assert_eq!(fs::read(checkpoint_of(&path)).unwrap(), b"precious");
    }
}

/// An open without checkpoints takes the file away, but not if it fails.
#[test]
fn an_open_that_fails_keeps_the_checkpoint() {
    for folder in folders() {
        let path = folder.path().join("pool");
        on_demand().create_new(&path).unwrap().close().unwrap();
        let whole = fs::read(&path).unwrap();
        // The length is right, and the directory is not.
        let file = File::options().write(true).open(&path).unwrap();
        file.write_all_at(&[0xA5; 5 * PAGE as usize], 3 * PAGE).unwrap();
        let refused = unchanged(&path, || plain().open(&path));
        assert!(refused.is_err(), "{refused:?}");
        assert!(checkpoint_of(&path).exists());
        fs::write(&path, whole).unwrap();
        plain().open(&path).unwrap().close().unwrap();
        assert!(!checkpoint_of(&path).exists());
    }
}

/// A copy of an open pool is refused; a pool whose mark did not reach the disk is no copy.
#[test]
fn a_mark_that_a_power_loss_took_is_no_doubt() {
    for folder in folders() {
        let path = folder.path().join("pool");
        on_demand().create_new(&path).unwrap().close().unwrap();
        kill_after_checkpoint(&path);
        patch(&path, |superblock| superblock.session[0] ^= 1);
        if superblock(&path).is_marked {
            let refused = Pool::open(&path);
            assert!(matches!(refused, Err(Error::NeedsRestore { .. })), "{refused:?}");
        }
        // The mark is that of another session now.
        patch(&path, |superblock| superblock.session[0] ^= 1);
        let session = superblock(&path).session;
        assert_ne!(session, [0; 16]);
        clear_mark(&path);
        lose_power(&path, 1);
        let pool = Pool::open(&path).unwrap();
        assert!(pool.stats().unwrap().restored.is_some());
        expect_checkpoint(&pool, 3000);
    }
}

fn clear_mark(path: &Path) {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: both names end with a zero. It fails where there is no mark.
    let _ = unsafe { libc::removexattr(path.as_ptr(), c"user.endura.session".as_ptr()) };
}

/// The file that a checkpoint is to come in is the parent's, and has no name yet.
#[test]
fn role_fork_beside_a_checkpoint() {
    let Some(path) = role_path() else { return };
    // A relative path counts from where the pool was opened.
    std::env::set_current_dir(path.parent().unwrap()).unwrap();
    let how = Checkpoints::on_demand().in_file("kept");
    let pool = Pool::options().checkpoints(how).create_new(&path).unwrap();
    std::env::set_current_dir("/").unwrap();
    let kept = path.with_file_name("kept");
    let names = || fs::read_dir(path.parent().unwrap()).unwrap().count();
    // It has no room, and does not get its name.
    limit_files(4096);
    assert!(pool.checkpoint().is_err());
    assert_eq!(names(), 1);
    let inner = std::mem::ManuallyDrop::new(pool.clone());
    // SAFETY: the child drops its handle and leaves by `_exit`; the parent waits for it.
    let status = unsafe {
        let child = libc::fork();
        if child == 0 {
            let is_refused = matches!(pool.checkpoint(), Err(Error::Forked));
            drop(pool);
            drop(std::mem::ManuallyDrop::into_inner(inner));
            libc::_exit(i32::from(!is_refused));
        }
        let mut status = 0;
        libc::waitpid(child, &raw mut status, 0);
        status
    };
    assert_eq!(status, 0);
    limit_files(libc::RLIM_INFINITY);
    pool.checkpoint().unwrap();
    assert!(kept.is_file() && names() == 2);
    drop(std::mem::ManuallyDrop::into_inner(inner));
    drop(pool);
    say("as it should be");
}

/// How long files of this process may become.
fn limit_files(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the call reads two numbers.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
}

#[test]
fn a_forked_child_leaves_the_checkpoint_alone() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let mut process = Process::start(role("role_fork_beside_a_checkpoint", &path));
        assert_eq!(process.hear(), "as it should be");
        process.finish();
        assert!(superblock(&path).clean);
    }
}

/// One makes it; the others find it open, or open it later.
#[test]
fn several_open_a_missing_pool_at_once() {
    for folder in folders() {
        let path = folder.path().join("pool");
        let pool = on_demand().create_new(&path).unwrap();
        pool.map::<u64, u64>("map").unwrap().put(1, 2).unwrap();
        pool.close().unwrap();
        for _ in 0..5 {
            fs::remove_file(&path).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let patience = Duration::from_secs(20);
                        let begun = std::time::Instant::now();
                        let pool = loop {
                            match Pool::options().lock_timeout(patience).open(&path) {
                                Err(Error::Locked) if begun.elapsed() < patience => {}
                                opened => break opened.unwrap(),
                            }
                        };
                        assert_eq!(pool.map::<u64, u64>("map").unwrap().get(1).unwrap(), Some(2));
                        pool.close().unwrap();
                    });
                }
            });
        }
    }
}
