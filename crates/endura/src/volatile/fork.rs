//! Whether this process is still the one that opened the pool.

/// The process in which a pool was opened.
#[derive(Debug)]
pub(crate) struct Birthplace;

impl Birthplace {
    /// This process.
    pub(crate) fn here() -> Self {
        Self
    }

    /// Whether the calling process is a fork of that one.
    #[inline(always)]
    pub(crate) fn is_elsewhere(&self) -> bool {
        false
    }
}
