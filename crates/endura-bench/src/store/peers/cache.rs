//! The caches of stores that do not map their files.

/// Bytes that each of them may keep in memory of its own, beside the page cache: redb's default, which the others get as
/// well.
pub(super) const CACHE: usize = 1 << 30;
