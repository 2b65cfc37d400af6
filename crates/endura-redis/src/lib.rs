//! endura inside Redis: an ordered persistent map as a data type of stock Redis 7 and Valkey.
//!
//! A key of this type holds a number; its entries, and all that Redis keeps of the key, are in a pool of endura. So a
//! server that was killed has its maps at its first command, without loading anything, and Redis Cluster shards,
//! replicates and fails over. `docs/redis.md` says how it is loaded and what it promises.
//!
//! | folder | what |
//! | --- | --- |
//! | `store` | the pool: entries, and a catalogue of the keys they belong to; no word of Redis |
//! | `redis` | the module API: all of it that is used, and nothing above it calls the server otherwise |
//! | `keys` | how keys come to be, move and go; files, forks and events of the server |
//! | `commands` | the commands |

mod commands;
mod keys;
mod load;
mod options;
mod redis;
mod store;
