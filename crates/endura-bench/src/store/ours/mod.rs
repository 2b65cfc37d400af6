//! endura's indexes.

mod strings;
mod words;

pub use strings::{RoartSession, RoartStore};
pub use words::EnduraStore;
