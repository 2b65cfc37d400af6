//! endura inside Redis: an ordered persistent map as a data type of stock Redis 7 and Valkey.
//!
//! In Redis, a key of this type holds only a number. Its entries are in a pool of endura, and so is a record of its
//! name, database and expiry. A server that was killed therefore has its maps again at its first command, without
//! loading a file. Sharding, replication and failover are those of Redis Cluster. `docs/redis.md` says how the module is
//! loaded and what it promises.
//!
//! This crate may use the public API of `endura`. A folder may use those above it in this table; `unsafe` is allowed in
//! `redis` and in the callbacks that Redis calls.
//!
//! | folder | what lives there |
//! | --- | --- |
//! | `store` | the pool: entries, and a catalogue of the keys they belong to; it knows nothing of Redis |
//! | `redis` | the module API; no other folder calls the server |
//! | `keys` | how keys are attached, changed, saved and removed: files, forks and events of the server |
//! | `commands` | the commands |
//!
//! | after a change of | run |
//! | --- | --- |
//! | anything here | `.ci/redis`: the module in real servers |
//! | keys, records, files or replication | `.ci/redis --campaign`: 25 minutes of kills and strange commands |
//! | what every command passes through | `.ci/redis --measure`, before and after |

mod commands;
mod keys;
mod load;
mod options;
mod redis;
mod store;
