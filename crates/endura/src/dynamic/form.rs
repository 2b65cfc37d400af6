//! The two forms of a map, and what is written once for both.
//!
//! A map of words and a map of byte strings have the same methods, with arguments of different types. [`in_form!`]
//! expands an expression once for each form. The traits here convert the arguments and results of both.

use std::ops::Deref;

use super::encoding::{Encoding, word};

/// Something that has one form for maps of words, and another for maps of byte strings.
#[derive(Debug, Clone)]
pub enum Form<W, B> {
    /// Encodings of at most 8 bytes as big-endian numbers.
    Words(W),
    /// Encodings as they are.
    Bytes(B),
}

/// Evaluates an expression for the contents of a [`Form`], whichever form they have. `=> Form` wraps the result in a
/// [`Form`] again.
macro_rules! in_form {
    ($form:expr, $inner:pat => Form: $call:expr) => {
        match $form {
            $crate::dynamic::Form::Words($inner) => $crate::dynamic::Form::Words($call),
            $crate::dynamic::Form::Bytes($inner) => $crate::dynamic::Form::Bytes($call),
        }
    };
    ($form:expr, $inner:pat => $call:expr) => {
        match $form {
            $crate::dynamic::Form::Words($inner) => $call,
            $crate::dynamic::Form::Bytes($inner) => $call,
        }
    };
}
pub(super) use in_form;

/// The number of bytes of a word that belong to an encoding. Byte strings ignore it.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordWidth(pub(super) usize);

/// An argument of a map's method, made of an encoding that was checked.
pub(super) trait Argument<'a> {
    fn of(encoding: &'a [u8]) -> Self;
}

impl Argument<'_> for u64 {
    #[inline]
    fn of(encoding: &[u8]) -> Self {
        word(encoding)
    }
}

impl<'a> Argument<'a> for &'a [u8] {
    #[inline]
    fn of(encoding: &'a [u8]) -> Self {
        encoding
    }
}

/// A key or a value that a map lends to a closure.
pub(super) trait Lent {
    fn lent(self, width: WordWidth) -> impl Deref<Target = [u8]>;
}

impl Lent for u64 {
    #[inline]
    fn lent(self, width: WordWidth) -> impl Deref<Target = [u8]> {
        Encoding::of_word(self, width.0)
    }
}

impl Lent for &[u8] {
    #[inline]
    fn lent(self, _: WordWidth) -> impl Deref<Target = [u8]> {
        self
    }
}

/// A key or a value that a map returns, or that a closure returns to the map.
pub(super) trait Owned {
    fn encoding(self, width: WordWidth) -> Encoding;
    fn of(encoding: Vec<u8>) -> Self;
}

impl Owned for u64 {
    #[inline]
    fn encoding(self, width: WordWidth) -> Encoding {
        Encoding::of_word(self, width.0)
    }

    #[inline]
    fn of(encoding: Vec<u8>) -> Self {
        word(&encoding)
    }
}

impl Owned for Vec<u8> {
    #[inline]
    fn encoding(self, _: WordWidth) -> Encoding {
        Encoding::of_bytes(self)
    }

    #[inline]
    fn of(encoding: Self) -> Self {
        encoding
    }
}
