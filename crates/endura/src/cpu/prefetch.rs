//! Prefetches of memory that will be needed.

use super::flush::LINE;

/// Prefetches all lines of `value`. A hint.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    let mut ahead = 0;
    while ahead < size_of::<T>() {
        prefetch_line(start.wrapping_add(ahead));
        ahead += LINE as usize;
    }
}

/// The most bytes that one call prefetches: more than any cache near a core has.
const MOST_AHEAD: u64 = 2 << 20;

/// Prefetches the lines of bytes `at..at + len` after `base`, or the first of them. Any address, any offset and any
/// length will do.
#[inline(always)]
pub(crate) fn prefetch_range(base: *const u8, at: u64, len: u64) {
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

/// Prefetches one line. Never faults, whatever the address.
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
