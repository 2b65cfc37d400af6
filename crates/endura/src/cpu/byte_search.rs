//! Searches of whole cache lines in DRAM.
//!
//! With AVX-512 one instruction searches a line. Without it the search goes word by word. The choice is made at run
//! time, because the program may have been built for another processor. The instructions are in `asm!`, because the
//! words are atomics and the compiler must not move later loads before them.
//!
//! # What a load of 64 bytes reads
//!
//! No vendor promises that such a load reads the line, or each word of it, whole. Intel (Software Developer's Manual,
//! volume 3, "Guaranteed Atomic Operations") and AMD (Architecture Programmer's Manual, volume 2, "Access
//! Atomicity") promise that for aligned loads of up to 8 bytes, and of 16 where there is AVX. On known processors
//! an aligned load is at worst two of 32 bytes, but this module relies only on what is true of any load: a byte
//! is not torn.
//!
//! * [`bytes_like`](Lanes::bytes_like) searches bytes. Each is set once, by a store of its own, and stays as long
//!   as the line has its meaning. The answer for one byte depends on no other byte.
//! * [`halves_up_to`](Lanes::halves_up_to) searches halves that no thread writes to from their publication until
//!   the pins in which they were reached have ended (arenas reuse nodes by epochs).
//!
//! The order of the loads is that of any others: x86 keeps loads from ordinary memory in program order, those
//! of vectors as well.

use std::sync::atomic::AtomicU8;

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// A line as words.
pub(crate) type Line = [AtomicU64; 8];

/// Four lines of half words.
pub(crate) type Halves = [AtomicU32; 64];

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Whether one instruction searches a line on this processor: 0 = not known yet. The standard library caches the same,
/// but its answer takes two loads and two branches, and an insert needs it four times.
static IS_WIDE: AtomicU8 = AtomicU8::new(0);
const YES: u8 = 1;
const NO: u8 = 2;

/// Asks the processor.
#[cold]
fn ask_whether_wide() -> bool {
    #[cfg(all(target_arch = "x86_64", not(all(test, loom))))]
    let is_wide = std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("popcnt");
    #[cfg(not(all(target_arch = "x86_64", not(all(test, loom)))))]
    let is_wide = false;
    // Relaxed: a thread that does not see it detects it again.
    IS_WIDE.store(if is_wide { YES } else { NO }, Ordering::Relaxed);
    is_wide
}

/// How lines are looked through.
pub(crate) trait Lanes: Copy {
    /// The bytes of `line` that are `byte`, one bit each. Acquire.
    fn bytes_like(self, line: &Line, byte: u8) -> u64;

    /// How many of `halves`, which are in ascending order, are at most `limit`. Relaxed.
    fn halves_up_to(self, halves: &Halves, limit: u32) -> usize;
}

/// As any processor can.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Narrow;

/// Proof that one instruction searches a line on this processor: AVX-512BW, and `popcnt`, which is a feature of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wide(());

impl Wide {
    /// Whether it is.
    #[inline(always)]
    pub(crate) fn detect() -> Option<Self> {
        let is_wide = match IS_WIDE.load(Ordering::Relaxed) {
            YES => true,
            NO => false,
            _ => ask_whether_wide(),
        };
        is_wide.then_some(Self(()))
    }
}

impl Lanes for Narrow {
    #[inline(always)]
    fn bytes_like(self, line: &Line, byte: u8) -> u64 {
        bytes_like_by_word(line, byte)
    }

    #[inline(always)]
    fn halves_up_to(self, halves: &Halves, limit: u32) -> usize {
        let is_up_to = |at: usize| usize::from(halves[at].load(Ordering::Relaxed) <= limit);
        // 32 or 0 and so on: where a branch would be mispredicted every other time.
        let below = [32, 16, 8, 4, 2, 1]
            .iter()
            .fold(0, |from, step| from + step * is_up_to(from + step - 1));
        below + is_up_to(below)
    }
}

impl Lanes for Wide {
    #[inline(always)]
    fn bytes_like(self, line: &Line, byte: u8) -> u64 {
        wide::bytes_like(line, byte)
    }

    #[inline(always)]
    fn halves_up_to(self, halves: &Halves, limit: u32) -> usize {
        wide::halves_up_to(halves, limit)
    }
}

/// Sets byte number `at` of `line`. It is 0 or `byte` already, and no other thread sets it to anything else
/// meanwhile. Release.
#[inline(always)]
pub(crate) fn set_byte(line: &Line, at: usize, byte: u8) {
    #[cfg(all(target_arch = "x86_64", not(miri), not(all(test, loom))))]
    // SAFETY: the remainder is inside of the line. A store of one byte is to the processor what the addition of bits
    // below is, for only this byte changes; and it keeps the order of stores.
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
    line[at / 8].fetch_or(u64::from(byte) << (8 * (at % 8)), Ordering::Release);
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

    use super::{Halves, Line};

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
    pub(super) fn halves_up_to(halves: &Halves, limit: u32) -> usize {
        let found: u64;
        // SAFETY: a `Wide` says that there are AVX-512BW and `popcnt`. Reads the 256 bytes of `halves` and
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
}

#[cfg(not(all(target_arch = "x86_64", not(all(test, loom)))))]
mod wide {
    //! Never called: no line is one instruction here.

    use super::{Halves, Line, bytes_like_by_word};

    pub(super) fn bytes_like(line: &Line, byte: u8) -> u64 {
        bytes_like_by_word(line, byte)
    }

    pub(super) fn halves_up_to(_: &Halves, _: u32) -> usize {
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
    fn a_byte_is_set_in_every_place_and_nowhere_else() {
        for place in 0..64 {
            let line = line([0; 8]);
            // Twice is as good as once, and the neighbour stays.
            [place, place ^ 1, place].into_iter().for_each(|at| set_byte(&line, at, 0xa5));
            for at in 0..64 {
                let byte = (line[at / 8].load(Ordering::Acquire) >> (8 * (at % 8))) as u8;
                assert_eq!(byte, if at / 2 == place / 2 { 0xa5 } else { 0 });
            }
        }
    }

    #[test]
    fn halves_are_counted_up_to_and_including_the_limit() {
        for count in 0..=64 {
            // Above all behind the last one, as bodies have it, and around the sign bit.
            let value = |at: u32| if at < count { 0x7fff_ff80 + 3 * at } else { u32::MAX };
            let halves: Halves = std::array::from_fn(|at| AtomicU32::new(value(at as u32)));
            for limit in (0x7fff_ff7e..0x8000_0050).chain([0, u32::MAX - 1, u32::MAX]) {
                let want = (0..64).filter(|&at| value(at) <= limit).count();
                assert_eq!(Narrow.halves_up_to(&halves, limit), want, "{limit:x}");
                if let Some(wide) = Wide::detect() {
                    assert_eq!(wide.halves_up_to(&halves, limit), want, "{limit:x}");
                }
            }
        }
    }
}
