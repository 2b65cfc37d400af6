//! Persistence domains: the part of a machine in which a store survives, and how a store gets there.
//!
//! The domain is a value, so that a tree is compiled once for all of them. It costs a branch that is always
//! predicted.

use std::sync::atomic::{Ordering, compiler_fence};

use crate::cpu::flush::store_fence;

/// A persistence domain. [`Media`](super::Media) says what each promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Domain {
    /// Memory controllers are flushed at power loss, caches are not: lines must be written back.
    Adr,
    /// Caches are flushed at power loss: a store is safe once it has left the store buffer, and only the end of an
    /// operation waits.
    Eadr,
    /// The kernel keeps the pages when the process ends, but not when the machine does: the order of the stores,
    /// which the compiler must keep, is enough.
    PageCache,
}

impl Domain {
    /// Returns when earlier write-backs of this thread are durable.
    #[inline(always)]
    pub(crate) fn fence(self) {
        match self {
            Self::Adr => store_fence(),
            // Visible is durable there, and `Release` stores become visible in order.
            Self::Eadr | Self::PageCache => compiler_fence(Ordering::SeqCst),
        }
    }

    /// Returns when, besides, earlier stores of this thread are in the domain.
    #[inline(always)]
    pub(crate) fn drain(self) {
        match self {
            Self::Adr | Self::Eadr => store_fence(),
            // The end of a process leaves its store buffer to the cache.
            Self::PageCache => compiler_fence(Ordering::SeqCst),
        }
    }
}

impl std::fmt::Display for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Adr => "ADR",
            Self::Eadr => "eADR",
            Self::PageCache => "page cache",
        })
    }
}
