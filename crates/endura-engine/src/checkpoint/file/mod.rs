//! The file of a pool's checkpoints. It holds a version of each page of the pool, separate from the pool's live file,
//! and no power loss can tear it.
//!
//! The file consists of slots of 4 KiB. Slots 0 and 1 are *roots*. Every other slot holds a page of the pool, or a
//! piece of a *run*: a list, ascending by page, of which page lies in which slot. A root names up to 200 runs, oldest
//! first, and of all entries for a page the last one counts. A slot that no root names is free; nothing about free
//! slots is stored.
//!
//! # A round
//!
//! | step | a power loss after it finds |
//! | --- | --- |
//! | K1 `reserve`: space in the file for pages and their run | the old checkpoint |
//! | K2 `add`: write pages into free slots, in any number of calls | the old one: free slots were written |
//! | K5 `commit`: write the new run; sync | the old one |
//! | K6 write the new root over the older of the two; sync | the old or the new one, each whole |
//! | K7 slots of replaced pages and runs are free, in DRAM | the new one |
//!
//! (The caller does K3 and K4, which hold the writers.) The root that is overwritten is never the newest, so a write
//! that is torn costs nothing. An error in K1 or K2, or of the write of the run, changes nothing, and neither does a
//! round that is dropped. After an error of a sync, or of the write of a root, it is not known what is durable: the
//! file is given up, and its owner makes another one.
//!
//! A process that reads a root does not know whether the root is durable: another process may have been killed before
//! its second sync, or that sync failed. The slots of the previous checkpoint look free, but may still be needed. So
//! the first round of a process begins by writing and syncing the newest root again.
//!
//! A root that is torn may have been durable once, and have rotted since. Then the slots of the previous checkpoint
//! were free, and may have been overwritten. So the previous checkpoint counts only after each of its pages was
//! compared with its hash.

pub(super) mod bits;
pub(super) mod failure;
pub(super) mod newest;
pub(super) mod root;
pub(super) mod round;
mod runs;
mod slots;
mod table;

pub use failure::Failure;
pub use newest::CheckpointFile;
pub use root::{Moment, SLOT};
pub use round::Round;

#[cfg(test)]
pub(crate) mod tests;
