//! Copies out of words that other threads may store to.
//!
//! Such bytes cannot be borrowed as a slice: in a damaged file they may belong to two chunks, one of which another
//! thread is writing. So they are copied. In a damaged file the copy may be a mixture of old and new bytes, which is
//! not undefined behaviour. The loads are in `asm!`, so that they may be wider than a word: the compiler makes no
//! assumption about the memory that they read.

use std::sync::atomic::AtomicU64;
#[cfg(any(
    all(test, not(loom)),
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    miri
))]
use std::sync::atomic::Ordering;

/// Copies the `out.len()` bytes of `words` that begin at byte `from` to `out`.
///
/// # Panics
///
/// If the words end before these bytes do.
#[inline(always)]
pub(crate) fn copy_out(words: &[AtomicU64], from: usize, out: &mut [u8]) {
    check(words, from, out.len());
    // SAFETY: `check` found that the words have these bytes, and `out` has `out.len()`.
    unsafe { copy(words, from, out.as_mut_ptr(), out.len()) }
}

/// Appends the `len` bytes of `words` that begin at byte `from` to `out`.
///
/// # Panics
///
/// If the words end before these bytes do.
#[inline(always)]
pub(crate) fn append_out(words: &[AtomicU64], from: usize, len: usize, out: &mut Vec<u8>) {
    check(words, from, len);
    out.reserve(len);
    let end = out.len();
    // SAFETY: `check` found that the words have these bytes. The spare capacity has at least `len` bytes, and they are
    // initialised before the length includes them.
    unsafe {
        copy(words, from, out.as_mut_ptr().add(end), len);
        out.set_len(end + len);
    }
}

#[inline(always)]
fn check(words: &[AtomicU64], from: usize, len: usize) {
    let bytes = size_of_val(words);
    assert!(from <= bytes && len <= bytes - from, "beyond the end of the words");
}

/// # Safety
///
/// The words have `from + len` bytes, and `to` has space for `len`, which no reference covers.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#[inline(always)]
unsafe fn copy(words: &[AtomicU64], from: usize, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { wide::copy(words.as_ptr().cast::<u8>().add(from), to, len) }
}

/// # Safety
///
/// As for the `copy` of other processors above.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
#[inline(always)]
unsafe fn copy(words: &[AtomicU64], from: usize, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise; the bytes are initialised before the slice is made.
    let out = unsafe {
        to.write_bytes(0, len);
        std::slice::from_raw_parts_mut(to, len)
    };
    by_words(|i| words[i].load(Ordering::Relaxed), from, out);
}

