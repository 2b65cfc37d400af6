//! The listener of a pool's events.

use std::path::Path;

use endura_engine::space::Events;

use super::options::{Listener, PoolOptions};
use crate::Result;

/// Makes the receiver of the events of the pool at `path`: it passes them to the user's listener and to `tracing`.
pub(super) fn events(options: &PoolOptions, path: &Path) -> Result<Events> {
    let listener = options.listener.clone();
    if listener.is_none() && !cfg!(feature = "tracing") {
        return Ok(Events::default());
    }
    #[cfg(feature = "tracing")]
    let path = path.to_owned();
    #[cfg(not(feature = "tracing"))]
    let _ = path;
    Events::to(move |event| {
        #[cfg(feature = "tracing")]
        trace(&path, event);
        if let Some(Listener(listen)) = &listener {
            listen(event);
        }
    })
}

#[cfg(feature = "tracing")]
fn trace(path: &Path, event: &endura_engine::space::Event) {
    use endura_engine::space::{Event, LeakRecoveryState};
    use tracing::{error, info, warn};
    let pool = path.display();
    match *event {
        Event::OpenedUnclean { generation } => {
            info!(target: "endura", %pool, generation, "opened after an unclean end");
        }
        Event::BatchReplayed { operations, took } => {
            info!(target: "endura", %pool, operations, ?took, "batches of the last session completed");
        }
        Event::LeakRecoveryBegan => info!(target: "endura", %pool, "leak recovery began"),
        Event::LeakRecoveryEnded { state: LeakRecoveryState::Failed, .. } => {
            warn!(target: "endura", %pool, "leak recovery given up");
        }
        Event::LeakRecoveryEnded { freed_bytes, .. } => {
            info!(target: "endura", %pool, freed_bytes, "leak recovery ended");
        }
        Event::Grew { file_bytes } => info!(target: "endura", %pool, file_bytes, "grew"),
        Event::ReclaimStalled { waiting_bytes } => {
            warn!(target: "endura", %pool, waiting_bytes, "freed memory waits for a thread that stays inside an operation");
        }
        Event::CheckpointEnded { held, written_bytes, failed_before } => {
            info!(target: "endura", %pool, ?held, written_bytes, failed_before, "checkpoint");
        }
        Event::CheckpointFailed { code, in_a_row } => {
            warn!(target: "endura", %pool, code, in_a_row, "no checkpoint could be made");
        }
        Event::CloseFailed { code } => {
            error!(target: "endura", %pool, code, "closing failed at the last drop");
        }
        Event::CheckpointSlow { took } => {
            warn!(target: "endura", %pool, ?took, "a checkpoint took longer than the interval");
        }
        Event::WritersHeld { held } => warn!(target: "endura", %pool, ?held, "writers were held"),
        Event::Restored { age, written_bytes } => {
            warn!(target: "endura", %pool, ?age, written_bytes, "taken back to the last checkpoint");
        }
        Event::Poisoned => error!(target: "endura", %pool, "poisoned"),
        // An event that has no sentence here yet.
        _ => info!(target: "endura", %pool, ?event),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex, mpsc};
    use std::thread;
    use std::time::{Duration, Instant};

    use endura_engine::space::Event;

    use super::super::pool::Pool;

    /// How long a close waits at most for a listener that does not return.
    const LISTENER_WAIT: Duration = Duration::from_secs(1);

    #[test]
    fn a_pool_that_is_poisoned_says_so_once_and_the_next_open_says_that_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        let (sender, events) = mpsc::channel();
        let options = Pool::options().on_event(move |event| {
            let _ = sender.send(*event);
        });
        let next = || events.recv_timeout(Duration::from_secs(60)).unwrap();
        let pool = options.create_new(&path).unwrap();
        pool.space().poison();
        pool.space().poison();
        assert_eq!(next(), Event::Poisoned);
        drop(pool);
        assert_eq!(next(), Event::CloseFailed { code: "poisoned" });
        let _pool = options.open_existing(&path).unwrap();
        assert_eq!(next(), Event::OpenedUnclean { generation: 2 });
    }

    #[test]
    fn a_close_waits_until_all_events_are_heard_but_not_for_long() {
        let folder = tempfile::tempdir().unwrap();
        let heard = Arc::new(AtomicUsize::new(0));
        let slowly = |pause| {
            let heard = Arc::clone(&heard);
            Pool::options().on_event(move |_| {
                thread::sleep(pause);
                heard.fetch_add(1, Ordering::SeqCst);
            })
        };
        let close_after_ten = |pool: &Pool| {
            (0..10).for_each(|_| pool.space().tell(|| Event::LeakRecoveryBegan));
            let begun = Instant::now();
            pool.close().unwrap();
            begun.elapsed()
        };
        let pool = slowly(Duration::from_millis(10)).create_new(folder.path().join("a")).unwrap();
        close_after_ten(&pool);
        assert!(heard.load(Ordering::SeqCst) >= 10);
        let pool = slowly(Duration::from_secs(60)).create_new(folder.path().join("b")).unwrap();
        assert!(close_after_ten(&pool) < Duration::from_secs(30));
    }

    #[test]
    fn a_listener_that_closes_the_pool_does_not_wait_for_itself() {
        let folder = tempfile::tempdir().unwrap();
        let (give, given) = mpsc::channel::<Pool>();
        let (sender, receiver) = mpsc::channel();
        let given = Mutex::new(given);
        let options = Pool::options().on_event(move |event| {
            if *event == Event::LeakRecoveryBegan {
                let pool = given.lock().unwrap().recv().unwrap();
                let begun = Instant::now();
                pool.close().unwrap();
                let _ = sender.send(begun.elapsed());
            }
        });
        let pool = options.create_new(folder.path().join("pool")).unwrap();
        pool.space().tell(|| Event::LeakRecoveryBegan);
        give.send(pool).unwrap();
        assert!(receiver.recv_timeout(Duration::from_secs(60)).unwrap() < LISTENER_WAIT);
    }

    /// The listener's thread ends with the pool, and drops the listener.
    #[test]
    fn a_listener_goes_with_the_pool() {
        let folder = tempfile::tempdir().unwrap();
        let (sender, events) = mpsc::channel::<()>();
        let pool = Pool::options().on_event(move |_| {
            let _ = sender.send(());
        });
        drop(pool.create_new(folder.path().join("pool")).unwrap());
        drop(pool);
        // Receives the events of the close first.
        let end = loop {
            match events.recv_timeout(Duration::from_secs(60)) {
                Ok(()) => {}
                Err(end) => break end,
            }
        };
        assert_eq!(end, mpsc::RecvTimeoutError::Disconnected);
    }
}
