//! Conversions between objects of Python and encodings of the library.
//!
//! | type | taken | returned |
//! | --- | --- | --- |
//! | `i8` to `u128` | `int`, any object with `__index__` | `int` |
//! | `f32`, `f64` | `float`, `int`, any object with `__float__`, if the type has that number exactly | `float` |
//! | `bool` | `bool`, `numpy.bool` | `bool` |
//! | `()` | `None` | `None` |
//! | `char` | `str` of one character | `str` |
//! | `str` | `str` | `str` |
//! | `[u8]`, unknown types | `bytes`, any object with a buffer | `bytes` |
//! | `[u8; N]` | as `[u8]`, of N bytes | `bytes` |
//! | `Option<T>` | `None`, or as `T` | `None`, or as `T` |
//! | `Reverse<T>` | as `T` | as `T` |
//! | `(A, B)` | `tuple` | `tuple` |
//! | names that `python/endura/_stored.py` knows | `date`, `datetime`, `UUID` | the same |
//! | `json`, the caller's codecs | what their functions take | what they return |

mod absent;
mod decode;
mod encode;
mod encoded;
mod json;
mod misfit;
mod numbers;
mod numpy;
mod side;

pub(crate) use absent::absent;
pub(crate) use encode::{float, integer};
pub(crate) use encoded::Encoded;
pub(crate) use json::expect_json;
pub(crate) use misfit::class_name;
pub(crate) use numbers::{Numbers, bools, objects};
pub(crate) use numpy::{expect_unmasked, is_numpy};
pub(crate) use side::{Codec, Side, StoredAs};
