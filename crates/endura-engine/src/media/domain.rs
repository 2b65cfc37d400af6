//! Persistence domains: the part of a machine in which a store survives, and how a store gets there.
//!
//! The domain is a value and not a type parameter, so that a tree is compiled once for all domains. The price is a
//! branch, which is always predicted.

use std::sync::atomic::{Ordering, compiler_fence};

use crate::cpu::flush::store_fence;

/// A persistence domain. The table in the module of [`Media`](super::Media) has what each of them promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Domain {
    /// At power loss the queues of the memory controllers are saved and the caches are not, so lines must be written
    /// back.
    Adr,
    /// At power loss the caches are saved too. A store is safe once it has left the store buffer, so an operation waits
    /// only at its end.
    Eadr,
    /// The kernel keeps the pages when the process ends, but not when the machine stops. It is enough that the compiler
    /// keeps the order of the stores.
    PageCache,
}

impl Domain {
    /// Returns when earlier write-backs of this thread are durable.
    #[inline(always)]
    pub(crate) fn fence(self) {
        match self {
            Self::Adr => store_fence(),
            // In these domains a visible store is durable, and `Release` stores become visible in order.
            Self::Eadr | Self::PageCache => compiler_fence(Ordering::SeqCst),
        }
    }

    /// Returns when earlier write-backs of this thread are durable and its earlier stores are in the domain.
    #[inline(always)]
    pub(crate) fn drain(self) {
        match self {
            Self::Adr | Self::Eadr => store_fence(),
            // When a process ends, its store buffers still drain to the cache.
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
