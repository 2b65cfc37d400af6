//! The engine of endura: bytes that survive, their space and lifetime, the indexes, and the session of an open pool.
//!
//! **This crate is no API**: the API is the crate `endura`. Any version may change or remove anything in this crate. A
//! program that uses it nevertheless pins its version (`=0.1.0`).
//!
//! Each module uses only those before it in this order: `cpu` → `os` → `media`, `runtime` → `space` → `checkpoint`,
//! `tree` → `index` → `session`. Only the first four may use `unsafe`.
//!
//! The engine is a crate of its own, so that a changed line of the API compiles no tree. Code that is generic over the
//! medium is compiled in the crate that calls it. So `endura` calls only code that is made for
//! [`Mapped`](media::Mapped), and no function that is generic over a medium.

// The pages of this crate are for those who change it, so they link to private items too.
#![allow(rustdoc::private_intra_doc_links)]

#[cfg(not(all(target_os = "linux", target_endian = "little", target_pointer_width = "64")))]
compile_error!("endura runs on 64-bit little-endian Linux");

pub mod settings;

pub mod checkpoint;
pub mod cpu;
mod error;
pub mod index;
mod kind;
pub mod media;
mod numbered;
pub mod os;
pub mod runtime;
pub mod session;
pub mod space;
pub mod sync;
pub mod tree;
mod types;

pub use checkpoint::{Checkpoint, CheckpointFailure, CheckpointStats, Checkpoints, Restored};
pub use error::{BoxError, CheckpointProblem, Error, FoundCheckpoint, Result, SpaceLimit, since};
pub use index::NodeLayout;
pub use kind::Kind;
pub use media::{Domain, MediaChoice, explain_bus_errors};
pub use session::{AfterPowerLoss, Closed, MapInfo, MapReport, Report, Stats};
pub use space::{Event, FORMAT, LeakRecovery, LeakRecoveryState, Shares, SizeUse};
pub use tree::{Bytes, LONGEST_KEY, LONGEST_VALUE, Repairs};
pub use types::Types;
