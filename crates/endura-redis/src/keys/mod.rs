//! The keys of Redis that have their entries in the pool: how they are attached, followed, saved and removed.

mod append_only;
mod attach;
mod checkpoints;
mod events;
mod evictions;
mod fork;
mod kept;
mod master;
mod methods;
mod parting;
mod pieces;
mod session;
mod sizes;
mod slots;

pub(crate) use checkpoints::log_checkpoints;
pub(crate) use events::subscribe_to_all;
pub(crate) use evictions::evicts_maps;
pub(crate) use fork::{is_serving, prepare_for_forks};
pub(crate) use methods::register_methods;
pub(crate) use session::{Session, session};
