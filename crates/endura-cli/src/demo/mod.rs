//! `endura demo`: a million keys, a kill in the middle, and a check of every key.

mod load;
mod maps;
mod report;
mod show;
mod verify;

pub(crate) use load::{WriterArgs, write};
pub(crate) use show::{Args, run};
