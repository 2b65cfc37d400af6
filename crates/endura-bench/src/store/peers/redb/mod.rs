//! redb.

mod database;
mod strings;
mod words;

pub use strings::RedbStrings;
pub use words::RedbWords;
