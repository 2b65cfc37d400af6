//! Write-back of cache lines, and the wait until they are durable.

#[cfg(not(target_arch = "x86_64"))]
use std::sync::atomic::Ordering;

/// Bytes of a cache line: the unit of write-back, and the unit within which stores become durable in order.
pub const LINE: u64 = 64;

/// The instruction that writes a line back, where caches are lost at power loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlushInstruction {
    /// `clwb`: writes back, may keep the line in the cache (x86-64).
    Clwb,
    /// `clflushopt`: writes back and evicts; several run at once (x86-64).
    ClflushOpt,
    /// `clflush`: writes back and evicts; one at a time (x86-64).
    Clflush,
    /// `dc cvap`: cleans to the point of persistence (AArch64). `cvac` and `cvau` do not reach this point and are never
    /// used instead.
    Cvap,
}

impl FlushInstruction {
    /// All of them, best first.
    const BEST_FIRST: [Self; 4] = [Self::Clwb, Self::ClflushOpt, Self::Clflush, Self::Cvap];

    /// The best instruction that this CPU has, if it has any.
    pub fn best() -> Option<Self> {
        Self::BEST_FIRST.into_iter().find(|instruction| instruction.is_available())
    }

    /// Whether this CPU has the instruction.
    #[cfg(target_arch = "x86_64")]
    pub fn is_available(self) -> bool {
        use std::arch::x86_64::{__cpuid, __cpuid_count};
        #[allow(unused_unsafe, reason = "safe to call since Rust 1.94, unsafe before")]
        // SAFETY: every x86-64 CPU has `cpuid`; leaf 7 is read only where it exists.
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
        // SAFETY: `getauxval` only reads a number.
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
    pub(crate) unsafe fn flush(self, start: *const u8, bytes: usize) {
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
        // SAFETY: the caller's promise. None of the instructions changes what any load sees; without `nomem` the
        // compiler keeps earlier stores before them.
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
        // SAFETY: the caller's promise. `dc cvap` is spelled as the general system instruction, which every assembler
        // knows without the extension.
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

/// Stores a word with a non-temporal store, which bypasses the cache on x86-64. Only a fence orders it with other
/// stores.
///
/// # Safety
///
/// The word is mapped, aligned, and written by atomic accesses only.
#[inline(always)]
pub(crate) unsafe fn stream_word(word: *mut u64, value: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promise; an aligned store of eight bytes is one access. Without `nomem` the compiler does
    // not move it across the fences around it.
    unsafe {
        std::arch::asm!("movnti [{}], {}", in(reg) word, in(reg) value, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise.
    unsafe {
        (*word.cast::<std::sync::atomic::AtomicU64>()).store(value, Ordering::Release);
    }
}

/// Waits until this thread's earlier write-backs and stores are complete.
#[inline(always)]
pub(crate) fn store_fence() {
    // SAFETY: `sfence` is part of every x86-64.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
    // SAFETY: a barrier accesses no memory. `dmb` would order `dc cvap` but not wait for its completion.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("dsb sy", options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::sync::atomic::fence(Ordering::SeqCst);
}
