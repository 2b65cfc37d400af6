//! endura's indexes.

mod pool;
mod strings;
mod words;

pub use pool::EnduraStore;
pub use strings::ByteTreeClient;
