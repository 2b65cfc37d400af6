//! A server of memcached's text protocol over one map of an endura pool. Items survive the process: after `kill -9` the
//! next start serves all of them.
//!
//! | module | what |
//! | --- | --- |
//! | `number` | numbers as clients write them |
//! | `clock` | seconds since 1970, and times of expiry |
//! | `store` | items in a map, and the effect of each command on them |
//! | `protocol` | the bytes of a connection: lines, data blocks, replies |
//! | `server` | threads and sockets |
//!
//! Each uses only those above it.

#![forbid(unsafe_code)]

mod clock;
mod number;
mod protocol;
mod server;
mod store;

pub use server::{Config, Server, TooFewFiles, allow_connections};
pub use store::{MAX_ITEM, StoreOptions};
