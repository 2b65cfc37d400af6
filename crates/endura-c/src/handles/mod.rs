//! Handles: numbers that name objects.
//!
//! A use costs no locked instruction. The thread *announces* the handle in a record of its own, and then looks whether
//! the slot still has it. A release takes the handle out of its slot, passes a barrier that all threads take part in,
//! and then looks at the announcements.
//!
//! | step of the use | step of the release | what follows |
//! | --- | --- | --- |
//! | stores the announcement | | |
//! | light barrier | takes the handle out of its slot | |
//! | loads the slot | heavy barrier | the use finds the slot empty, or the release finds the announcement |
//! | uses the object, if the slot has its handle | loads all announcements | an announced object is kept |
//!
//! An object that was announced stays in a list, and its slot unused, until a later release finds it unannounced. So a
//! release waits for no use, and no use for a release.

mod announce;
mod barrier;
mod fork;
mod hold;
mod number;
mod slots;
mod state;
mod table;

pub use number::{BatchHandle, IterHandle, MapHandle, PoolHandle, TransactionHandle};

pub(crate) use hold::hold;
pub(crate) use table::{Object, add, all, release, release_all_of};
