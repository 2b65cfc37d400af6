//! Persistence domains: what it takes, on this machine, for a store to survive.
//!
//! The domain is a value, so that a tree is compiled once for all of them. Asking for it costs a branch that is
//! always predicted.

use std::sync::atomic::{Ordering, compiler_fence};

use super::LINE;

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
    pub(super) fn fence(self) {
        match self {
            Self::Adr => store_fence(),
            // Visible is durable there, and `Release` stores become visible in order.
            Self::Eadr | Self::PageCache => compiler_fence(Ordering::SeqCst),
        }
    }

    /// Returns when, besides, earlier stores of this thread are in the domain.
    #[inline(always)]
    pub(super) fn drain(self) {
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

/// How a line is written back in the domain [`Domain::Adr`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlushInstruction {
    /// `clwb`: writes back, may keep the line in the cache (x86-64).
    Clwb,
    /// `clflushopt`: writes back and evicts; several run at once (x86-64).
    ClflushOpt,
    /// `clflush`: writes back and evicts, one after the other (x86-64).
    Clflush,
    /// `dc cvap`: cleans to the point of persistence (AArch64). `cvac` and `cvau` stop short of it
    /// and are never used in its place.
    Cvap,
}

impl FlushInstruction {
    /// All of them, best first.
    const BEST_FIRST: [Self; 4] = [Self::Clwb, Self::ClflushOpt, Self::Clflush, Self::Cvap];

    /// The best one that this CPU has, if it has any.
    pub fn best() -> Option<Self> {
        Self::BEST_FIRST.into_iter().find(|instruction| instruction.is_available())
    }

    /// Whether this CPU has the instruction.
    #[cfg(target_arch = "x86_64")]
    pub fn is_available(self) -> bool {
        use std::arch::x86_64::{__cpuid, __cpuid_count};
        #[allow(unused_unsafe, reason = "safe to call since Rust 1.94, unsafe before")]
        // SAFETY: every x86-64 CPU has `cpuid`; leaf 7 is asked for only where it exists.
        let (basic, extended) = unsafe {
            let leaf7 = __cpuid(0).eax >= 7;
            (__cpuid(1).edx, if leaf7 { __cpuid_count(7, 0).ebx } else { 0 })
        };
        match self {
            Self::Clwb => extended & (1 << 24) != 0,
            Self::ClflushOpt => extended & (1 << 23) != 0,
            Self::Clflush => basic & (1 << 19) != 0,
            Self::Cvap => false,
        }
    }

    /// Whether this CPU has the instruction.
    #[cfg(target_arch = "aarch64")]
    pub fn is_available(self) -> bool {
        // SAFETY: `getauxval` only looks a number up.
        let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP) };
        self == Self::Cvap && capabilities & libc::HWCAP_DCPOP != 0
    }

    /// Whether this CPU has the instruction.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub fn is_available(self) -> bool {
        false
    }

    /// Starts the write-back of every line that the bytes touch.
    ///
    /// # Safety
    ///
    /// The CPU has the instruction, and the bytes are mapped.
    #[inline(always)]
    pub(super) unsafe fn flush(self, start: *const u8, bytes: usize) {
        let into_line = start as usize % LINE as usize;
        let mut line = start.wrapping_sub(into_line);
        for _ in 0..(into_line + bytes).div_ceil(LINE as usize) {
            // SAFETY: the line holds bytes of the caller's range, and mappings consist of whole
            // lines; the caller vouches for the instruction.
            unsafe { self.write_back(line) };
            line = line.wrapping_add(LINE as usize);
        }
    }

    /// Starts the write-back of the line at `line`.
    ///
    /// # Safety
    ///
    /// The CPU has the instruction, and `line` lies in mapped memory.
    #[inline(always)]
    unsafe fn write_back(self, line: *const u8) {
        #[cfg(test)]
        WRITTEN_BACK.with(|lines| lines.set(lines.get() + 1));
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the caller's promise. None of them changes what any load sees; without `nomem`
        // the compiler keeps earlier stores before them.
        unsafe {
            use std::arch::asm;
            match self {
                Self::Clwb => asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags)),
                Self::ClflushOpt => {
                    asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags));
                }
                Self::Clflush | Self::Cvap => std::arch::x86_64::_mm_clflush(line),
            }
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: the caller's promise. Spelled as the system instruction behind `dc cvap`, which
        // every assembler knows without naming the extension.
        unsafe {
            std::arch::asm!("sys #3, c7, c12, #1, {}", in(reg) line, options(nostack, preserves_flags));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = line;
    }
}

#[cfg(test)]
thread_local! {
    /// How many lines the calling thread has written back.
    pub(crate) static WRITTEN_BACK: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Stores a word past the cache, in no order with other stores but by a fence.
///
/// # Safety
///
/// The word is mapped, aligned, and written by atomic accesses only.
#[inline(always)]
pub(super) unsafe fn stream_word(word: *mut u64, value: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promise; an aligned store of eight bytes is one access. Without `nomem` the
    // compiler keeps it between the fences around it.
    unsafe {
        std::arch::asm!("movnti [{}], {}", in(reg) word, in(reg) value, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise.
    unsafe {
        (*word.cast::<std::sync::atomic::AtomicU64>()).store(value, Ordering::Release);
    }
}

/// Waits until this thread's write-backs and stores have left it.
#[inline(always)]
fn store_fence() {
    // SAFETY: `sfence` is part of every x86-64.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
    // SAFETY: a barrier touches no memory. `dmb` would order `dc cvap` but not wait for it.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("dsb sy", options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::sync::atomic::fence(Ordering::SeqCst);
}

/// The most bytes that are asked for at once: more than any cache near a core has.
const MOST_AHEAD: u64 = 2 << 20;

/// Asks for the lines of bytes `at..at + len` behind `base` to be brought into the cache, or the first of
/// them. Any address, any offset and any length will do.
#[inline(always)]
pub(super) fn prefetch(base: *const u8, at: u64, len: u64) {
    let len = len.min(MOST_AHEAD);
    // From the start of the first line on: the last one counts however little of it is meant.
    let inside = at % LINE;
    let start = base.wrapping_add((at - inside) as usize);
    let mut ahead = 0;
    while ahead < inside + len {
        prefetch_line(start.wrapping_add(ahead as usize));
        ahead += LINE;
    }
}

/// Asks for one line to be brought into the cache. Never faults, whatever the address.
#[inline(always)]
fn prefetch_line(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address, mapped or not, has no effect that a program can see.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(line.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) line, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = line;
}
