//! Lines of DRAM looked through at once.
//!
//! Where the processor has AVX-512 a line is one instruction; elsewhere it is eight words, one after
//! the other. The choice is made at run time: no build for this very processor may be assumed. The
//! instructions stand in `asm!`, for the words are atomics: each is read whole, as every aligned
//! word is on these processors, and the compiler must not move later loads before.

use crate::sync::{AtomicU64, Ordering};

/// A line as words.
pub(crate) type Line = [AtomicU64; 8];

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Whether a line is one instruction. One load: the standard library keeps what `cpuid` said.
#[inline(always)]
fn is_wide() -> bool {
    #[cfg(all(target_arch = "x86_64", not(all(test, loom))))]
    return std::arch::is_x86_feature_detected!("avx512bw");
    #[cfg(not(all(target_arch = "x86_64", not(all(test, loom)))))]
    false
}

/// How lines are looked through.
pub(crate) trait Lanes: Copy {
    /// The bytes of `line` that are `byte`, one bit each. Acquire.
    fn bytes_like(self, line: &Line, byte: u8) -> u64;

    /// How many words of `line`, which is in ascending order, are at most `limit`. Relaxed.
    fn words_up_to(self, line: &Line, limit: u64) -> usize;
}

/// Word by word, as any processor can.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Narrow;

/// Proof that a line is one instruction here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wide(());

impl Wide {
    /// Asks the processor.
    #[inline(always)]
    pub(crate) fn detect() -> Option<Self> {
        is_wide().then_some(Self(()))
    }

    /// How many of 64 words are below `limit`.
    #[inline(always)]
    pub(crate) fn words_below(self, words: &[u64; 64], limit: u64) -> usize {
        wide::words_below(words, limit)
    }
}

impl Lanes for Narrow {
    #[inline(always)]
    fn bytes_like(self, line: &Line, byte: u8) -> u64 {
        bytes_like_by_word(line, byte)
    }

    #[inline(always)]
    fn words_up_to(self, line: &Line, limit: u64) -> usize {
        line.iter().map(|word| usize::from(word.load(Ordering::Relaxed) <= limit)).sum()
    }
}

impl Lanes for Wide {
    #[inline(always)]
    fn bytes_like(self, line: &Line, byte: u8) -> u64 {
        wide::bytes_like(line, byte)
    }

    #[inline(always)]
    fn words_up_to(self, line: &Line, limit: u64) -> usize {
        wide::words_up_to(line, limit)
    }
}

