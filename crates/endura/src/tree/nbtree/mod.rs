//! NBTree: a B+-tree whose writers never wait, except for a pop, with its keys and values in the pool
//! and all else in DRAM (Zhang, Zheng, Qi, Huang; PVLDB 15(6), 2022), corrected. `docs/trees.md` lists the
//! corrections, each with its reason, and the sections of the paper.
//!
//! # Structure
//!
//! In the pool lie *blocks* of 63 unsorted entries (`block`), chained in key order; for each there
//! is a *leaf* in DRAM with a byte of each key (`leaf`), and above these inner nodes (`route`). A
//! lookup reads one line of the pool. An insert claims a slot of a block and writes one line of it;
//! updates and removes write in place (`insert`, `write`). An entry lies in the line that its key tells,
//! if there was room (`claims`): that line is asked for together with the leaf.
//!
//! # Who may write what, and when it is durable
//!
//! Every word of a block that others can reach changes by compare-and-exchange only, but for the
//! value of a slot that its writer has claimed and not published. What an operation has stored is
//! durable when it returns. A full block is not changed in place: its entries go to new blocks
//! (`change`, `settle`), in steps each of which any thread can do for any other.
//!
//! # Progress
//!
//! Lookups and scans never help other operations and never restart. (A scan proceeds leaf by leaf.)
//! Writers are lock-free: whatever a thread that stands still has begun, another completes. Three things
//! are outside of that: pops take turns, and an insert waits while one takes out what its key lies in front of
//! (`pool/directory/pops.rs`); space is handed out under short locks of the pool, in which no operation
//! stops; and of the threads that first use a partition after an open one makes its index.
//!
//! # What a reader may see
//!
//! Words that a writer has stored and not made durable. A leaf counts such writers; a reader that
//! finds one flushes the lines that its answer rests on, before it gives it.
//!
//! # Crash after store k: what recovery sees
//!
//! There is no recovery pass (`restart`). "Before" and "after" mean the map without and with the
//! operation in flight.
//!
//! | operation, store | what is there | readers see | the next writers |
//! | --- | --- | --- | --- |
//! | insert, value (I3) | a slot that is EMPTY | before | claim it again, or pass over it if a later slot of its line was used |
//! | insert, PENDING (I3) | an insert that is not decided | before | never meet it: its fingerprint is not set |
//! | insert, KILLED (I4, or for a pop, or for want of room) | an insert that came to nothing | before | pass over it |
//! | insert, LIVE (I5) | the entry | after | nothing |
//! | update, the pair | the value | after | nothing |
//! | remove, the pair | DEAD | after | pass over it |
//! | change, a word of the reserve emptied (S0) | a chunk that nothing leads to | no difference | nothing; it is stranded |
//! | change, a slot or `next` frozen (S1) | a block that cannot be changed | no difference | copy it |
//! | change, new blocks written (S3) | blocks that nothing leads to | no difference | nothing; they are stranded |
//! | change, FORWARD (S5) | the new blocks | no difference | S7, when the new leaf changes |
//! | merge, FORWARD (S5) | one new block for two | no difference | the same; the right one is stranded |
//! | change, `next` of the block before, or the head of the chain (S7) | the same | no difference | nothing; the old one is stranded |
//! | a word of the reserve filled | the chunk in the reserve, or one that nothing leads to | no difference | nothing; at worst it is stranded |

mod blocks;
mod design;
mod ends;
mod index;
mod metadata;
mod read;
mod restart;
mod tree;
mod upkeep;
mod write;

pub use design::{Design, TwoLayers};
pub use read::scan::Cursor;
pub use tree::Tree;
pub(crate) use upkeep::check::check_tree;
pub(crate) use upkeep::inventory::Inventory;
pub use upkeep::rebuild::Stats;
