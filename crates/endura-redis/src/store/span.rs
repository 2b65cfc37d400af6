//! Ranges of fields, with the bounds of ZRANGEBYLEX.

use std::ops::Bound;

use super::failure::{Failure, Outcome};

/// A range of fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: Bound<Vec<u8>>,
    pub(crate) to: Bound<Vec<u8>>,
}

impl Span {
    pub(crate) const ALL: Self = Self { from: Bound::Unbounded, to: Bound::Unbounded };

    /// From `min` to `max`, each `-` (the lowest), `+` (the highest), `[field` (with the field) or `(field` (without).
    /// `None` if no field can be in the span: `min` is `+`, or `max` is `-`.
    pub(crate) fn between(min: &[u8], max: &[u8]) -> Outcome<Option<Self>> {
        let (from, to) = (End::of(min)?, End::of(max)?);
        Ok(match (from, to) {
            (End::Highest, _) | (_, End::Lowest) => None,
            (from, to) => Some(Self { from: from.bound(), to: to.bound() }),
        })
    }

    /// The fields that start with `prefix`.
    pub(crate) fn prefix(prefix: &[u8]) -> Self {
        let mut end = prefix.to_vec();
        // The first string above all that start with `prefix`: the last byte of `prefix` that is below 255 is raised by one,
        // and what follows it is cut off.
        while end.last() == Some(&u8::MAX) {
            end.pop();
        }
        let to = match end.last_mut() {
            Some(last) => {
                *last += 1;
                Bound::Excluded(end)
            }
            None => Bound::Unbounded,
        };
        Self { from: Bound::Included(prefix.to_vec()), to }
    }

    /// The fields after `field`.
    pub(crate) fn behind(field: &[u8]) -> Self {
        Self { from: Bound::Excluded(field.to_vec()), to: Bound::Unbounded }
    }
}

/// One bound, as a client writes it.
enum End {
    Lowest,
    Highest,
    At(Bound<Vec<u8>>),
}

impl End {
    fn of(text: &[u8]) -> Outcome<Self> {
        match text {
            b"-" => Ok(Self::Lowest),
            b"+" => Ok(Self::Highest),
            [b'[', field @ ..] => Ok(Self::At(Bound::Included(field.to_vec()))),
            [b'(', field @ ..] => Ok(Self::At(Bound::Excluded(field.to_vec()))),
            _ => Err(Failure::Says("ERR min or max not valid string range item")),
        }
    }

    fn bound(self) -> Bound<Vec<u8>> {
        match self {
            Self::At(bound) => bound,
            Self::Lowest | Self::Highest => Bound::Unbounded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_zrangebylex() {
        assert_eq!(Span::between(b"-", b"+").unwrap(), Some(Span::ALL));
        assert_eq!(Span::between(b"+", b"[a").unwrap(), None);
        assert_eq!(Span::between(b"[a", b"-").unwrap(), None);
        let span = Span::between(b"[a", b"(b").unwrap().unwrap();
        assert_eq!(span.from, Bound::Included(b"a".to_vec()));
        assert_eq!(span.to, Bound::Excluded(b"b".to_vec()));
        for wrong in [&b""[..], b"a", b"--", b"+a"] {
            assert!(Span::between(wrong, b"+").is_err());
            assert!(Span::between(b"-", wrong).is_err());
        }
    }

    #[test]
    fn a_prefix_ends_before_the_next() {
        assert_eq!(Span::prefix(b"ab").to, Bound::Excluded(b"ac".to_vec()));
        assert_eq!(Span::prefix(b"a\xFF\xFF").to, Bound::Excluded(b"b".to_vec()));
        assert_eq!(Span::prefix(b"\xFF").to, Bound::Unbounded);
        assert_eq!(Span::prefix(b"").to, Bound::Unbounded);
    }
}
