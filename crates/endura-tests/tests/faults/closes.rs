//! A close whose checkpoint cannot be made, and who hears of that.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use endura::{Checkpoints, Error, Event, Pool, PoolOptions};

use crate::process::*;

fn kept_in(file: &Path) -> PoolOptions {
    Pool::options().checkpoints(Checkpoints::on_demand().in_file(file))
}

fn put(pool: &Pool, key: u64) {
    pool.map::<u64, u64>("map").unwrap().put(key, key).unwrap();
}

/// The options with a listener that sends what it hears of checkpoints and closes.
fn heard(options: &PoolOptions) -> (PoolOptions, Receiver<Event>) {
    let (sender, events) = channel();
    let options = options.clone().on_event(move |event| {
        if let Event::CheckpointEnded { .. }
        | Event::CheckpointFailed { .. }
        | Event::CloseFailed { .. } = event
        {
            let _ = sender.send(*event);
        }
    });
    (options, events)
}

/// Until the listener is gone, which is after the pool.
fn rest(events: &Receiver<Event>) -> Vec<Event> {
    std::iter::from_fn(|| events.recv_timeout(Duration::from_secs(60)).ok()).collect()
}

/// In memory nothing but the checkpoint outlives the machine: without it the close has failed. The pool is closed all the same.
#[test]
fn a_close_without_its_checkpoint_fails_where_the_pool_is_not_kept() {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        return left_out("there is no /dev/shm");
    };
    let (path, disk) = (memory.path().join("pool"), memory.path().join("disk"));
    let options = kept_in(&disk.join("kept"));
    let pool = options.create_new(&path).unwrap();
    if pool.stats().unwrap().filesystem != "tmpfs" {
        return left_out("/dev/shm is no tmpfs");
    }
    put(&pool, 1);
    assert!(
        matches!(pool.close(), Err(Error::Io { .. })),
        "the folder of the checkpoint is not there"
    );
    assert!(matches!(pool.close(), Err(Error::Closed { .. })));
    fs::create_dir(&disk).unwrap();
    let pool = options.open_existing(&path).unwrap();
    assert!(pool.stats().unwrap().clean_open);
    let closed = pool.close().unwrap();
    assert!(closed.checkpoint.is_some() && closed.checkpoint_error.is_none());

    // Dropped without a close: a listener hears it.
    fs::rename(&disk, memory.path().join("gone")).unwrap();
    let (options, events) = heard(&options);
    let pool = options.open_existing(&path).unwrap();
    drop((pool, options));
    let heard = rest(&events);
    assert!(
        matches!(
            heard[..],
            [Event::CheckpointFailed { in_a_row: 1, .. }, Event::CloseFailed { code: "io" }]
        ),
        "{heard:?}"
    );
}

#[test]
fn a_close_without_its_checkpoint_warns_where_the_pool_is_kept() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (path, disk) = (folder.path().join("pool"), folder.path().join("disk"));
    let pool = kept_in(&disk.join("kept")).create_new(&path).unwrap();
    if pool.stats().unwrap().filesystem == "tmpfs" {
        return left_out("the folder of the tests is in memory");
    }
    put(&pool, 1);
    let closed = pool.close().unwrap();
    assert!(closed.checkpoint.is_none());
    assert!(matches!(closed.checkpoint_error, Some(Error::Io { .. })), "{closed:?}");
    // A place where there is none is not recorded: an open need not name it. One where there is one is.
    let plain = Pool::options().checkpoints(Checkpoints::as_left());
    assert!(plain.open_existing(&path).unwrap().close().unwrap().checkpoint.is_some());
    fs::create_dir(&disk).unwrap();
    kept_in(&disk.join("kept")).open_existing(&path).unwrap().close().unwrap();
    let pool = kept_in(&folder.path().join("no/folder")).open_existing(&path).unwrap();
    assert!(pool.close().unwrap().checkpoint_error.is_some());
    let refused = plain.open_existing(&path).unwrap_err();
    assert!(refused.to_string().contains("given at each open"), "{refused}");
    let plain = Pool::options().checkpoints(Checkpoints::off()).create_new(folder.path().join("2"));
    let closed = plain.unwrap().close().unwrap();
    assert!(closed.checkpoint.is_none() && closed.checkpoint_error.is_none());
}

