//! Files of entries: what `import` reads and `export` writes.
//!
//! | format | an entry is | bytes that are no text |
//! | --- | --- | --- |
//! | [`tsv`] | a line, a tab between key and value | as escapes ([`escape`](crate::values::escape)) |
//! | [`csv`] | a record as in RFC 4180 | as they are, between quotes if needed |
//! | [`json`] | an object on a line, `{"key":K,"value":V}` | `{"hex":"DIGITS"}` in place of a string |
//! | [`lines`] | a line that is the key; the value is empty | as they are; a line end is refused |
//! | [`dump`] | two lines, as LMDB's `mdb_dump` writes them | as hexadecimal digits |
//!
//! What a [`Sink`] writes of a map, a [`Source`] reads as exactly that map.

mod csv;
mod dump;
mod json;
mod lines;
mod name;
mod sink;
mod source;
#[cfg(test)]
mod tests;
mod tsv;
mod utf16;

pub(crate) use lines::{Flaw, Lines};
pub(crate) use name::{FORMATS, FormatName, Style};
pub(crate) use sink::Sink;
pub(crate) use source::Source;
