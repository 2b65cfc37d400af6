//! The file of a pool's checkpoints: of each page of the pool a version, beside a live file that no power loss can tear.
//!
//! The file consists of slots of 4 KiB. Slots 0 and 1 are *roots*. Every other slot holds a page of the pool, or a piece of a
//! *run*: a list of which page lies in which slot. A root names up to 200 runs, oldest first, and the last entry of a
//! page counts. A slot that no root names is free; nothing about free slots is stored.
//!
//! # A round
//!
//! | step | a power loss after it finds |
//! | --- | --- |
//! | K1 take free slots, and room in the file for them | the old checkpoint |
//! | K5 write pages and the new run into them; sync | the old one: free slots were written |
//! | K6 write the new root over the older of the two; sync | the old or the new one, each whole |
//! | K7 slots of replaced pages and runs are free, in DRAM | the new one |
//!
//! (K2 to K4, which copy the pages out of the pool, are not here: their caller gives the pages.) The root that is written over
//! is never the newest, so that a torn one costs nothing. An error in K1, or of a write in K5, changes nothing. An error of a
//! sync, or of the write of a root, leaves open what is durable: the file is then given up, and its owner makes another one.
//!
//! A process that reads a root does not know whether it is durable: another process may have been killed before its second
//! sync, or that sync failed. The slots of the checkpoint before it look free, and are not yet. So the first round
//! of a process begins with writing and syncing the newest root again.

mod file;
#[cfg(test)]
mod losing_disk;
mod root;
mod slots;
mod table;

pub use file::{CheckpointFile, Failure};
pub use root::{Moment, SLOT};
