//! Pages that the disk refused: the kernel tells it once, calls the pages written, and may read the old ones back.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use endura::{Checkpoints, Error, Pool};

use crate::load::*;
use crate::mounts::*;
use crate::process::*;

/// The kernel writes the file back by itself, and nobody asks how that went.
fn write_back(path: &Path) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let how = libc::SYNC_FILE_RANGE_WRITE;
    // SAFETY: the descriptor is open, and the call takes numbers.
    let _ = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, how) };
    std::thread::sleep(std::time::Duration::from_millis(300));
}

/// What memory pressure does: the clean pages go.
fn take_pages() {
    let _ = run("sync; echo 3 > /proc/sys/vm/drop_caches");
}

fn fill(pool: &Pool, keys: std::ops::Range<u64>) -> endura::Result<()> {
    let map = pool.map::<u64, u64>("map")?;
    keys.into_iter().try_for_each(|key| map.put(key, !key).map(drop))
}

fn count(pool: &Pool) -> usize {
    pool.verify().unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    assert!(map.iter().all(|entry| entry.is_ok_and(|(key, value)| value == !key)));
    map.len().unwrap()
}

/// In a session that goes on: no checkpoint has pages that were read back old, and the next open knows.
fn in_a_session(kind: &str) -> Option<()> {
    let (volume, disk) = Volume::on_disk_that_fills(kind, "")?;
    let path = volume.path().join("pool");
    let options = Pool::options().checkpoints(Checkpoints::on_demand());
    let pool = options.create_new(&path).unwrap();
    fill(&pool, 0..5_000).unwrap();
    pool.checkpoint().unwrap();
    run(&format!("sync {}", path.display())).unwrap();
    fill(&pool, 5_000..60_000).unwrap();
    disk.fill();
    write_back(&path);
    std::fs::remove_file(disk.path().join("filler")).unwrap();
    let refused = pool.checkpoint();
    assert!(matches!(refused, Err(Error::Io { .. })), "{kind}: {refused:?}");
    assert!(matches!(fill(&pool, 0..1), Err(Error::Poisoned)), "{kind}");
    assert!(matches!(pool.close(), Err(Error::Poisoned)), "{kind}");
    drop(pool);
    // A reader does not take for whole what a writer would not.
    let reading = options.clone().read_only(true).open_existing(&path);
    assert!(matches!(reading, Err(Error::NeedsRestore { .. })), "{kind}: {reading:?}");
    let pool = options.open_existing(&path).unwrap();
    let restored = pool.restored().unwrap();
    assert!(restored.reason.is_some_and(|reason| reason.contains("refused")), "{restored:?}");
    assert!(restored.kept.as_ref().is_some_and(|kept| kept.exists()), "{restored:?}");
    assert_eq!(count(&pool), 5_000);
    pool.close().unwrap();
    Some(())
}

/// After a close that failed, and after a kill that nobody saw fail: no later session says that all is well.
fn after_a_session(kind: &str, closes: bool, has_checkpoints: bool) -> Option<()> {
    let (mut volume, disk) = Volume::on_disk_that_fills(kind, "")?;
    let path = volume.path().join("pool");
    let how = if has_checkpoints { Checkpoints::on_demand() } else { Checkpoints::off() };
    let options = Pool::options().checkpoints(how);
    let pool = options.create_new(&path).unwrap();
    fill(&pool, 0..5_000).unwrap();
    pool.close().unwrap();
    drop(pool);
    let mut writer = Process::start(role("role_fill_and_end", &path));
    assert_eq!(writer.hear(), "filled");
    disk.fill();
    if closes {
        std::fs::write(signal_of(&path), "").unwrap();
        assert_eq!(writer.hear(), "not closed");
    } else {
        write_back(&path);
    }
    writer.kill();
    let _ = std::fs::remove_file(signal_of(&path));
    std::fs::remove_file(disk.path().join("filler")).unwrap();
    let at = format!("{kind}, closes: {closes}, checkpoints: {has_checkpoints}");
    // Where it cannot write its journal, ext4 goes read-only, and so it does when it hears of that later.
    let _ = run(&format!("touch {0}; sync -f {0}; touch {0}", volume.path().display()));
    let is_writable = std::fs::OpenOptions::new().append(true).open(&path).is_ok();
    if !is_writable {
        volume.unmount();
        let _ = run(&format!("fsck.ext4 -fy {}", volume.device().display()));
        volume.mount();
    }
    for round in 0..2 {
        match options.open_existing(&path) {
            Ok(pool) if has_checkpoints => {
                assert_eq!(pool.restored().is_some(), round == 0, "{at}");
                assert_eq!(count(&pool), 5_000, "{at}");
                pool.close().unwrap();
                drop(pool);
                take_pages();
                volume.unmount();
                volume.mount();
            }
            Err(Error::NeedsRestore { .. }) if !has_checkpoints => {}
            other => panic!("{at}, {round}: {other:?}"),
        }
    }
    if !has_checkpoints && is_writable {
        // It can be accepted: all that is read is then written to the disk again. Pages that memory pressure (or another test)
        // has taken meanwhile are read back old, and that is told.
        let pool = match options.clone().accept_unclean(true).open_existing(&path) {
            Err(Error::Corrupt { .. }) => return Some(()),
            accepted => accepted.unwrap(),
        };
        let found = count(&pool);
        pool.close().unwrap();
        drop(pool);
        take_pages();
        volume.unmount();
        volume.mount();
        let pool = options.open_existing(&path).unwrap();
        assert_eq!(count(&pool), found, "{at}");
    }
    Some(())
}

#[test]
fn role_fill_and_end() {
    let Some(path) = role_path() else { return };
    let pool = Pool::open(&path).unwrap();
    fill(&pool, 5_000..60_000).unwrap();
    say("filled");
    while !signal_of(&path).exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    say(if pool.close().is_err() { "not closed" } else { "closed" });
    wait_to_be_killed();
}

#[test]
fn role_refused_pages() {
    if role_path().is_none() {
        return;
    }
    let all = || {
        for kind in ["ext4", "xfs"] {
            in_a_session(kind)?;
            for (closes, has_checkpoints) in
                [(true, false), (true, true), (false, false), (false, true)]
            {
                after_a_session(kind, closes, has_checkpoints)?;
            }
        }
        Some(())
    };
    if all().is_some() {
        say("as it should be");
    }
}

#[test]
fn pages_that_the_disk_refused_are_not_forgotten() {
    with_own_mounts("role_refused_pages");
}
