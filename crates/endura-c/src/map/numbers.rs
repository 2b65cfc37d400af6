//! Integers of C, as words and as encodings.
//!
//! The functions of the header pass every integer as 64 bits, a negative one as its two's complement. A map stores the
//! *word*: the number plus a bias, so that words sort as the numbers do. The encoding is the last bytes of the word,
//! from the largest down.

use std::ops::Deref;

use endura::dynamic::Type;

use crate::failure::{Failure, Outcome};
use crate::status::E_TYPE;

/// The integers of one type of at most 64 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    /// What is added to a number: half the range of a signed type, else 0.
    bias: u64,
    /// The largest word.
    largest: u64,
}

/// An encoding of at most 8 bytes.
pub(crate) struct Encoded {
    bytes: [u8; 8],
    from: usize,
}

impl Deref for Encoded {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[self.from..]
    }
}

impl Numbers {
    /// `None` for a type that is no integer of at most 64 bits.
    pub(crate) fn of(kind: &Type) -> Option<Self> {
        let &Type::Int { width: width @ 1..=8, signed } = kind else { return None };
        let largest = u64::MAX >> (64 - 8 * width);
        Some(Self { bias: if signed { largest / 2 + 1 } else { 0 }, largest })
    }

    /// The word of a number, if the type has it.
    #[inline(always)]
    pub(crate) fn word(self, number: u64) -> Outcome<u64> {
        let word = number.wrapping_add(self.bias);
        if word <= self.largest { Ok(word) } else { Err(self.out_of_range(number)) }
    }

    #[inline(always)]
    pub(crate) fn number(self, word: u64) -> u64 {
        word.wrapping_sub(self.bias)
    }

    /// The word that is `delta` further. Words sort as numbers do, and so leave their type where numbers would.
    #[inline]
    pub(crate) fn moved(self, word: u64, delta: i64) -> Outcome<u64> {
        let moved = word.checked_add_signed(delta).filter(|&moved| moved <= self.largest);
        moved.ok_or_else(|| {
            Failure::new(
                E_TYPE,
                format!(
                    "the type of the map does not have the sum with {delta}; nothing was changed: \
                     choose a wider type, or another step"
                ),
            )
        })
    }

    /// The encoding of a word.
    #[inline]
    pub(crate) fn encoded(self, word: u64) -> Encoded {
        Encoded { bytes: word.to_be_bytes(), from: self.largest.leading_zeros() as usize / 8 }
    }

    #[cold]
    fn out_of_range(self, number: u64) -> Failure {
        let shown = if self.bias == 0 { number.to_string() } else { (number as i64).to_string() };
        let text =
            format!("the type of the map does not have the number {shown}: choose a wider type");
        Failure::new(E_TYPE, text)
    }
}

#[cfg(test)]
mod tests {
    use endura::dynamic::{Datum, word};

    use super::*;

    #[test]
    fn numbers_are_encoded_as_the_library_does() {
        for bits in [8, 16, 32, 64] {
            for signed in [false, true] {
                let kind = Type::named(&format!("{}{bits}", if signed { 'i' } else { 'u' }));
                let numbers = Numbers::of(&kind).unwrap();
                let largest = if signed { i64::MAX >> (64 - bits) } else { i64::MAX };
                for number in [0, 1, 100, largest.min(127), -1, -128] {
                    let Ok(found) = numbers.word(number as u64) else {
                        assert!(number < 0 && !signed, "{number} of {kind}");
                        continue;
                    };
                    let datum = match signed {
                        true => Datum::Signed(number.into()),
                        false => Datum::Unsigned((number as u64).into()),
                    };
                    let mut encoding = Vec::new();
                    kind.encode(&datum, &mut encoding).unwrap();
                    assert_eq!(*numbers.encoded(found), *encoding, "{number} of {kind}");
                    assert_eq!((word(&encoding), numbers.number(found)), (found, number as u64));
                }
            }
        }
    }

    #[test]
    fn numbers_that_a_type_does_not_have_are_refused() {
        let of = |name: &str| Numbers::of(&Type::named(name)).unwrap();
        for (name, number) in
            [("u8", 256), ("i8", 128), ("i8", -129), ("u32", -1), ("i32", 1_i64 << 31)]
        {
            assert!(of(name).word(number as u64).is_err(), "{number} of {name}");
        }
        let bytes = of("i8");
        let at = |number: i64| bytes.word(number as u64).ok().unwrap();
        assert_eq!(bytes.moved(at(-128), 255).ok(), Some(at(127)));
        assert!(bytes.moved(at(-128), 256).is_err() && bytes.moved(at(-128), -1).is_err());
        assert!(of("u64").moved(u64::MAX, 1).is_err() && of("u64").moved(0, i64::MIN).is_err());
        for name in ["u128", "f64", "str", "Reverse<u64>", "(u8, u8)", "char"] {
            assert!(Numbers::of(&Type::named(name)).is_none(), "{name}");
        }
    }
}
