//! Space and lifetime: the layout of a pool, the owner of every chunk, and when a chunk may be reused.
//!
//! Here live [`Space`] (an open pool over any medium), pins, the allocator, reclamation and leak recovery, the
//! directory of maps, and in `file/` the file of a pool with its superblock. This module may use `cpu`, `os`, `media`
//! and `runtime`, besides `sync`, `error` and `types`.
//!
//! | after a change of | run |
//! | --- | --- |
//! | anything here | `.ci/quick` |
//! | a store, flush, fence or drain | `cargo test --release -p endura-sim --test mutation` |
//! | pins, caches or limbo | `RUSTFLAGS="--cfg loom" cargo test -p endura-engine --lib loom` |
//! | `file/` | `cargo test -p endura-tests --test faults --test damage` |
//!
//! A change of the file format also raises [`FORMAT`] and updates `docs/design.md`.

mod alloc;
mod batch;
mod check;
mod chunk_rows;
mod chunks;
mod close;
mod commit;
mod directory;
mod drop_map;
mod file;
mod layout;
mod leak_recovery;
mod lock_stamps;
#[cfg(all(test, loom))]
mod loom;
mod maps;
mod met_damage;
mod open_map;
mod patience;
mod pins;
mod reclaim;
mod session;
#[expect(clippy::module_inception, reason = "`Space` is what the room is about")]
mod space;
#[cfg(test)]
mod tests;

pub use crate::runtime::thread::Worker;
pub use crate::sync::set_waiting;
pub use alloc::events::Events;
pub use alloc::events::{Event, LeakRecoveryState};
pub use alloc::marks::LeakRecovery;
pub(crate) use alloc::pages::check as check_length;
pub use alloc::slab::SizeUse;
pub(crate) use batch::intent::{Change, Intent, MOST_CHANGES, OwnedKey, Plan, Planned};
pub use batch::key::AnyKey;
pub use check::{Shares, SpaceCheck};
pub(crate) use commit::answer::Answer;
pub(crate) use commit::needs::Needs;
pub(crate) use commit::run::{ChangedMap, Changes};
pub(crate) use commit::view::note_scan;
pub(crate) use commit::words::{Unfinished, keep_words, unfinished};
pub use directory::drops::Inventory;
pub use directory::map_state::{Counted, MapState};
pub(crate) use directory::pops::{NewKey, Pops, Turn};
pub use file::create::Draft;
pub(crate) use file::doubt::Doubt;
pub(crate) use file::newest_number::Newest;
pub(crate) use file::own::{self, OwnPath};
pub(crate) use file::own_blocks::{Blocks, BlocksWatch};
pub(crate) use file::pool_file::{Access, PoolFile};
pub(crate) use file::schedule::{Base, Schedule};
pub(crate) use file::sessions::Prepared;
pub use file::superblock;
pub use file::superblock::FORMAT;
pub use file::superblock::Superblock;
pub use layout::PAGE;
pub(crate) use layout::{LENGTH, LOCK_TURN, NEWEST_NUMBER, NEXT_PAGE};
pub use leak_recovery::recoverer::LeakRecoverer;
pub use leak_recovery::walk::{LeakStep, LeakWalk};
pub(crate) use open_map::OpenMap;
pub use pins::guard::Guard;
pub use pins::park::Hold;
pub use pins::quiesce::Quiesced;
pub(crate) use pins::seat::Seat;
pub(crate) use session::Inspected;
pub use session::Session;
pub use space::{Space, SpaceStats};
