//! `endura bench readme`: the tables of the README.

mod command;
mod measure;
mod stranger;

pub(crate) use command::{Args, run};
