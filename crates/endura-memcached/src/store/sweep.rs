//! The thread that removes items which are gone.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use endura::Result;

use super::counters::{Counter, Counters};
use super::items::Store;
use crate::clock::now;

/// How often it looks.
const EACH: Duration = Duration::from_secs(1);
/// Entries that it looks at in one piece.
const PIECE: usize = 1_000;
/// Pieces in a second while a tenth of what it finds is gone.
const PIECES: u32 = 100;

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Sweeper(Option<(Sender<()>, JoinHandle<()>)>);

impl Sweeper {
    /// Starts it.
    pub(crate) fn start(store: &Arc<Store>, counters: Arc<Counters>) -> std::io::Result<Self> {
        let (alive, end) = mpsc::channel();
        let store = Arc::downgrade(store);
        let work = move || {
            let mut behind = None;
            while end.recv_timeout(EACH) == Err(RecvTimeoutError::Timeout) {
                // A pool that fails says so to the clients.
                let Some(Ok(next)) = sweep(&store, behind.take(), &counters) else { continue };
                behind = next;
            }
        };
        let thread = thread::Builder::new().name("endura-sweep".into()).spawn(work)?;
        Ok(Self(Some((alive, thread))))
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        if let Some((alive, thread)) = self.0.take() {
            drop(alive);
            // Where it panicked, that was told.
            let _ = thread.join();
        }
    }
}

/// One second's work, from behind a key on; where the next one begins.
fn sweep(
    store: &Weak<Store>,
    mut behind: Option<Vec<u8>>,
    counters: &Counters,
) -> Option<Result<Option<Vec<u8>>>> {
    let store = store.upgrade()?;
    let now = now();
    let mut work = || {
        store.flush_if_due(now)?;
        for _ in 0..PIECES {
            let (next, removed) = store.sweep(behind.as_deref(), PIECE, now)?;
            counters.add(Counter::Reclaimed, removed);
            behind = next;
            if behind.is_none() || removed < PIECE as u64 / 10 {
                break;
            }
        }
        Ok(behind.take())
    };
    Some(work())
}
