//! The medium of explorers.

mod actor;
mod medium;
mod open;
mod state;
mod views;

pub use actor::{act_as, actor};
pub use medium::{Blocked, ENDLESS, Endless, Move, POISON, Pause, Sim};
pub use views::Stale;
