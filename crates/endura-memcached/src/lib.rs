//! A server of memcached's text protocol over one map of an endura pool. Items survive the process: after `kill -9` the
//! next start serves all of them. `docs/memcached.md` says what it promises.
//!
//! This crate may use the public API of `endura`, and its program may use `endura-console` too. It has no `unsafe`. A
//! module may use those above it in this table:
//!
//! | module | what lives there |
//! | --- | --- |
//! | `number` | numbers as clients write them |
//! | `wording` | the library's sentences in the words of this program |
//! | `clock` | seconds since 1970, and times of expiry |
//! | `eviction` | what is least worth keeping |
//! | `store` | items in a map, and the effect of each command on them |
//! | `protocol` | the bytes of a connection: lines, data blocks, replies |
//! | `server` | threads and sockets |
//!
//! After a change run `cargo test -p endura-memcached`. It compares the replies with those of Debian's memcached, which
//! should be installed. After a change of `store` also run it with `ENDURA_KILLS=5000`, and after a change of `protocol`
//! with `ENDURA_FUZZ_SECONDS=1800` and `ENDURA_PACKETS=1000000`.

#![forbid(unsafe_code)]

mod clock;
pub mod eviction;
mod number;
mod protocol;
mod server;
mod store;
mod wording;

pub use server::{Config, Listener, Server, TooFewFiles, allow_connections};
pub use store::{MAX_ITEM, StoreOptions};
pub use wording::{in_words, sentence};
