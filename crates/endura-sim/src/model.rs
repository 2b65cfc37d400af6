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
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [
            (Self::WEAKEST_ADR, "WEAKEST_ADR"),
            (Self::X86_ADR, "X86_ADR"),
            (Self::EADR, "EADR"),
            (Self::WEAKEST_EADR, "WEAKEST_EADR"),
            (Self::PAGE_CACHE, "PAGE_CACHE"),
        ];
        match named.into_iter().find(|(model, _)| model == self) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "{self:?}"),
        }
    }
}
