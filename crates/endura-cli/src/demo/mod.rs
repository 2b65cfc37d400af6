//! `endura demo`: a million keys, a kill in the middle, and a check of every key; or a power loss, and what it leaves.

mod load;
mod maps;
mod power_loss;
mod power_writer;
mod report;
mod show;
mod stage;
mod verify;

pub(crate) use load::{WriterArgs, write};
pub(crate) use power_writer::{PowerWriterArgs, write as write_and_lose_power};
pub(crate) use show::{Args, run};
