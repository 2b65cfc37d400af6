//! The commands.

mod admin;
mod edit;
mod range;
mod read;
mod table;
mod workers;
mod write;

pub(crate) use table::{info_section, register_all};
pub(crate) use workers::start;
