//! Keys of Redis whose entries are in the pool: how they come to be there, and what happens to them.

mod append_only;
mod attach;
mod checkpoints;
mod events;
mod fork;
mod methods;
mod parting;
mod session;

pub(crate) use checkpoints::log_checkpoints;
pub(crate) use events::subscribe_to_all;
pub(crate) use fork::{is_serving, prepare_for_forks};
pub(crate) use methods::register_methods;
pub(crate) use session::{Session, session};
