//! endura's indexes.

mod strings;
mod words;

pub use strings::{RoartClient, RoartStore};
pub use words::EnduraStore;
