//! Open maps, and how numbers of C become their keys and values.

mod integers;
mod numbers;
mod open;
mod types;
mod whole;

pub use open::{endura_map_open, endura_map_release};
pub use types::{endura_key_number, endura_map_kind, endura_map_types, endura_number_key};
pub use whole::{endura_approximate_len, endura_clear, endura_len};

pub(crate) use open::OpenMap;
