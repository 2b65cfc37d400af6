//! The module API of Redis, as safe as it gets: the only folder with `unsafe` besides the callbacks in `keys`.

pub(crate) mod api;
mod blocked;
mod context;
mod file;
mod key;
mod register;
mod text;

pub(crate) use context::{Context, Level, end, end_replica, enter, log};
pub(crate) use file::{Aof, Digest, InfoSection, Rdb};
pub(crate) use key::{from_raw, into_raw, lent};
pub(crate) use register::{Argument, Command, KeyUse, Kind, register, register_type, subscribe};
pub(crate) use text::{OwnText, Text};
