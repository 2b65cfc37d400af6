//! Integers as Redis reads and writes them.

use super::failure::{Failure, Outcome};

/// Parses an integer: decimal digits without leading zeros, after a minus sign if it is negative, and nothing else.
pub(crate) fn integer(text: &[u8]) -> Outcome<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_canonical = match digits {
        [] => false,
        b"0" => digits.len() == text.len(),
        [first, ..] => *first != b'0' && digits.iter().all(u8::is_ascii_digit),
    };
    let parsed = || std::str::from_utf8(text).ok()?.parse().ok();
    is_canonical.then(parsed).flatten().ok_or(Failure::NotAnInteger)
}

/// Parses a number of things: an integer that is not negative.
pub(crate) fn how_many(text: &[u8]) -> Outcome<usize> {
    usize::try_from(integer(text)?).map_err(|_| Failure::NotAnInteger)
}

/// The decimal digits of an integer, without an allocation.
pub(crate) struct Digits {
    bytes: [u8; 20],
    from: usize,
}

impl Digits {
    pub(crate) fn of(number: i64) -> Self {
        let (mut bytes, mut from, mut rest) = ([0; 20], 20, number.unsigned_abs());
        loop {
            from -= 1;
            bytes[from] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            from -= 1;
            bytes[from] = b'-';
        }
        Self { bytes, from }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.from..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_redis() {
        for n in [0, 1, -1, 9, 10, 99, 100, i64::MAX, i64::MIN, i64::MIN + 1] {
            assert_eq!(Digits::of(n).as_bytes(), n.to_string().as_bytes());
            assert_eq!(integer(n.to_string().as_bytes()).unwrap(), n);
        }
        for text in ["", "-", "-0", "00", "01", "+1", " 1", "1 ", "1.0", "9223372036854775808", "x"]
        {
            assert!(integer(text.as_bytes()).is_err(), "{text}");
        }
        assert!(how_many(b"-1").is_err());
    }
}
