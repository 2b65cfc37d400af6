//! How a pool was opened, and the states in which it refuses operations.

/// How a pool was opened.
#[derive(Debug, Clone, Copy)]
pub struct Session {
    /// Counts the opens of the pool. A lock word of another generation counts as unlocked.
    pub generation: u64,
    /// Whether the last session closed the pool.
    pub clean: bool,
    /// Whether nothing may be written.
    pub read_only: bool,
}

/// Proof that the allocator and the directory of a pool were read and are sound, so that an open which they refuse
/// fails before its session begins. Only [`Space::inspect`](super::space::Space::inspect) makes this value.
#[derive(Debug)]
pub(crate) struct Inspected(pub(super) ());

pub(crate) const CLOSED: u64 = 1;
pub(crate) const POISONED: u64 = 2;
pub(crate) const READ_ONLY: u64 = 4;
pub(crate) const QUIESCED: u64 = 8;
pub(crate) const HELD: u64 = 16;
pub(crate) const SLOWED: u64 = 32;
/// Several changes at once are about: an operation on one key looks at the [marks](crate::space::batch). Keeps nobody out.
pub(crate) const BATCHES: u64 = 64;

/// States that keep readers out.
pub(crate) const NO_READERS: u64 = CLOSED | POISONED;
/// States that keep writers out.
pub(crate) const NO_WRITERS: u64 = NO_READERS | READ_ONLY | NOT_NOW;
/// States that end soon, so that writers wait for their end.
pub(crate) const NOT_NOW: u64 = QUIESCED | HELD | SLOWED;
/// Admits an operation in every state: for the work that is left in a closed pool.
pub(crate) const NO_STATE: u64 = 0;
