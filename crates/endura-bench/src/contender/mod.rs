//! Who takes part, and an open store of whatever type.

mod entrant;
mod list;

pub use entrant::Entrant;
pub use list::Contender;
