//! What hardware promises of the order in which stores become durable.

use std::fmt;

/// When a store is durable by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Domain {
    /// After a flush of its line and a fence of the thread that flushed; by eviction at any time
    /// before. (NVDIMM, CXL memory without a flush on failure.)
    Adr,
    /// Once it has left the store buffer of its thread: after a fence, an atomic exchange, or when
    /// another thread has seen it. (Platforms that flush their caches on power failure.)
    Eadr,
    /// At once: what ends is the process, and the page cache outlives it.
    PageCache,
    /// By a flush of a word of the same block, if no operation is in flight when it ends: a checkpoint copies what was
    /// flushed since the one before. What was not is in it as it was at some time since its last flush. (The end of
    /// the process, and the power loss after it.)
    Marked {
        /// Bytes of a block, a power of two from 64 on. A checkpoint copies pages; a smaller block
        /// promises less, and finds what a page of a small tree hides.
        block: u64,
    },
}

/// In which order stores to one line reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InLine {
    /// As the program made them. (x86, if the compiler left them alone.)
    Prefix,
    /// A `Release` store or an exchange after everything before it; a `Relaxed` store whenever it
    /// likes, but for stores to the same word. (ARM, and what a compiler may do anywhere.)
    ReleaseOnly,
}

/// A persistency model: which contents a crash may leave, given what the program did.
///
/// | | becomes durable | order within a line | an exchange waits for flushes |
/// | --- | --- | --- | --- |
/// | [`WEAKEST_ADR`](Self::WEAKEST_ADR), ARM | by flush and fence, or eviction | after `Release` only | no |
/// | [`X86_ADR`](Self::X86_ADR) | the same | program order | yes |
/// | [`EADR`](Self::EADR) | in program order of each thread | - | drains |
/// | [`PAGE_CACHE`](Self::PAGE_CACHE) | at once | - | - |
/// | [`MARKED`](Self::MARKED) | by a flush, at a moment without operations | any | - |
///
/// What is right under the weakest is right under x86 and ARM: every set of contents that those allow is
/// allowed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Model {
    /// When a store is durable by itself.
    pub domain: Domain,
    /// In which order stores to one line reach it (ADR only).
    pub in_line: InLine,
    /// Whether a successful exchange waits for the thread's earlier flushes, as x86's `lock` prefix
    /// does (ADR only).
    pub exchange_fences: bool,
}

impl Model {
    /// The least that any machine with ADR promises: the model to test against. ARMv8 with
    /// `dc cvap` is this one.
    pub const WEAKEST_ADR: Self =
        Self { domain: Domain::Adr, in_line: InLine::ReleaseOnly, exchange_fences: false };
    /// Intel and AMD processors with ADR (Px86, Raad et al., POPL 2020).
    pub const X86_ADR: Self =
        Self { domain: Domain::Adr, in_line: InLine::Prefix, exchange_fences: true };
    /// Persistent caches, with a store buffer in front of them that is not.
    pub const EADR: Self =
        Self { domain: Domain::Eadr, in_line: InLine::Prefix, exchange_fences: true };
    /// The same where a relaxed store may leave the store buffer before earlier ones: ARMv8.
    pub const WEAKEST_EADR: Self = Self { in_line: InLine::ReleaseOnly, ..Self::EADR };
    /// The end of the process.
    pub const PAGE_CACHE: Self =
        Self { domain: Domain::PageCache, in_line: InLine::Prefix, exchange_fences: true };
    /// What a checkpoint has, line by line.
    pub const MARKED: Self = Self::marked(64);

    /// What a checkpoint has that copies blocks of so many bytes. A page may be copied word by word beside a writer, so
    /// that stores which were not flushed are in it in any order.
    pub const fn marked(block: u64) -> Self {
        Self {
            domain: Domain::Marked { block },
            in_line: InLine::ReleaseOnly,
            exchange_fences: false,
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [
            (Self::WEAKEST_ADR, "WEAKEST_ADR"),
            (Self::X86_ADR, "X86_ADR"),
            (Self::EADR, "EADR"),
            (Self::WEAKEST_EADR, "WEAKEST_EADR"),
            (Self::PAGE_CACHE, "PAGE_CACHE"),
            (Self::MARKED, "MARKED"),
        ];
        match named.into_iter().find(|(model, _)| model == self) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "{self:?}"),
        }
    }
}
