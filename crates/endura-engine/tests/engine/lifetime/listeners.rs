//! A listener that panics: its thread ends, and the pool goes on as if nobody listened.

use std::sync::mpsc;
use std::time::Duration;

use endura::Pool;

use crate::support::patience::{PATIENCE, ends};

#[test]
fn a_listener_that_panics_hears_no_more_and_the_pool_goes_on() {
    ends("a pool whose listener panicked", || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        let (sender, calls) = mpsc::channel();
        let options = Pool::options().on_event(move |_| {
            let _ = sender.send(());
            panic!("the listener's own");
        });
        let pool = options.create_new(&path).unwrap();
        let map = pool.map::<u64, [u8]>("map").unwrap();
        map.insert(0, b"one").unwrap();
        assert_eq!(calls.recv_timeout(PATIENCE), Ok(()), "the growth of the first page");

        // It grows many times more, beyond what the queue of events holds.
        for key in 1..40_000 {
            map.insert(key, &[7; 100]).unwrap();
        }
        map.extend((0..2_000).map(|key| (key, &[8; 2_000][..]))).unwrap();
        assert_eq!(map.len().unwrap(), 40_000);
        pool.verify().unwrap();
        assert_eq!(
            calls.recv_timeout(Duration::from_millis(50)),
            Err(mpsc::RecvTimeoutError::Timeout)
        );

        drop(map);
        pool.close().unwrap();
        let pool = Pool::options().open_existing(&path).unwrap();
        assert_eq!(pool.map::<u64, [u8]>("map").unwrap().len().unwrap(), 40_000);
    });
}
