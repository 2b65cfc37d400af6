//! How long a checkpoint keeps writers waiting that change pages faster than it can write them, and what memory it takes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use endura::{Checkpoints, Pool};

use crate::process::*;

/// Values of 64 KiB: 256 MiB, four times what a hold copies.
const VALUES: u64 = 4 << 10;
const VALUE: usize = 64 << 10;
/// What a hold copies at most.
const MOST: u64 = 64 << 20;
/// A hold, and one operation of a writer that is slowed down, take a tenth of a second at most. The rest is for a machine
/// that has other things to do.
const LONG: Duration = Duration::from_secs(1);

/// Ends the writers, also when the test fails.
struct Stop<'e>(&'e AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn fast_writers_are_slowed_down_and_not_held() {
    for folder in folders() {
        let how = Pool::options().checkpoints(Checkpoints::on_demand());
        let pool = how.create_new(folder.path().join("pool")).unwrap();
        let map = pool.map::<u64, [u8]>("map").unwrap();
        let value = vec![1; VALUE];
        (0..VALUES).for_each(|key| _ = map.put(key, &value).unwrap());
        let ends = AtomicBool::new(false);
        let write = |first: u64| {
            let (mut longest, mut value) = (Duration::ZERO, vec![0; VALUE]);
            for i in (first..).step_by(2).take_while(|_| !ends.load(Ordering::Relaxed)) {
                value[..8].copy_from_slice(&i.to_le_bytes());
                let begun = Instant::now();
                map.put(i % VALUES, &value).unwrap();
                longest = longest.max(begun.elapsed());
            }
            longest
        };
        std::thread::scope(|scope| {
            let writers = [0, 1].map(|first| scope.spawn(move || write(first)));
            let stop = Stop(&ends);
            let changed = || pool.stats().unwrap().checkpoints.unwrap().changed_bytes;
            for round in 0..3 {
                while changed() < 2 * MOST {
                    std::thread::sleep(Duration::from_millis(1));
                }
                let made = pool.checkpoint().unwrap();
                assert!(made.copied_bytes <= MOST, "round {round}: {made:?}");
                assert!(made.held < LONG, "round {round}: {made:?}");
            }
            drop(stop);
            for writer in writers {
                let longest = writer.join().unwrap();
                assert!(longest < LONG, "an operation took {longest:?}");
            }
        });
        drop(map);
        pool.close().unwrap();
    }
}
