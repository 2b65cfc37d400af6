//! Every way to search, compared with the plain one.

use super::*;
use crate::cpu::vectors::Vectors;
use crate::sync::{AtomicU64, Ordering};

const LOW_BITS: u64 = 0x0101_0101_0101_0101;

fn line(words: [u64; 8]) -> Line {
    Line(words.map(AtomicU64::new))
}

/// Word by word, whatever this processor has.
#[derive(Debug, Clone, Copy)]
struct ByWord;

impl Lanes for ByWord {
    fn bytes_like(self, line: &Line, byte: u8) -> u64 {
        words::bytes_like(line, byte)
    }

    fn halves_up_to(self, halves: &Halves, limit: u32) -> usize {
        words::halves_up_to(halves, limit)
    }
}

/// AVX-512, whatever was forced.
fn wide() -> Option<Wide> {
    Vectors::available().any(|vectors| vectors == Vectors::Avx512).then(Wide::assume)
}

fn check_bytes(words: [u64; 8], byte: u8) {
    let line = line(words);
    let is_it = |at: &usize| (words[at / 8] >> (8 * (at % 8))) as u8 == byte;
    let want = (0..64).filter(is_it).fold(0_u64, |bits, at| bits | 1 << at);
    let check = |lanes: &dyn Fn(&Line, u8, Option<usize>) -> u64| {
        assert_eq!(lanes(&line, byte, None), want, "{byte} in {words:x?}");
        for first in 0..=60 {
            assert_eq!(lanes(&line, byte, Some(first)), want & 0xf << first, "{first}: {words:x?}");
        }
    };
    fn by(lanes: impl Lanes) -> impl Fn(&Line, u8, Option<usize>) -> u64 {
        move |line, byte, first| match first {
            Some(first) => lanes.four_like(line, byte, first),
            None => lanes.bytes_like(line, byte),
        }
    }
    check(&by(ByWord));
    check(&by(Narrow));
    if let Some(wide) = wide() {
        check(&by(wide));
    }
}

fn check_halves(values: [u32; 64], limit: u32) {
    let halves = Halves::default();
    halves.0.iter().zip(values).for_each(|(half, value)| half.store(value, Ordering::Relaxed));
    let want = values.iter().filter(|&&value| value <= limit).count();
    assert_eq!(ByWord.halves_up_to(&halves, limit), want, "{limit:x} in {values:x?}");
    assert_eq!(Narrow.halves_up_to(&halves, limit), want, "{limit:x} in {values:x?}");
    if let Some(wide) = wide() {
        assert_eq!(wide.halves_up_to(&halves, limit), want, "{limit:x} in {values:x?}");
    }
}

/// The `n`th pseudo-random number.
fn random(n: u64) -> u64 {
    let x = (n + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[test]
fn bytes_are_found_in_every_place_both_ways() {
    for byte in [0, 1, 2, 0x7f, 0x80, 0x81, 0xff_u8] {
        for place in 0..64 {
            let mut words = [u64::from(byte ^ 1) * LOW_BITS; 8];
            words[place / 8] ^= 1 << (8 * (place % 8));
            check_bytes(words, byte);
        }
    }
}

#[test]
fn random_lines_are_searched_as_word_by_word() {
    for n in 0..200 {
        // Only few different bytes, so that each occurs several times.
        let words = std::array::from_fn(|at| random(8 * n + at as u64) & 0x8101_8301_0181_0383);
        for byte in [0, 1, 2, 3, 0x80, 0x81, 0x83] {
            check_bytes(words, byte);
        }
    }
}

#[test]
fn a_byte_is_set_in_every_place_and_nowhere_else() {
    for place in 0..64 {
        let line = line([0; 8]);
        // Setting a byte twice has no further effect, and its neighbour does not change.
        [place, place ^ 1, place].into_iter().for_each(|at| set_byte(&line, at, 0xa5));
        for at in 0..64 {
            let byte = (line.0[at / 8].load(Ordering::Acquire) >> (8 * (at % 8))) as u8;
            assert_eq!(byte, if at / 2 == place / 2 { 0xa5 } else { 0 });
        }
    }
}

#[test]
fn halves_are_counted_up_to_and_including_the_limit() {
    const BEHIND: u32 = i32::MAX as u32;
    for count in 0..=64 {
        for step in [0, 1, 3, 0x0200_0000] {
            // The halves after the last are greater than every limit, as in the bodies of nodes.
            let value = |at: u32| if at < count { step * (at % 64) } else { BEHIND };
            let values: [u32; 64] = std::array::from_fn(|at| value(at as u32));
            let near = values.iter().flat_map(|&value| [value.saturating_sub(1), value, value + 1]);
            for limit in near.filter(|&limit| limit < BEHIND).chain([BEHIND - 1]) {
                check_halves(values, limit);
            }
        }
    }
}

#[test]
fn random_halves_are_counted() {
    for n in 0..300 {
        let mut values: [u32; 64] =
            std::array::from_fn(|at| (random(64 * n + at as u64) >> (33 + n % 20)) as u32);
        values.sort_unstable();
        for limit in 0..20 {
            check_halves(values, (random(limit) >> (33 + n % 20)) as u32);
        }
    }
}