fn bytes_like_by_word(line: &Line, byte: u8) -> u64 {
    let pattern = u64::from(byte).wrapping_mul(LOW_BITS);
    let mut found = 0;
    for (i, word) in line.iter().enumerate() {
        let differs = word.load(Ordering::Acquire) ^ pattern;
        // The high bit of each byte that is 0. Adding to seven bits carries into no neighbour.
        let zero = !(((differs & !HIGH_BITS) + !HIGH_BITS) | differs) & HIGH_BITS;
        // Gathers the eight bits in the highest byte.
        found |= (zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56 << (8 * i);
    }
    found
}

#[cfg(all(target_arch = "x86_64", not(all(test, loom))))]
mod wide {
    use std::arch::asm;

    use super::Line;

    #[inline(always)]
    pub(super) fn bytes_like(line: &Line, byte: u8) -> u64 {
        let found: u64;
        // SAFETY: a `Wide` says that there is AVX-512BW. Reads the 64 bytes of `line` and nothing else. Not
        // `readonly`: later loads stay behind it, as behind an Acquire.
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

    #[inline(always)]
    pub(super) fn words_up_to(line: &Line, limit: u64) -> usize {
        let found: u32;
        // SAFETY: a `Wide` says that there is AVX-512BW. Reads the 64 bytes of `line` and nothing else.
        unsafe {
            asm!(
                "vpbroadcastq zmm16, {limit}",
                "vpcmpnltuq k1, zmm16, [{line}]",
                "kmovw {found:e}, k1",
                limit = in(reg) limit,
                line = in(reg) line,
                found = lateout(reg) found,
                out("zmm16") _,
                out("k1") _,
                options(nostack, readonly, preserves_flags),
            );
        }
        // In ascending order: the words that count come first.
        (!found).trailing_zeros() as usize
    }

    #[inline(always)]
    pub(super) fn words_below(words: &[u64; 64], limit: u64) -> usize {
        let (low, high): (u64, u64);
        // SAFETY: a `Wide` says that there is AVX-512BW, and no processor has that without `popcnt`. Reads
        // the 512 bytes of `words` and nothing else.
        unsafe {
            asm!(
                "vpbroadcastq zmm16, {limit}",
                "vpcmpnleuq k1, zmm16, [{words}]",
                "vpcmpnleuq k2, zmm16, [{words} + 64]",
                "vpcmpnleuq k3, zmm16, [{words} + 128]",
                "vpcmpnleuq k4, zmm16, [{words} + 192]",
                "vpcmpnleuq k5, zmm16, [{words} + 256]",
                "vpcmpnleuq k6, zmm16, [{words} + 320]",
                "kunpckbw k1, k2, k1",
                "kunpckbw k3, k4, k3",
                "kunpckbw k5, k6, k5",
                "vpcmpnleuq k2, zmm16, [{words} + 384]",
                "vpcmpnleuq k4, zmm16, [{words} + 448]",
                "kunpckbw k2, k4, k2",
                "kunpckwd k1, k3, k1",
                "kunpckwd k5, k2, k5",
                "kmovd {low:e}, k1",
                "kmovd {high:e}, k5",
                "popcnt {low:e}, {low:e}",
                "popcnt {high:e}, {high:e}",
                limit = in(reg) limit,
                words = in(reg) words,
                low = out(reg) low,
                high = out(reg) high,
                out("zmm16") _,
                out("k1") _, out("k2") _, out("k3") _, out("k4") _, out("k5") _, out("k6") _,
                options(nostack, pure, readonly),
            );
        }
        (low + high) as usize
    }
}

#[cfg(not(all(target_arch = "x86_64", not(all(test, loom)))))]
mod wide {
    //! Never called: no line is one instruction here.

    use super::{Line, bytes_like_by_word};

    pub(super) fn bytes_like(line: &Line, byte: u8) -> u64 {
        bytes_like_by_word(line, byte)
    }

    pub(super) fn words_up_to(_: &Line, _: u64) -> usize {
        0
    }

    pub(super) fn words_below(_: &[u64; 64], _: u64) -> usize {
        0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn line(words: [u64; 8]) -> Line {
        words.map(AtomicU64::new)
    }

    #[test]
    fn bytes_are_found_in_every_place_both_ways() {
        for byte in [0, 1, 2, 0x7f, 0x80, 0x81, 0xff_u8] {
            for place in 0..64 {
                let mut words = [u64::from(byte ^ 1) * LOW_BITS; 8];
                words[place / 8] ^= 1 << (8 * (place % 8));
                let line = line(words);
                assert_eq!(Narrow.bytes_like(&line, byte), 1 << place, "{byte} at {place}");
                if let Some(wide) = Wide::detect() {
                    assert_eq!(wide.bytes_like(&line, byte), 1 << place, "{byte} at {place}");
                }
            }
        }
    }

    #[test]
    fn words_are_counted_up_to_and_including_the_limit() {
        let sorted = line([0, 1, 5, 1 << 61, 1 << 63, u64::MAX - 1, u64::MAX, u64::MAX]);
        let limits = [(0, 1), (1, 2), (4, 2), (5, 3), (1 << 62, 4), (1 << 63, 5), (u64::MAX, 8)];
        for (limit, count) in limits {
            assert_eq!(Narrow.words_up_to(&sorted, limit), count, "{limit:x}");
            if let Some(wide) = Wide::detect() {
                assert_eq!(wide.words_up_to(&sorted, limit), count, "{limit:x}");
                assert_eq!(wide.words_up_to(&line([7; 8]), 6), 0);
            }
        }
        assert_eq!(Narrow.words_up_to(&line([7; 8]), 6), 0);
    }

    #[test]
    fn words_below_a_limit_are_counted_in_every_line() {
        let Some(wide) = Wide::detect() else { return };
        let words: [u64; 64] = std::array::from_fn(|i| ((i as u64 * 37) % 64) << 58);
        for limit in 0..64 {
            assert_eq!(wide.words_below(&words, limit << 58), limit as usize);
            assert_eq!(wide.words_below(&words, (limit << 58) + 1), limit as usize + 1);
        }
    }
}
