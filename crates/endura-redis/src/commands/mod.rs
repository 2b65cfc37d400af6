//! The commands.

mod acl;
mod admin;
mod edit;
mod range;
mod read;
mod table;
mod workers;
mod write;

pub(crate) use acl::watch_users;
pub(crate) use table::{info_section, register_all};
pub(crate) use workers::start;
