//! **endura is a persistent ordered map that you open instead of load.**
//!
//! One pool file, mapped into memory, holds any number of named maps. Every operation works on the
//! mapped bytes with 8-byte atomic stores in a chosen order, so there is no log to replay and no page
//! to decode: a pool opens [in milliseconds](#what-an-open-after-kill--9-costs), also after `kill -9`.
//!
//! ```
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("data.endura");
//! use endura::{Map, Pool};
//!
//! let pool = Pool::open(&path)?;
//! let users: Map<str, str> = pool.map("users")?;
//! users.insert("ada", "1815")?;
//!
//! let hits = pool.map::<u64, u64>("hits")?;
//! hits.update(7, |n| n.unwrap_or(0) + 1)?;
//! for entry in hits.range(5..=10).rev() {
//!     let (key, value) = entry?;
//!     assert_eq!((key, value), (7, 1));
//! }
//! # Ok::<(), endura::Error>(())
//! ```
//!
//! # What an operation that returned survives
//!
//! | the pool lies on | `kill -9`, panic, abort | power loss, kernel crash |
//! | --- | --- | --- |
//! | persistent memory (DAX): [`Adr`](Domain::Adr), [`Eadr`](Domain::Eadr) | yes | yes |
//! | any local disk file system: [`PageCache`](Domain::PageCache) | yes | the state of the last [checkpoint](Checkpoints): by default at most 30 s old, plus the time that a checkpoint takes; without a checkpoint the pool is detected as possibly torn and refused ([`Error::NeedsRestore`]) |
//! | tmpfs | yes | the file is gone; if its checkpoint is [on a disk](Checkpoints::in_file), the pool is made again from that |
//!
//! An operation in flight is kept completely or not at all, and a value that a read returned is never taken back.
//! Closing a pool ([`Pool::close`], or dropping the last handle) syncs it to the disk.
//!
//! # What an open after `kill -9` costs
//!
//! | kind | the first lookup returns | because |
//! | --- | --- | --- |
//! | [`FastFair`](Kind::FastFair), [`Roart`](Kind::Roart) | after 1 ms at 50,000,000 keys | an open reads a header in each 2 MiB of the file |
//! | [`NbTree`](Kind::NbTree) | after 0.5, 1.4, 8.4 and 40.7 ms at 0.1, 1, 10 and 50 million keys | inner nodes are in DRAM: the first operation on each eighth of the keys rebuilds them |
//!
//! `endura bench reopen` prints these times, for a file in the page cache of tmpfs. If the file is not cached, the reads from the disk are
//! added. What an update writes to a disk is in [`PoolOptions::read_mostly`].
//!
//! # Features
//!
//! | feature | what it adds | off by default, for |
//! | --- | --- | --- |
//! | `json` | `Json<T>`: values of any type with serde, stored as JSON, which other languages and the command read | serde and serde_json |
//! | `postcard` | `Postcard<T>`: the same in a compact form | serde and postcard |
//! | `tracing` | the [events](Event) of all pools, for whoever collects them with `tracing` | tracing |
//!
//! # Builds of developers
//!
//! Without optimisation the library is 10 to 40 times slower. A crate that uses it has it optimised in its own unoptimised builds with
//!
//! ```toml
//! [profile.dev.package.endura-engine]
//! opt-level = 3
//! [profile.dev.package.endura]
//! opt-level = 3
//! ```
//!
//! # Layers
//!
//! A layer uses only the layers to its left.
//!
//! | `cpu`, `os` | `media`, `runtime` | `space` | `checkpoint` | `tree`, `index` | `session`, `encoding`, `pool`, `map` |
//! | --- | --- | --- | --- | --- | --- |
//! | processor and system | bytes that survive; threads and epochs | space and lifetime | restores after a power loss | the papers' indexes | [`Pool`], [`Map`] |
//!
//! Only the modules of the first two layers, `cpu`, `os`, `media` and `runtime`, contain `unsafe`.
//!
//! Everything to the left of `encoding` is the crate `endura-engine`, which exists for this crate alone and promises no
//! stability.

#[cfg(not(all(target_os = "linux", target_endian = "little", target_pointer_width = "64")))]
compile_error!("endura runs on 64-bit little-endian Linux");

// First, so that the page of `Pool` begins with its opens.
mod pool;

mod encoding;
mod map;

#[doc(hidden)]
pub mod dynamic;

pub use encoding::bound::KeyRange;
#[cfg(feature = "json")]
pub use encoding::codecs::Json;
#[cfg(feature = "postcard")]
pub use encoding::codecs::Postcard;
pub use encoding::newtype::Newtype;
pub use encoding::value::{Key, KeyBound, PrefixKey, Value};
#[doc(inline)]
pub use endura_engine::{
    BoxError, Bytes, Checkpoint, CheckpointFailure, CheckpointStats, Checkpoints, Closed, Domain,
    Error, Event, FORMAT, Kind, LONGEST_KEY, LONGEST_VALUE, LeakRecovery, LeakRecoveryState,
    MapInfo, MapReport, MediaChoice, NodeLayout, Repairs, Report, Restored, Result, Shares,
    SizeUse, Stats, Types, explain_bus_errors, settings,
};
pub use map::{Keys, Map, MapOptions, Range, Values, Visit};
pub use pool::{Pool, PoolOptions};

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The examples of the guide are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide.md")]
struct Guide;
