//! A server of memcached's text protocol over one map of an endura pool. Items survive the process: a server that was
//! killed answers with all of them a few milliseconds after its start.
//!
//! | module | what |
//! | --- | --- |
//! | [`clock`] | seconds since 1970, and times of expiry |
//! | [`store`] | items in a map, and what each command does to them |
//! | [`protocol`] | bytes of a connection: lines, data blocks, replies |
//! | [`server`] | threads, sockets, the end |
//!
//! Each uses only those above it.

#![forbid(unsafe_code)]

mod clock;
mod protocol;
mod server;
mod store;

pub use server::{Config, Server};
pub use store::StoreOptions;
