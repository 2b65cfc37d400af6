//! Space and lifetime: what lies where in a pool, who may use a chunk, and when it is free again.

mod layout;
mod space;

pub use layout::PAGE;
pub use space::{Guard, Session, Space};
