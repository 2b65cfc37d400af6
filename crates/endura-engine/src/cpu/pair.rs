//! A compare-and-exchange of two neighbouring words.
//!
//! The exchange is one instruction (`cmpxchg16b`), or one exclusive pair of them (`ldaxp`, `stlxp`), on memory whose
//! words are also accessed one by one. Processors define such mixed accesses, but the memory model of the language does
//! not. So the instruction is in `asm!`, which the compiler treats as a call to unknown code.
//!
//! The exchange is atomic for other *threads*. A crash may keep one of the two words and lose the other, so a
//! protocol that has to survive a crash changes one of them at a time.

use std::sync::atomic::AtomicU64;

/// Two words in 16 aligned bytes.
#[derive(Debug)]
#[repr(C, align(16))]
pub(crate) struct Pair(pub(crate) [AtomicU64; 2]);

/// Whether this processor can exchange two words at once. Every AArch64 processor can, and so can every x86-64
/// processor made since about 2006.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_pair_exchange() -> bool {
    std::arch::is_x86_feature_detected!("cmpxchg16b")
}

/// Whether this processor can exchange two words at once.
#[cfg(not(target_arch = "x86_64"))]
pub fn has_pair_exchange() -> bool {
    cfg!(target_arch = "aarch64")
}

/// Replaces both words of `pair` if they are `old`, else returns the words found. `AcqRel`.
/// Always fails on processors without the instruction.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn exchange(pair: &Pair, old: [u64; 2], new: [u64; 2]) -> Result<(), [u64; 2]> {
    // The check is one load, because the standard library caches the result of `cpuid`.
    if !has_pair_exchange() {
        return Err(words(pair));
    }
    let (mut low, mut high) = (old[0], old[1]);
    // SAFETY: the processor has the instruction, and `pair` is 16 aligned bytes of shared, writable memory. The
    // compiler reserves `rbx`, so it is swapped in and out around the instruction; the address is in another register.
    unsafe {
        std::arch::asm!(
            "xchg {new_low}, rbx",
            "lock cmpxchg16b [rdi]",
            "mov rbx, {new_low}",
            new_low = inout(reg) new[0] => _,
            in("rcx") new[1],
            inout("rax") low,
            inout("rdx") high,
            in("rdi") std::ptr::from_ref(pair),
            options(nostack),
        );
    }
    // The instruction returns the words that it found. They are `old` if, and only if, it has exchanged.
    if [low, high] == old { Ok(()) } else { Err([low, high]) }
}

/// Replaces both words of `pair` if they are `old`, else returns the words found. `AcqRel`.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn exchange(pair: &Pair, old: [u64; 2], new: [u64; 2]) -> Result<(), [u64; 2]> {
    let (mut low, mut high): (u64, u64);
    // SAFETY: `pair` is 16 aligned bytes of shared, writable memory. If the words are not `old`, the words found are
    // stored back, because only a successful store proves that both were read at one moment.
    unsafe {
        std::arch::asm!(
            "2:",
            "ldaxp {low}, {high}, [{pair}]",
            "cmp {low}, {old_low}",
            "ccmp {high}, {old_high}, #0, eq",
            "csel {put_low}, {new_low}, {low}, eq",
            "csel {put_high}, {new_high}, {high}, eq",
            "stlxp {failed:w}, {put_low}, {put_high}, [{pair}]",
            "cbnz {failed:w}, 2b",
            low = out(reg) low,
            high = out(reg) high,
            put_low = out(reg) _,
            put_high = out(reg) _,
            failed = out(reg) _,
            pair = in(reg) std::ptr::from_ref(pair),
            old_low = in(reg) old[0],
            old_high = in(reg) old[1],
            new_low = in(reg) new[0],
            new_high = in(reg) new[1],
            options(nostack),
        );
    }
    if [low, high] == old { Ok(()) } else { Err([low, high]) }
}

/// Never exchanges: this processor has no such instruction.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn exchange(pair: &Pair, _: [u64; 2], _: [u64; 2]) -> Result<(), [u64; 2]> {
    Err(words(pair))
}

/// Both words, read one after the other.
#[cfg(not(target_arch = "aarch64"))]
#[cold]
fn words(pair: &Pair) -> [u64; 2] {
    [&pair.0[0], &pair.0[1]].map(|word| word.load(std::sync::atomic::Ordering::Acquire))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::Ordering;

    fn pair(words: [u64; 2]) -> Pair {
        Pair(words.map(AtomicU64::new))
    }

    #[test]
    fn both_words_are_compared_and_both_are_replaced() {
        assert!(has_pair_exchange(), "on every machine that tests run on");
        let words = pair([1, 2]);
        assert_eq!(exchange(&words, [1, 3], [9, 9]), Err([1, 2]));
        assert_eq!(exchange(&words, [2, 2], [9, 9]), Err([1, 2]));
        assert_eq!(exchange(&words, [1, 2], [u64::MAX, 0]), Ok(()));
        assert_eq!(exchange(&words, [1, 2], [9, 9]), Err([u64::MAX, 0]));
        assert_eq!(exchange(&words, [u64::MAX, 0], [u64::MAX, 0]), Ok(()));
    }

    /// Four threads exchange both words of a pair whose sum stays 0, and never see another sum.
    #[test]
    fn no_thread_sees_half_an_exchange() {
        let words = pair([0, 0]);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut now = [0, 0];
                    for _ in 0..20_000 {
                        while let Err(found) =
                            exchange(&words, now, [now[0].wrapping_add(1), !now[0]])
                        {
                            assert_eq!(found[0].wrapping_add(found[1]), 0);
                            now = found;
                        }
                        now = [now[0].wrapping_add(1), !now[0]];
                    }
                });
            }
        });
        assert_eq!(words.0[0].load(Ordering::Acquire), 80_000);
        assert_eq!(
            words.0[0].compare_exchange(80_000, 5, Ordering::AcqRel, Ordering::Acquire),
            Ok(80_000)
        );
        assert_eq!(exchange(&words, [80_000, 0], [1, 1]), Err([5, 80_000_u64.wrapping_neg()]));
    }
}
