//! Events of a pool.
//!
//! The thread that reports an event is inside an operation, and may hold a lock. So it only puts the event into a
//! queue. If there is a listener, a separate thread takes the events out of the queue and calls it.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use crate::{Error, Result};

/// The most events in the queue; further ones are lost.
const QUEUE: usize = 1024;
/// How long a close waits for the listener, which may itself be waiting for the closing thread.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// The pause before the next attempt to put a message into a full queue.
const PAUSE: Duration = Duration::from_millis(1);

/// The phase of a leak recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeakRecoveryState {
    /// There is nothing to recover after the last session, or this session is read-only.
    NotNeeded,
    /// The leak recovery has not begun.
    Pending,
    /// The leak recovery finds out what is in use.
    Marking,
    /// The leak recovery waits for operations that began before all was marked.
    Waiting,
    /// The leak recovery frees what is not in use.
    Sweeping,
    /// The leak recovery has ended: every byte is in use, free, or waits for a grace period.
    Complete,
    /// The leak recovery has met damage, or a map of a kind that this build does not know, and was given up. Only the
    /// stranded space is lost by that.
    Failed,
}

/// Something that happened to an open pool; see `PoolOptions::on_event`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The session before this one did not close the pool: its process was killed, or the machine went down, and the pool is
    /// whole. (A pool that was taken back to its checkpoint is reported by [`Restored`](Self::Restored).)
    OpenedUnclean {
        /// How many times the pool was opened for writing, including this time.
        generation: u64,
    },
    /// The open has completed the batches that the process before this one had committed and not applied.
    BatchReplayed {
        /// How many changes the batches had.
        operations: usize,
        /// How long that took.
        took: Duration,
    },
    /// The search for the space that an unclean end has stranded began.
    LeakRecoveryBegan,
    /// The search for stranded space ended.
    LeakRecoveryEnded {
        /// [`Complete`](LeakRecoveryState::Complete), or [`Failed`](LeakRecoveryState::Failed): the stranded space then
        /// stays stranded for this session.
        state: LeakRecoveryState,
        /// Bytes that the search freed.
        freed_bytes: u64,
    },
    /// The file became longer.
    Grew {
        /// The new length of the file in bytes.
        file_bytes: u64,
    },
    /// An operation ran out of space while freed memory waits for a thread that stays inside another operation.
    ReclaimStalled {
        /// Bytes of freed memory that wait.
        waiting_bytes: u64,
    },
    /// A checkpoint was made.
    CheckpointEnded {
        /// How long writers were held.
        held: Duration,
        /// Bytes that were written.
        written_bytes: u64,
        /// Attempts that failed since the last success: more than 0 for the first success after a failure.
        failed_before: u32,
    },
    /// A checkpoint could not be made. The previous checkpoint stays, and the pool tries again.
    /// [`CheckpointStats`](crate::CheckpointStats) has the reason in a sentence while the pool is open.
    CheckpointFailed {
        /// [`Error::code`] of the reason.
        code: &'static str,
        /// Attempts that failed since the last success, including this one: 1 for the first failure.
        in_a_row: u32,
    },
    /// The last handle was dropped without `Pool::close`, and closing the pool failed.
    CloseFailed {
        /// [`Error::code`] of what `close` would have returned.
        code: &'static str,
    },
    /// A checkpoint took longer than the interval between two. A power loss may cost more than the interval: also the
    /// time that a checkpoint takes.
    CheckpointSlow {
        /// How long it took.
        took: Duration,
    },
    /// Writers were held for more than 20 ms, because many pages had changed.
    WritersHeld {
        /// How long writers were held.
        held: Duration,
    },
    /// A power loss had torn the pool, and the open restored it from its last checkpoint.
    Restored {
        /// How long ago that checkpoint was made.
        age: Duration,
        /// Bytes that were written.
        written_bytes: u64,
    },
    /// No operation begins any more: one panicked under a lock, the system failed, or damage was found.
    Poisoned,
}

/// Where events go; nowhere by default.
#[derive(Debug, Clone, Default)]
pub struct Events(Option<Queue>);

#[derive(Debug, Clone)]
struct Queue {
    sender: SyncSender<Message>,
    /// The thread that calls the listener.
    thread: ThreadId,
}

#[derive(Debug)]
enum Message {
    Event(Event),
    /// The receiver gets a message when the listener has returned from all events before this one.
    AllBefore(SyncSender<()>),
}

impl Events {
    /// Starts a thread that calls `listener` with all events, until the pool no longer exists.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the thread cannot be started.
    pub fn to(listener: impl Fn(&Event) + Send + 'static) -> Result<Self> {
        let (sender, receiver) = sync_channel(QUEUE);
        let thread = thread::Builder::new().name("endura-events".to_owned());
        let spawned = thread.spawn(move || call_with_all(&receiver, &listener));
        let thread = spawned
            .map_err(|error| Error::io("starting the thread of `on_event`", error))?
            .thread()
            .id();
        Ok(Self(Some(Queue { sender, thread })))
    }

    /// Reports an event without waiting. If the listener is far behind, the event is lost.
    #[inline]
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if let Some(queue) = &self.0 {
            let _ = queue.sender.try_send(Message::Event(event()));
        }
    }

    /// Waits until the listener has returned from all events that were reported before, for a second at the most.
    /// Returns at once if the listener itself calls this function.
    pub(crate) fn wait_for_listener(&self) {
        let Some(queue) = self.0.as_ref().filter(|queue| queue.thread != thread::current().id())
        else {
            return;
        };
        let begun = Instant::now();
        let (sender, receiver) = sync_channel(1);
        let mut message = Message::AllBefore(sender);
        while let Err(TrySendError::Full(refused)) = queue.sender.try_send(message) {
            if begun.elapsed() >= LONGEST_WAIT {
                return;
            }
            message = refused;
            thread::sleep(PAUSE);
        }
        // A listener that panicked has dropped the sender.
        let _ = receiver.recv_timeout(LONGEST_WAIT.saturating_sub(begun.elapsed()));
    }
}

/// Calls the listener with all events, until no thread can report another one.
fn call_with_all(queue: &Receiver<Message>, listener: &impl Fn(&Event)) {
    for message in queue {
        match message {
            Message::Event(event) => listener(&event),
            // The thread that waited may have given up.
            Message::AllBefore(sender) => drop(sender.try_send(())),
        }
    }
}
