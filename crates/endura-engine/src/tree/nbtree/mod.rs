//! NBTree: a B+-tree whose writers never wait, except for a pop.
//!
//! Its keys and values are in the pool, everything else is in DRAM (Zhang, Zheng, Qi, Huang; PVLDB 15(6), 2022). This
//! is a corrected version: `docs/trees.md` lists the corrections, each with its reason, and the sections of the paper.
//!
//! Here live the [`Tree`] with its blocks in the pool (`blocks`), its leaves and inner nodes in DRAM (`metadata`), how
//! these are made after an open (`restart`), reads (`read`), writes with splits and merges (`write`), and the walks
//! over a whole tree (`upkeep`). All of it is written once, for numbers and for byte strings: `keys` has what distinguishes
//! them, and `strings` the interface of a tree of byte strings with what only that needs. This module may use what `tree`
//! may use, and the parts of `tree` that all trees share. It must not use FAST & FAIR or ROART.
//!
//! | after a change of | run |
//! | --- | --- |
//! | anything here | `cargo test -p endura-engine --test nbtree --test nbtree_bytes`, then `.ci/quick` |
//! | a store, flush, fence or drain | `cargo test --release -p endura-sim --test mutation --test nbtree --test roart killed` |
//! | the kept order of a leaf | `RUSTFLAGS="--cfg loom" cargo test -p endura-engine --lib loom` |
//!
//! A change of the order of stores also updates the table below.
//!
//! # Structure
//!
//! The pool has *blocks* of 63 unsorted entries (`block`), chained in key order. Each block has a *leaf* in DRAM with
//! one byte of each key (`leaf`), and above the leaves there are inner nodes (`body`, `descend`). A lookup reads one
//! line of the pool. An insert claims a slot of a block and writes one line of it (`insert`); updates and removes write
//! in place (`update`). An entry is in the line that its key selects if a slot was free there (`claims`). That line is
//! prefetched together with the leaf.
//!
//! # Who may write what, and when it is durable
//!
//! Every word of a reachable block changes only by compare-and-exchange, except for the value of a slot that its writer
//! has claimed and not yet published. The stores of an operation are durable when it returns. A full block is not
//! changed in place: its entries are copied to new blocks (`change`, `settle`), in steps that any thread can do for
//! another.
//!
//! # Byte strings
//!
//! The value of a slot is a reference to a [record](crate::tree::records::record) with key and value, and a fingerprint of
//! the key. The word of the slot has the key's [word](crate::tree::key_word) in place of the key, so that different keys can
//! have equal words; then the records decide. Rules on top of those of numbers:
//!
//! * A record is durable before its slot is PENDING (N2 of [`linking`](crate::tree::records::linking)): any thread may make
//!   an entry of a PENDING slot.
//! * Rivals are compared by their keys, in their records. So a record that stood in a PENDING slot and did not become an entry
//!   is retired, and not freed at once.
//! * The inserter owns its record until the slot is LIVE. From then on the tree owns it, also if the slot is DEAD by the time
//!   that the inserter looks; the remover retires it. An insert that ends KILLED, or PENDING in a frozen block, still owns its
//!   record, and may link it again.
//! * The value of a slot is followed only if its word said LIVE or PENDING in the same pin: otherwise its record may be gone.
//! * An update or a remove retires the record that it has replaced when the exchange is durable.
//! * A change copies references, and no records. What is LIVE in a frozen block belongs to the blocks that replace it from S5
//!   on; no walk follows the slots of a signpost.
//!
//! The two fences of a block are in its header, or in a record beside it, which has the same lifetime. They never change.
//! Inner nodes own no texts: a tie between children is decided by the header of the first block below each
//! (`metadata/rank`).
//!
//! # Progress
//!
//! Lookups and scans never help other operations and never restart. (A scan proceeds leaf by leaf.) Writers are
//! lock-free: other threads complete whatever a suspended thread has begun. There are three exceptions. Pops take
//! turns, and an insert of a key that would come before the popped entry waits while the pop removes that entry
//! (`space/directory/pops.rs`). The allocator has short locks, in which no operation stops. After an open, the threads
//! that first use a partition wait while one of them makes its index.
//!
//! # What a reader may see
//!
//! A reader may see words that a writer has stored and not yet made durable. A leaf counts such writers; a reader that
//! finds one flushes the lines on which its result rests, before it returns.
//!
//! # Crash after store k: what recovery sees
//!
//! There is no recovery pass (`restart`). "Before" and "after" mean the map without and with the
//! operation in flight.
//!
//! | operation, store | what is there | readers see | the next writers |
//! | --- | --- | --- | --- |
//! | insert or update, record written and fenced (N2; byte strings) | a record that nothing leads to | before | nothing; its chunk is stranded |
//! | insert, value (I3) | a slot that is EMPTY | before | claim it again, or pass over it if a later slot of its line was used |
//! | insert, PENDING (I3) | an insert that is not decided | before | never meet it: its fingerprint is not set |
//! | insert, KILLED (I4, or for a pop, or for want of space) | an insert that failed | before | pass over it |
//! | insert, LIVE (I5) | the entry | after | nothing |
//! | update, the pair | the value | after | nothing; the old record is stranded |
//! | remove, the pair | DEAD | after | pass over it; the record is stranded |
//! | change, a word of the reserve emptied (S0) | a chunk that nothing leads to | no difference | nothing; the chunk is stranded |
//! | change, a slot or `next` frozen (S1) | a block that cannot be changed | no difference | copy it |
//! | change, new blocks written (S3), and the records beside them | blocks that nothing leads to | no difference | nothing; they are stranded |
//! | change, FORWARD (S5) | the new blocks | no difference | S7, when the new leaf changes |
//! | merge, FORWARD (S5) | one new block for two | no difference | S7, when the new leaf changes; the right block is stranded |
//! | change, `next` of the block before, or the head of the chain (S7) | the new blocks | no difference | nothing; the old block is stranded |
//! | a word of the reserve filled | the chunk in the reserve, or one that nothing leads to | no difference | nothing; at worst it is stranded |

mod blocks;
mod design;
mod ends;
mod index;
mod keys;
mod metadata;
mod read;
mod restart;
mod strings;
mod tree;
mod upkeep;
mod write;

pub use design::{Design, Strings, TwoLayers};
pub use keys::numbers::NumberKeys;
pub use keys::strings::ByteKeys;
pub use read::scan::Cursor;
pub use strings::tree::ByteTree;
pub(crate) use strings::upkeep::check_tree as check_strings;
pub use strings::walk::ByteCursor;
pub use tree::Tree;
pub(crate) use upkeep::check::check_tree;
pub(crate) use upkeep::inventory::Inventory;
pub use upkeep::rebuild::Stats;
