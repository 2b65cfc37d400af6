//! All of a pool's state about commits of several changes, in DRAM.

use std::time::Instant;

use crate::space::batch::flights::Flights;
use crate::space::batch::marks::Marks;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// The state of the mode in which writers claim what they write.
#[derive(Debug, Default)]
pub(crate) struct Mode {
    /// Whether BATCHES is in the gate.
    pub(crate) is_shown: bool,
    /// Whether, besides, every writer inside has seen it.
    pub(crate) is_entered: bool,
    /// The number of commits, and of reads of one moment, under way. While there is one, the mode stays.
    pub(crate) users: usize,
}

/// What a pool's threads know of commits under way.
#[derive(Debug)]
pub(crate) struct Batches {
    pub(crate) marks: Marks,
    pub(crate) flights: Flights,
    /// Locked for a moment by each commit, and by the thread that enters or leaves the mode.
    pub(crate) mode: Mutex<Mode>,
    /// How many reads of one moment keep new commits out.
    pub(crate) held: AtomicU64,
    /// How many looks wait for a moment between commits that overlap.
    pub(crate) looks: AtomicU64,
    made: Instant,
    /// When the last of them ended, in milliseconds since this was made.
    ended: AtomicU64,
}

impl Default for Batches {
    fn default() -> Self {
        Self {
            marks: Marks::default(),
            flights: Flights::default(),
            mode: Mutex::new(Mode::default()),
            held: AtomicU64::new(0),
            looks: AtomicU64::new(0),
            made: Instant::now(),
            ended: AtomicU64::new(0),
        }
    }
}

impl Batches {
    /// Notes that a commit, or a read of one moment, has ended.
    pub(crate) fn note_end(&self) {
        // Relaxed: a hint.
        self.ended.store(self.made.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// The milliseconds since the end of the last one.
    pub(crate) fn idle(&self) -> u64 {
        let now = self.made.elapsed().as_millis() as u64;
        now.saturating_sub(self.ended.load(Ordering::Relaxed))
    }
}
