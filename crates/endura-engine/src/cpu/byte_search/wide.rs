//! Searches with AVX-512: one comparison instruction a line.

use std::arch::asm;

use super::line::{Halves, Line};

/// # Safety
///
/// The processor has AVX-512BW.
#[inline(always)]
pub(super) unsafe fn bytes_like(line: &Line, byte: u8) -> u64 {
    let found: u64;
    // SAFETY: the caller says that there is AVX-512BW. Reads the 64 bytes of `line` and nothing else. The code is not
    // marked `readonly`, so that the compiler does not move later loads before it, as for an Acquire.
    unsafe {
        asm!(
            "vpbroadcastb zmm16, {byte:e}",
            "vpcmpeqb k1, zmm16, [{line}]",
            "kmovq {found}, k1",
            byte = in(reg) u32::from(byte),
            line = in(reg) line,
            found = lateout(reg) found,
            out("zmm16") _,
            out("k1") _,
            options(nostack, preserves_flags),
        );
    }
    found
}

/// # Safety
///
/// The processor has AVX-512BW and `popcnt`.
#[inline(always)]
pub(super) unsafe fn halves_up_to(halves: &Halves, limit: u32) -> usize {
    let found: u64;
    // SAFETY: the caller says that there are AVX-512BW and `popcnt`. Reads the 256 bytes of `halves` and
    // nothing else.
    unsafe {
        asm!(
            "vpbroadcastd zmm16, {limit:e}",
            "vpcmpnltud k1, zmm16, [{halves}]",
            "vpcmpnltud k2, zmm16, [{halves} + 64]",
            "vpcmpnltud k3, zmm16, [{halves} + 128]",
            "vpcmpnltud k4, zmm16, [{halves} + 192]",
            "kunpckwd k1, k2, k1",
            "kunpckwd k3, k4, k3",
            "kunpckdq k1, k3, k1",
            "kmovq {found}, k1",
            "popcnt {found}, {found}",
            limit = in(reg) limit,
            halves = in(reg) halves,
            found = lateout(reg) found,
            out("zmm16") _,
            out("k1") _, out("k2") _, out("k3") _, out("k4") _,
            options(nostack, readonly),
        );
    }
    found as usize
}
