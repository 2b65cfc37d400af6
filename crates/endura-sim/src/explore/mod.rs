//! Crashes at every moment of a run, and everything that each may leave.

mod crash;
mod explorer;
mod killed;
mod next;
mod sessions;

pub use explorer::{Explorer, Start};
pub use next::{Next, visible};