/// Fills `out` with the bytes from byte `from` on of the words that `load` returns, where `load(i)` is word `i`.
#[inline(always)]
pub(crate) fn by_words(load: impl Fn(usize) -> u64, from: usize, out: &mut [u8]) {
    let (mut word, shift) = (from / 8, 8 * (from % 8) as u32);
    let mut chunks = out.chunks_exact_mut(8);
    if shift == 0 {
        for chunk in chunks.by_ref() {
            chunk.copy_from_slice(&load(word).to_le_bytes());
            word += 1;
        }
    } else {
        for chunk in chunks.by_ref() {
            let value = load(word) >> shift | load(word + 1) << (64 - shift);
            chunk.copy_from_slice(&value.to_le_bytes());
            word += 1;
        }
    }
    let rest = chunks.into_remainder();
    if !rest.is_empty() {
        let mut value = load(word) >> shift;
        if rest.len() > 8 - shift as usize / 8 {
            value |= load(word + 1) << (64 - shift);
        }
        rest.copy_from_slice(&value.to_le_bytes()[..rest.len()]);
    }
}

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod wide {
    use std::arch::asm;

    /// # Safety
    ///
    /// `len` bytes can be loaded at `from` and stored at `to`, and no other thread stores to those at `to`.
    #[inline(always)]
    pub(super) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
        // SAFETY: each offset plus its size is at most `len`.
        unsafe {
            match len {
                65.. => {
                    let mut at = 0;
                    while at + 64 < len {
                        sixty_four(from.add(at), to.add(at));
                        at += 64;
                    }
                    // The last 64 bytes. They may overlap those already copied.
                    sixty_four(from.add(len - 64), to.add(len - 64));
                }
                33..65 => {
                    thirty_two(from, to);
                    thirty_two(from.add(len - 32), to.add(len - 32));
                }
                16..33 => {
                    sixteen(from, to);
                    sixteen(from.add(len - 16), to.add(len - 16));
                }
                8..16 => {
                    eight(from, to);
                    eight(from.add(len - 8), to.add(len - 8));
                }
                4..8 => {
                    four(from, to);
                    four(from.add(len - 4), to.add(len - 4));
                }
                1..4 => {
                    // If there are at most three bytes, the first, a middle and the last byte are all of them.
                    for at in [0, len / 2, len - 1] {
                        one(from.add(at), to.add(at));
                    }
                }
                0 => {}
            }
        }
    }

    /// # Safety
    ///
    /// 64 bytes can be loaded at `from` and stored at `to`.
    #[inline(always)]
    unsafe fn sixty_four(from: *const u8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            thirty_two(from, to);
            thirty_two(from.add(32), to.add(32));
        }
    }

    /// # Safety
    ///
    /// 32 bytes can be loaded at `from` and stored at `to`.
    #[inline(always)]
    unsafe fn thirty_two(from: *const u8, to: *mut u8) {
        let (low, high): (Sixteen, Sixteen);
        // SAFETY: the caller's promise. The instructions need no alignment and change no memory.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            asm!("movdqu {0}, [{2}]", "movdqu {1}, [{2} + 16]", out(xmm_reg) low, out(xmm_reg) high, in(reg) from,
                options(nostack, preserves_flags, readonly));
            #[cfg(target_arch = "aarch64")]
            asm!("ldp {0:q}, {1:q}, [{2}]", out(vreg) low, out(vreg) high, in(reg) from,
                options(nostack, preserves_flags, readonly));
            to.cast::<Sixteen>().write_unaligned(low);
            to.add(16).cast::<Sixteen>().write_unaligned(high);
        }
    }

    /// Defines `$name`, which copies one `$type`: a load in `asm!`, then a store.
    macro_rules! moves {
        ($($name:ident, $type:ty, $x86:literal, $arm:literal, $class_x86:ident, $class_arm:ident;)*) => { $(
            /// # Safety
            ///
            /// A `$type` can be loaded at `from` and stored at `to`.
            #[inline(always)]
            unsafe fn $name(from: *const u8, to: *mut u8) {
                let loaded: $type;
                // SAFETY: the caller's promise. The instruction needs no alignment and changes no memory.
                unsafe {
                    #[cfg(target_arch = "x86_64")]
                    asm!($x86, out($class_x86) loaded, in(reg) from,
                        options(nostack, preserves_flags, readonly));
                    #[cfg(target_arch = "aarch64")]
                    asm!($arm, out($class_arm) loaded, in(reg) from,
                        options(nostack, preserves_flags, readonly));
                    to.cast::<$type>().write_unaligned(loaded);
                }
            }
        )* };
    }

    #[cfg(target_arch = "x86_64")]
    type Sixteen = std::arch::x86_64::__m128i;
    #[cfg(target_arch = "aarch64")]
    type Sixteen = std::arch::aarch64::uint8x16_t;

    moves! {
        one, u8, "mov {0}, [{1}]", "ldrb {0:w}, [{1}]", reg_byte, reg;
        four, u32, "mov {0:e}, [{1}]", "ldr {0:w}, [{1}]", reg, reg;
        eight, u64, "mov {0}, [{1}]", "ldr {0}, [{1}]", reg, reg;
        sixteen, Sixteen, "movdqu {0}, [{1}]", "ldr {0:q}, [{1}]", xmm_reg, vreg;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn copies_have_all_bytes_and_touch_no_others() {
        let bytes: Vec<u8> = (0..320).map(|i: u32| (i * 7 + 1) as u8).collect();
        let word = |chunk: &[u8; 8]| AtomicU64::new(u64::from_le_bytes(*chunk));
        let words: Vec<AtomicU64> = bytes.as_chunks().0.iter().map(word).collect();
        for from in 0..24 {
            for len in 0..=(bytes.len() - from) {
                let expected = &bytes[from..from + len];
                let mut out = vec![0xEE; len + 2];
                copy_out(&words, from, &mut out[1..=len]);
                assert_eq!((out[0], &out[1..=len], out[len + 1]), (0xEE, expected, 0xEE));
                let mut out = vec![0xEE; 3];
                append_out(&words, from, len, &mut out);
                assert_eq!(out, [&[0xEE; 3], expected].concat());
                let mut out = vec![0; len];
                by_words(|i| words[i].load(Ordering::Relaxed), from, &mut out);
                assert_eq!(out, expected);
            }
        }
    }

    #[test]
    #[should_panic(expected = "beyond the end")]
    fn a_copy_ends_with_the_words() {
        copy_out(&[AtomicU64::new(0)], 1, &mut [0; 8]);
    }
}
