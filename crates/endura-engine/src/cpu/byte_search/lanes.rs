//! The ways to search a line, and which of them this processor uses.
//!
//! With AVX-512 one instruction searches a line. Without it the search uses vectors of 16 bytes, which every x86-64
//! processor (SSE2) and every AArch64 processor (NEON) has. Other architectures search word by word. Whether AVX-512 is
//! used is decided at run time ([`Vectors`]). The loads are in `asm!`, because the words are atomics and the compiler
//! must not move later loads before them.
//!
//! # What a vector load reads
//!
//! No vendor promises that a load of 64 bytes reads the line, or each word of it, atomically. Intel (Software
//! Developer's Manual, volume 3, "Guaranteed Atomic Operations") and AMD (Architecture Programmer's Manual, volume 2,
//! "Access Atomicity") promise atomicity for aligned loads of up to 8 bytes, and of 16 bytes on processors with AVX;
//! Arm (Architecture Reference Manual, "Single-copy atomicity") for each aligned word of a vector. This module relies
//! only on a property of every load: a byte is not torn.
//!
//! * [`bytes_like`](Lanes::bytes_like) and [`four_like`](Lanes::four_like) search bytes. Each byte is set once, by a
//!   store of its own, and does not change as long as the line belongs to the same node. The result for one byte does
//!   not depend on other bytes.
//! * [`halves_up_to`](Lanes::halves_up_to) searches numbers that no thread writes from their publication until the pins
//!   end under which they were reached (arenas reuse nodes by epochs).
//!
//! Vector loads are ordered like other loads. x86 keeps all loads from ordinary memory in program order. On AArch64 a
//! fence follows those that are Acquire.

use super::line::{Halves, Line};
#[cfg(all(target_arch = "aarch64", not(miri), not(all(test, loom))))]
use super::neon as narrow;
#[cfg(any(not(any(target_arch = "x86_64", target_arch = "aarch64")), miri, all(test, loom)))]
use super::words as narrow;
#[cfg(all(target_arch = "x86_64", not(miri), not(all(test, loom))))]
use super::{sse2 as narrow, wide};
use crate::cpu::vectors::Vectors;

/// A way to search lines.
pub(crate) trait Lanes: Copy {
    /// The bytes of `line` that equal `byte`: bit `i` for byte `i`. Acquire.
    fn bytes_like(self, line: &Line, byte: u8) -> u64;

    /// Like [`bytes_like`](Self::bytes_like), but only for the four bytes from byte `first` (at most 60) on. Acquire.
    #[inline(always)]
    fn four_like(self, line: &Line, byte: u8, first: usize) -> u64 {
        self.bytes_like(line, byte) & 0xf << first
    }

    /// How many of `halves` are at most `limit`. The halves are in ascending order and below 2³¹, and `limit` is below
    /// 2³¹ - 1. Relaxed.
    fn halves_up_to(self, halves: &Halves, limit: u32) -> usize;
}

/// The way that every processor of this architecture has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Narrow;

/// Proof that one instruction searches a line on this processor: AVX-512BW, and `popcnt`, which is a feature of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wide(());

impl Wide {
    /// `Some` if the processor has these instructions, and no narrower path was forced.
    #[inline(always)]
    pub(crate) fn detect() -> Option<Self> {
        Vectors::is_widest().then_some(Self(()))
    }

    /// For tests, which have checked that the processor has these instructions.
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
    // Never called: `detect` returns `None` here.

    fn bytes_like(self, line: &Line, byte: u8) -> u64 {
        Narrow.bytes_like(line, byte)
    }

    fn halves_up_to(self, halves: &Halves, limit: u32) -> usize {
        Narrow.halves_up_to(halves, limit)
    }
}
