//! The file of a pool's checkpoints: of each page of the pool a version, beside a live file that no power loss can tear.
//!
//! The file consists of slots of 4 KiB. Slots 0 and 1 are *roots*. Every other slot holds a page of the pool, or a piece of a
//! *run*: a list of which page lies in which slot, ascending by page. A root names up to 200 runs, oldest first, and the last entry of a
//! page counts. A slot that no root names is free; nothing about free slots is stored.
//!
//! # A round
//!
//! | step | a power loss after it finds |
//! | --- | --- |
//! | K1 `reserve`: room in the file for pages and their run | the old checkpoint |
//! | K2 `add`: write pages into free slots, in any number of calls | the old one: free slots were written |
//! | K5 `commit`: write the new run; sync | the old one |
//! | K6 write the new root over the older of the two; sync | the old or the new one, each whole |
//! | K7 slots of replaced pages and runs are free, in DRAM | the new one |
//!
//! (K3 and K4, which hold the writers, are their caller's.) The root that is written over is never the newest, so that a torn
//! one costs nothing. An error in K1 or K2, or of the write of the run, changes nothing, and neither does a round that is
//! dropped. An error of a sync, or of the write of a root, leaves open what is durable: the file is then given up, and its
//! owner makes another one.
//!
//! A process that reads a root does not know whether it is durable: another process may have been killed before its second
//! sync, or that sync failed. The slots of the checkpoint before it look free, and are not yet. So the first round
//! of a process begins with writing and syncing the newest root again.
//!
//! A root that is torn may have been durable once, and have rotted since. Then the slots of the checkpoint before it were
//! free, and may have been written: every page of that one is compared with its hash before it counts.

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
