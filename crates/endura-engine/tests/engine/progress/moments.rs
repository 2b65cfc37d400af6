//! The time of a checkpoint: what had returned by then is in it. A program that notes when it was told something can say
//! by this what a power loss would take.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use endura::{Map, Pool};
use endura_engine::Checkpoints;

/// More than processors, so that a writer that is let go may run in place of the one who held it.
const WRITERS: u64 = 4;

/// Counts in one entry until it is told to end; when each number was acknowledged.
fn count(map: &Map<u64, u64>, writer: u64, from: u64, ends: &AtomicBool) -> Vec<SystemTime> {
    let mut acknowledged = Vec::new();
    for number in from + 1.. {
        if ends.load(Ordering::Relaxed) {
            break;
        }
        map.put(writer, number).unwrap();
        acknowledged.push(SystemTime::now());
    }
    acknowledged
}

/// The numbers in the checkpoint of a pool.
fn numbers_kept(pool: &Path, copy: &Path) -> Vec<u64> {
    Pool::backup_of_checkpoint(pool, None, copy, |_, _| ControlFlow::Continue(())).unwrap();
    let kept = Pool::options().max_size(64 << 20).recovery_threads(0).open_existing(copy).unwrap();
    let map = kept.map::<u64, u64>("numbers").unwrap();
    let numbers = (0..WRITERS).map(|writer| map.get(writer).unwrap().unwrap()).collect();
    kept.close().unwrap();
    std::fs::remove_file(copy).unwrap();
    let _ = std::fs::remove_file(copy.with_extension("checkpoint"));
    numbers
}

#[test]
fn a_checkpoint_has_what_had_returned_at_its_time() {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let (path, copy) = (folder.path().join("pool"), folder.path().join("copy"));
    let how = Pool::options().checkpoints(Checkpoints::on_demand()).max_size(64 << 20);
    let pool = how.create_new(&path).unwrap();
    let map = pool.map::<u64, u64>("numbers").unwrap();
    for writer in 0..WRITERS {
        map.put(writer, 0).unwrap();
    }
    for round in 0..150 {
        let ends = AtomicBool::new(false);
        let before: Vec<u64> =
            (0..WRITERS).map(|writer| map.get(writer).unwrap().unwrap()).collect();
        let (made, logs) = thread::scope(|scope| {
            let counting = before.iter().zip(0..).map(|(&from, writer)| {
                let (map, ends) = (&map, &ends);
                scope.spawn(move || count(map, writer, from, ends))
            });
            let counting: Vec<_> = counting.collect();
            thread::sleep(Duration::from_millis(1));
            let made = pool.checkpoint().unwrap();
            ends.store(true, Ordering::Relaxed);
            let logs: Vec<_> = counting.into_iter().map(|one| one.join().unwrap()).collect();
            (made, logs)
        });
        let kept = numbers_kept(&path, &copy);
        for ((from, kept), log) in before.into_iter().zip(kept).zip(logs) {
            let next = log.get((kept - from) as usize);
            assert!(
                next.is_none_or(|&next| next > made.at),
                "round {round}: {} returned before {:?} and is not in the checkpoint",
                kept + 1,
                made.at
            );
        }
    }
}
