//! How a line is searched.
//!
//! With AVX-512 one instruction searches a line. Without it the search takes vectors of 16 bytes, which every x86-64
//! processor has (SSE2) and every AArch64 processor (NEON), and other processors search word by word. The choice between
//! the two is made at run time ([`Vectors`]). The loads are in `asm!`, because the words are atomics and the compiler
//! must not move later loads before them.
//!
//! # What a load of a vector reads
//!
//! No vendor promises that a load of 64 bytes reads the line, or each word of it, whole. Intel (Software Developer's
//! Manual, volume 3, "Guaranteed Atomic Operations") and AMD (Architecture Programmer's Manual, volume 2, "Access
//! Atomicity") promise that for aligned loads of up to 8 bytes, and of 16 where there is AVX; Arm (Architecture
//! Reference Manual, "Single-copy atomicity") for each aligned word of a vector. This module relies only on what is true
//! of any load: a byte is not torn.
//!
//! * [`bytes_like`](Lanes::bytes_like) and [`four_like`](Lanes::four_like) search bytes. Each is set once, by a store
//!   of its own, and stays as long as the line has its meaning. The answer for one byte depends on no other byte.
//! * [`halves_up_to`](Lanes::halves_up_to) searches halves that no thread writes to from their publication until
//!   the pins in which they were reached have ended (arenas reuse nodes by epochs).
//!
//! The order of the loads is that of any others. x86 keeps loads from ordinary memory in program order, those of
//! vectors as well. On AArch64 a fence follows those that are Acquire.

use super::line::{Halves, Line};
#[cfg(all(target_arch = "aarch64", not(miri), not(all(test, loom))))]
use super::neon as narrow;
#[cfg(any(not(any(target_arch = "x86_64", target_arch = "aarch64")), miri, all(test, loom)))]
use super::words as narrow;
#[cfg(all(target_arch = "x86_64", not(miri), not(all(test, loom))))]
use super::{sse2 as narrow, wide};
use crate::cpu::vectors::Vectors;

/// How lines are searched.
pub(crate) trait Lanes: Copy {
    /// The bytes of `line` that are `byte`, one bit each. Acquire.
    fn bytes_like(self, line: &Line, byte: u8) -> u64;

    /// The same of four bytes only, from number `first` (at most 60) on. Acquire.
    #[inline(always)]
    fn four_like(self, line: &Line, byte: u8, first: usize) -> u64 {
        self.bytes_like(line, byte) & 0xf << first
    }

    /// How many of `halves`, which are in ascending order and below 2³¹, are at most `limit`, which is below 2³¹ - 1.
    /// Relaxed.
    fn halves_up_to(self, halves: &Halves, limit: u32) -> usize;
}

/// As any processor of this architecture can.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Narrow;

/// Proof that one instruction searches a line on this processor: AVX-512BW, and `popcnt`, which is a feature of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wide(());

impl Wide {
    /// Whether it does, and no narrower path was forced.
    #[inline(always)]
    pub(crate) fn detect() -> Option<Self> {
        Vectors::is_widest().then_some(Self(()))
    }

    /// For tests, which have asked what the processor has.
    #[cfg(all(test, not(loom)))]
    pub(super) fn assume() -> Self {
        Self(())
    }
}

impl Lanes for Narrow {
    #[inline(always)]
    fn bytes_like(self, line: &Line, byte: u8) -> u64 {
        narrow::bytes_like(line, byte)
    }

    #[cfg(all(target_arch = "x86_64", not(miri), not(all(test, loom))))]
    #[inline(always)]
    fn four_like(self, line: &Line, byte: u8, first: usize) -> u64 {
        narrow::four_like(line, byte, first)
    }

    #[inline(always)]
    fn halves_up_to(self, halves: &Halves, limit: u32) -> usize {
        narrow::halves_up_to(halves, limit)
    }
}

#[cfg(all(target_arch = "x86_64", not(miri), not(all(test, loom))))]
impl Lanes for Wide {
    #[inline(always)]
    fn bytes_like(self, line: &Line, byte: u8) -> u64 {
        // SAFETY: a `Wide` says that there is AVX-512BW.
        unsafe { wide::bytes_like(line, byte) }
    }

    #[inline(always)]
    fn halves_up_to(self, halves: &Halves, limit: u32) -> usize {
        // SAFETY: a `Wide` says that there are AVX-512BW and `popcnt`.
        unsafe { wide::halves_up_to(halves, limit) }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri), not(all(test, loom)))))]
impl Lanes for Wide {
    // Never called: no line is one instruction here.

    fn bytes_like(self, line: &Line, byte: u8) -> u64 {
        Narrow.bytes_like(line, byte)
    }

    fn halves_up_to(self, halves: &Halves, limit: u32) -> usize {
        Narrow.halves_up_to(halves, limit)
    }
}
