//! How old the newest checkpoint of a pool becomes while programs have it open.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use endura::{Checkpoints, Event, Pool, PoolOptions};

use crate::process::*;

const EVERY: Duration = Duration::from_millis(900);

fn each(every: Duration) -> PoolOptions {
    Pool::options().checkpoints(Checkpoints::every(every))
}

/// A session that writes, says so, and is killed.
#[test]
fn role_write_until_killed() {
    let Some(path) = role_path() else { return };
    let pool = Pool::options().open_existing(path).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    map.put(map.len().unwrap() as u64, 1).unwrap();
    say("written");
    wait_to_be_killed();
}

fn age_of_newest(path: &Path) -> Duration {
    let pool = Pool::options().read_only(true).open_existing(path).unwrap();
    pool.stats().unwrap().checkpoints.unwrap().newest.unwrap().elapsed().unwrap_or_default()
}

/// Each is shorter than the interval, and than the second in which a program may end without a checkpoint.
#[test]
fn sessions_that_are_killed_soon_do_not_go_on_without_a_checkpoint() {
    let folder = &folders()[0];
    let path = folder.path().join("pool");
    let pool = each(EVERY).create_new(&path).unwrap();
    pool.map::<u64, u64>("map").unwrap();
    pool.close().unwrap();
    let (mut made, mut newest) = (0, None);
    for _ in 0..45 {
        let mut session = Process::start(role("role_write_until_killed", &path));
        assert_eq!(session.hear(), "written");
        std::thread::sleep(Duration::from_millis(100));
        session.kill();
        let at = Instant::now() - age_of_newest(&path);
        let is_newer = newest.is_some_and(|newest| at > newest + Duration::from_millis(10));
        made += u32::from(is_newer);
        newest = Some(at);
    }
    // 4.5 s and the starts of 45 processes, which are four intervals at least.
    assert!(made >= 2, "{made} checkpoints in 45 sessions");
}

/// Pages of this process that had to wait for the disk until now.
fn major_faults() -> i64 {
    // SAFETY: all of it is numbers, which the call fills in.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) }, 0);
    usage.ru_majflt
}

/// Says how often a first checkpoint of a pool that is not in memory waited for one page.
#[test]
fn role_first_checkpoint() {
    let Some(path) = role_path() else { return };
    let pool = Pool::options().open_existing(path).unwrap();
    let before = major_faults();
    pool.checkpoint().unwrap();
    say(&(major_faults() - before).to_string());
    pool.close().unwrap();
}

/// A page at a time, through a mapping, takes minutes for what a disk reads in seconds.
#[test]
fn the_first_round_reads_the_pool_in_the_order_of_the_disk() {
    const VALUES: u64 = 400;
    let folder = &folders()[0];
    let (path, kept) = (folder.path().join("pool"), folder.path().join("pool.checkpoint"));
    let pool = Pool::options().checkpoints(Checkpoints::on_demand()).create_new(&path).unwrap();
    if pool.stats().unwrap().filesystem == "tmpfs" {
        return left_out("the folder of the tests is in memory");
    }
    let map = pool.map::<u64, [u8]>("map").unwrap();
    (0..VALUES).for_each(|key| _ = map.put(key, &[key as u8; 64 << 10]).unwrap());
    drop(map);
    pool.close().unwrap();
    std::fs::remove_file(&kept).unwrap();
    let file = File::open(&path).unwrap();
    // SAFETY: the call reads nothing of this process.
    let dropped = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    assert_eq!(dropped, 0);
    let mut first = Process::start(role("role_first_checkpoint", &path));
    let faults: i64 = first.hear().parse().unwrap();
    first.finish();
    let pages = VALUES as i64 * 16;
    assert!(faults < pages / 20, "{faults} of {pages} pages were waited for");
}

#[test]
fn a_round_that_takes_longer_than_the_interval_is_told() {
    let folder = &folders()[0];
    let (sender, events) = channel();
    let options = each(Duration::from_millis(1)).on_event(move |event| {
        if let Event::CheckpointSlow { took } = event {
            let _ = sender.send(*took);
        }
    });
    let pool = options.create_new(folder.path().join("pool")).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    let begun = Instant::now();
    let took = loop {
        map.put(1, 1).unwrap();
        match events.try_recv() {
            Ok(took) => break took,
            // On a disk that syncs in less than that.
            Err(_) if begun.elapsed() > Duration::from_secs(20) => {
                return left_out("no round takes a millisecond here");
            }
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    assert!(took > Duration::from_millis(1));
    let made = pool.checkpoint().unwrap();
    let stats = pool.stats().unwrap();
    let last = stats.checkpoints.unwrap().last.unwrap();
    assert!(last.took >= last.held && made.took >= made.held);
    let is_told = stats.warnings.iter().any(|what| what.contains("longer than the interval"));
    assert_eq!(is_told, last.took > Duration::from_millis(1), "{last:?}");
}
