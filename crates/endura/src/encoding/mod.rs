//! The types of keys and values, and their encodings.
//!
//! This module may use `tree`, whose [`Bytes`](endura_engine::tree::Bytes) it reads, and the modules below. After a
//! change run `.ci/quick` and `cargo test -p endura-tests`. An encoding must not change for a type name that pools may
//! have recorded; a type in the table has the same encoding in `dynamic`, in the command and in Python.
//!
//! | type | bytes | as a word | order | recorded name |
//! | --- | --- | --- | --- | --- |
//! | `u8` to `u128`; `usize` | big-endian | up to `u64` | by value | `u8` ...; `u64` |
//! | `i8` to `i128`; `isize` | big-endian, sign bit flipped | up to `i64` | by value | `i8` ...; `i64` |
//! | `f32`, `f64` | sign bit flipped, all bits of negative ones | yes | `total_cmp` | `f32`, `f64` |
//! | `bool`, `char`, `()` | 1 byte, 4 bytes, none | yes | by value | `bool`, `char`, `()` |
//! | `[u8; N]` | itself | up to 8 bytes | bytewise | `[u8; N]` |
//! | `str`, `String`; `[u8]`, `Vec<u8>` | itself; in a tuple each 0 becomes 0, 255, and 0, 1 marks the end | no | bytewise | `str`; `[u8]` |
//! | `Option<T>` | 0, or 1 and `T` | no | `None` first | `Option<u32>` |
//! | `Reverse<T>` | `T` as part of a tuple, all bits flipped | as `T` | largest first | `Reverse<u32>` |
//! | tuples of 2 to 4, nested | one part after the other | up to 8 bytes | field by field | `(u64, str)` |
//! | [`Newtype`](newtype::Newtype) | as `Stored` | as `Stored` | as `Stored` | as `Stored`, or `Post: (u64, u32)` with `NAME` |
//! | `Json<T>` (values) | JSON | no | | `json<User>`: the name that serde knows |
//! | `Postcard<T>` (values) | postcard | no | | `postcard<Page<u32>>`: the name that serde knows, with its arguments |
//!
//! All encodings of keys sort byte by byte as the values do.

pub(crate) mod bound;
#[cfg(any(feature = "json", feature = "postcard"))]
pub(crate) mod codecs;
pub(crate) mod fixed;
#[cfg(feature = "json")]
pub(crate) mod json_text;
pub(crate) mod newtype;
#[cfg(any(feature = "json", feature = "postcard"))]
pub(crate) mod readable;
pub(crate) mod scratch;
#[cfg(any(feature = "json", feature = "postcard"))]
pub(crate) mod serde_names;
pub(crate) mod strings;
pub(crate) mod tuples;
pub(crate) mod value;
pub(crate) mod wrappers;
