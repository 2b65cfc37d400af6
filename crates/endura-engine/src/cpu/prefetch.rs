//! Prefetches of cache lines.

use super::flush::LINE;

/// Prefetches all lines of `value`.
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

/// Prefetches the lines of the `len` bytes from `base + at` on, at most 2 MiB of them. Any address, offset and length
/// is allowed.
#[inline(always)]
pub(crate) fn prefetch_range(base: *const u8, at: u64, len: u64) {
    let len = len.min(MOST_AHEAD);
    // Counts from the start of the first line, so that the last line is included even if only its first byte is in the
    // range.
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
