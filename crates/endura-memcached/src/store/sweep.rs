//! The thread that removes dead items. Clients never see dead items; the sweep only frees their space.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use endura::Result;

use super::items::Store;
use crate::clock::now;

/// The pause between two turns.
const EACH: Duration = Duration::from_secs(1);
/// The entries of a piece. After each piece the sweep checks whether the server ends.
const PIECE: usize = 1_000;
/// The pieces of a turn in which few items are dead.
const FEW: usize = 20;
/// The pieces of a turn in which a tenth of the items or more are dead.
const MANY: usize = 200;

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Sweeper(Option<(Sender<()>, JoinHandle<()>)>);

impl Sweeper {
    /// Starts the thread.
    pub(crate) fn start(store: &Arc<Store>) -> std::io::Result<Self> {
        let (alive, end) = mpsc::channel();
        let store = Arc::downgrade(store);
        let work = move || sweep(&store, &end);
        let thread = thread::Builder::new().name("endura-sweep".into()).spawn(work)?;
        Ok(Self(Some((alive, thread))))
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        if let Some((alive, thread)) = self.0.take() {
            drop(alive);
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

fn sweep(store: &Weak<Store>, end: &Receiver<()>) {
    let mut behind = None;
    while end.recv_timeout(EACH) == Err(RecvTimeoutError::Timeout) {
        let Some(store) = store.upgrade() else { return };
        // If the pool fails, the replies to clients say so. The next turn starts at the first entry again.
        behind = turn(&store, behind.take(), now(), end).unwrap_or(None);
    }
}

/// Sweeps the entries after a key. Returns the key after which the next turn starts, or none for the start of the map. A
/// full pool is swept as a whole, because clients wait for space.
pub(super) fn turn(
    store: &Store,
    mut behind: Option<Vec<u8>>,
    now: u32,
    end: &Receiver<()>,
) -> Result<Option<Vec<u8>>> {
    store.flush_if_due(now)?;
    let is_short = store.was_short();
    if is_short {
        behind = None;
    }
    for piece in 1.. {
        let (next, removed) = store.sweep(behind.as_deref(), PIECE, now)?;
        behind = next;
        let enough = if removed >= PIECE as u64 / 10 { MANY } else { FEW };
        let is_over = behind.is_none() || !is_short && piece >= enough;
        if is_over || end.try_recv() == Err(TryRecvError::Disconnected) {
            break;
        }
    }
    Ok(behind)
}
