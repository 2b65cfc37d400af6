//! How a pool was opened, and the states that turn operations away.

/// How a pool was opened.
#[derive(Debug, Clone, Copy)]
pub struct Session {
    /// Counts the opens of the pool; locks of other generations do not count.
    pub generation: u64,
    /// Whether the last session closed the pool.
    pub clean: bool,
    /// Whether nothing may be written.
    pub read_only: bool,
}

/// The allocator and the directory of a pool were read, and are sound: what may refuse it did so before the session began.
/// [`Space::inspect`](super::space::Space::inspect) alone makes this value.
#[derive(Debug)]
pub(crate) struct Inspected(pub(super) ());

pub(crate) const CLOSED: u64 = 1;
pub(crate) const POISONED: u64 = 2;
pub(crate) const READ_ONLY: u64 = 4;
pub(crate) const QUIESCED: u64 = 8;
pub(crate) const HELD: u64 = 16;
pub(crate) const SLOWED: u64 = 32;

/// States that keep readers out.
pub(crate) const NO_READERS: u64 = CLOSED | POISONED;
/// States that keep writers out.
pub(crate) const NO_WRITERS: u64 = NO_READERS | READ_ONLY | NOT_NOW;
/// States that end soon: writers wait for that.
pub(crate) const NOT_NOW: u64 = QUIESCED | HELD | SLOWED;
/// Lets in whom no state keeps out: who does what is left to do in a closed pool.
pub(crate) const NO_STATE: u64 = 0;
