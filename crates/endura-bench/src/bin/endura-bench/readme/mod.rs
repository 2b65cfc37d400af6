//! `endura bench readme`: the tables of the README.

mod command;
mod measure;

pub(crate) use command::{Args, run};
