//! Child processes that are killed, and what they left.

mod kills;
mod loader;
mod round;

pub(crate) use kills::{Args, broken, run};
pub(crate) use loader::{Killed, LoaderArgs, load, load_and_kill};
pub(crate) use round::{WriterArgs, write};