#[test]
fn failures_are_counted_until_a_success_and_the_last_one_stays_known() {
    for folder in folders() {
        let (path, disk) = (folder.path().join("pool"), folder.path().join("disk"));
        let (options, events) = heard(&kept_in(&disk.join("kept")));
        let pool = options.create_new(&path).unwrap();
        let known = || pool.stats().unwrap().checkpoints.unwrap();
        assert_eq!((known().failures_in_a_row, known().last_failure), (0, None));
        put(&pool, 1);
        for _ in 0..3 {
            pool.checkpoint().unwrap_err();
        }
        let failure = known().last_failure.unwrap();
        assert_eq!((known().failures_in_a_row, failure.code), (3, "io"));
        assert!(failure.reason.contains("disk") && failure.at.elapsed().is_ok(), "{failure:?}");
        fs::create_dir(&disk).unwrap();
        pool.checkpoint().unwrap();
        assert_eq!((known().failures_in_a_row, known().last_failure), (0, Some(failure)));
        pool.close().unwrap();
        drop((pool, options));
        let told: Vec<_> = rest(&events)
            .into_iter()
            .map(|event| match event {
                Event::CheckpointFailed { in_a_row, code: "io" } => (false, in_a_row),
                Event::CheckpointEnded { failed_before, .. } => (true, failed_before),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(told, [(false, 1), (false, 2), (false, 3), (true, 3), (true, 0)]);
    }
}

/// The end of a close makes the file shorter. A round of another thread may still read pages there, so the close waits for
/// it. A backup calls the program while it has the turn of rounds: so the test stops one there.
#[test]
fn a_close_waits_for_a_round_of_another_thread() {
    for folder in folders() {
        let (path, to) = (folder.path().join("pool"), folder.path().join("copy"));
        let on_demand = || Pool::options().checkpoints(Checkpoints::on_demand());
        let pool = on_demand().create_new(&path).unwrap();
        (0..1_000).for_each(|key| put(&pool, key));
        let large = pool.map::<u64, [u8]>("large").unwrap();
        let value = vec![7; 1 << 20];
        (0..20).for_each(|key| _ = large.put(key, &value).unwrap());
        // What is free at the end is cut off.
        (2..20).for_each(|key| _ = large.delete(key).unwrap());
        let (inside, is_inside) = channel();
        let (go_on, may_go_on) = channel();
        let length = || fs::metadata(&path).unwrap().len();
        let before = length();
        let (made, closed) = std::thread::scope(|scope| {
            let made = scope.spawn(|| {
                let mut first = Some((inside, may_go_on));
                pool.backup_with(&to, |_, _| {
                    if let Some((inside, may_go_on)) = first.take() {
                        inside.send(()).unwrap();
                        may_go_on.recv().unwrap();
                    }
                    ControlFlow::Continue(())
                })
            });
            is_inside.recv().unwrap();
            let closed = scope.spawn(|| pool.close());
            // A close that did not wait would be at its end by then.
            std::thread::sleep(Duration::from_millis(300));
            let went_on = closed.is_finished() || length() < before;
            go_on.send(()).unwrap();
            assert!(!went_on, "the close did not wait");
            (made.join().unwrap(), closed.join().unwrap())
        });
        assert!(matches!(made, Ok(()) | Err(Error::Closed { .. })), "{made:?}");
        assert!(closed.unwrap().checkpoint_error.is_none());
        assert!(length() < before);
        let pool = on_demand().open_existing(&path).unwrap();
        assert!(pool.restored().is_none());
        assert_eq!(pool.map::<u64, u64>("map").unwrap().len().unwrap(), 1_000);
        pool.close().unwrap();
    }
}
