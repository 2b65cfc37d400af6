//! The commands.

mod admin;
mod edit;
mod range;
mod read;
mod table;
mod workers;
mod write;

pub(crate) use admin::info_section;
pub(crate) use table::register_all;
pub(crate) use workers::start;
