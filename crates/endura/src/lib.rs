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
//! | any local disk file system: [`PageCache`](Domain::PageCache) | yes | a closed pool: yes; an open one: the state of the last [checkpoint](Checkpoints), by default at most 30 s old, plus the time that a checkpoint takes; without a checkpoint the pool is detected as possibly torn and refused ([`Error::NeedsRestore`]) |
//! | tmpfs | yes | the file is gone; if its checkpoint is [on a disk](Checkpoints::in_file), the pool is made again from that |
//!
//! An operation in flight is kept completely or not at all, and a value that a read returned is never taken back.
//! Closing a pool ([`Pool::close`], or dropping the last handle) syncs it to the disk.
//!
//! # What an open after `kill -9` costs
//!
//! | kind | the first answer, 1,000,000 integers on ext4 | grows with |
//! | --- | --- | --- |
//! | [`FastFair`](Kind::FastFair), [`Roart`](Kind::Roart) | after 1.1 ms | the file: an open reads a header in each 2 MiB of it |
//! | [`NbTree`](Kind::NbTree) | after 3.2 ms | the map: inner nodes are in DRAM, and the first operation on each eighth of the keys rebuilds those of that eighth (of strings, the first one rebuilds all) |
//!
//! `endura bench readme` prints these times. `docs/benchmarks.md` has other sizes and file systems. If the file is not in the
//! page cache, the reads from the disk are added. What an update writes to a disk is in [`PoolOptions::read_mostly`].
//!
//! # Features
//!
//! None is on by default.
//!
//! | feature | what it adds | needs the crates |
//! | --- | --- | --- |
//! | `json` | `Json<T>`: values of any type with serde, stored as JSON, which other languages and the command can read | serde, serde_json |
//! | `postcard` | `Postcard<T>`: values of any type with serde, in a compact form | serde, postcard |
//! | `tracing` | reports the [events](Event) of all pools to `tracing` | tracing |
//!
//! # Debug builds
//!
//! In a debug build of your program (`cargo build` without `--release`) the library is not optimised either, and is many
//! times slower: `cargo run --example speed` measures it. This in your `Cargo.toml` optimises the library alone:
//!
//! ```toml
//! [profile.dev.package]
//! endura.opt-level = 3
//! endura-engine.opt-level = 3
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

mod batch;
mod encoding;
mod map;

#[doc(hidden)]
pub mod dynamic;

pub use batch::{Batch, Transaction};
pub use encoding::bound::KeyRange;
#[cfg(feature = "json")]
pub use encoding::codecs::Json;
#[cfg(feature = "postcard")]
pub use encoding::codecs::Postcard;
pub use encoding::newtype::Newtype;
pub use encoding::value::{Key, KeyBound, PrefixKey, Value};
#[doc(inline)]
pub use endura_engine::{
    AfterPowerLoss, BoxError, Bytes, Checkpoint, CheckpointFailure, CheckpointProblem,
    CheckpointStats, Checkpoints, Closed, Domain, Error, Event, FORMAT, FoundCheckpoint, Kind,
    LONGEST_KEY, LONGEST_VALUE, LeakRecovery, LeakRecoveryState, MapInfo, MapReport, MediaChoice,
    NodeLayout, Repairs, Report, Restored, Result, Shares, SizeUse, SpaceLimit, Stats, Types,
    explain_bus_errors, settings,
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
