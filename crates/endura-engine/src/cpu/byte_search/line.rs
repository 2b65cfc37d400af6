//! The data that is searched: lines of words, and *halves* (32-bit numbers), aligned as vector loads need it.

use crate::sync::{AtomicU32, AtomicU64};

/// A cache line as words.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [AtomicU64; 8]);

/// How many halves one search covers.
pub(crate) const HALVES: usize = 64;

/// Four cache lines of halves, in ascending order, each below 2³¹.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Halves(pub(crate) [AtomicU32; HALVES]);

impl Default for Halves {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU32::new(0)))
    }
}

/// Sets byte `at` of `line` to `byte`. The byte must be 0 or `byte`, and no other thread may set it to another value
/// meanwhile. Release.
#[inline(always)]
pub(crate) fn set_byte(line: &Line, at: usize, byte: u8) {
    #[cfg(all(target_arch = "x86_64", not(miri), not(all(test, loom))))]
    // SAFETY: the offset is less than the size of a line, so the byte is inside of the line. To the processor a store
    // of one byte is equivalent to the `fetch_or` below, because only this byte changes; and x86 keeps the order of
    // stores, which makes it a Release.
    unsafe {
        std::arch::asm!(
            "mov byte ptr [{line} + {at}], {byte}",
            line = in(reg) line,
            at = in(reg) at % size_of::<Line>(),
            byte = in(reg_byte) byte,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri), not(all(test, loom)))))]
    line.0[at / 8].fetch_or(u64::from(byte) << (8 * (at % 8)), crate::sync::Ordering::Release);
}
