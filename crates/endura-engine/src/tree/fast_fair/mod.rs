//! FAST & FAIR: a B+-tree whose nodes are sorted in place by 8-byte stores.
//!
//! After each store the tree is readable as it is (Hwang, Kim, Won, Nam; USENIX FAST 2018). This is a corrected
//! version: `docs/trees.md` lists the corrections, each with its reason, and the sections of the paper.
//!
//! Here live the [`Tree`] with its nodes (`nodes`), the search for a node (`path`), reads (`read`), writes with splits
//! and merges (`write`), and the walks over a whole tree (`upkeep`). This module may use what `tree` may use, and the
//! parts of `tree` that all trees share. It must not use NBTree or ROART.
//!
//! | after a change of | run |
//! | --- | --- |
//! | anything here | `cargo test -p endura-engine --test fast_fair`, then `.ci/quick` |
//! | a store, flush, fence or drain | `cargo test --release -p endura-sim --test mutation --test nbtree --test roart killed` |
//! | the lock word, or a memory order | `RUSTFLAGS="--cfg loom" cargo test -p endura-engine --lib loom` |
//!
//! A change of the order of stores also updates the table below.
//!
//! # Structure
//!
//! Every node covers the keys from `low` up to `high` and has a pointer to its right sibling; each level is a chain.
//! Separators in inner nodes are hints: a search that arrives too far left moves right. All nodes, including inner
//! ones, hold records `(key, value)` sorted by key (`node`).
//!
//! # Who may write what, and when it is durable
//!
//! Only the holder of a node's lock writes to the node, except for the lock word. Every change is one of four
//! *primitives* (shift right, shift left, one value, header), announced in the lock word before its first store. The
//! stores of a primitive are durable before the next primitive begins and before the lock is released. A node that is
//! not yet reachable is written without primitives, and is durable before the store that links it.
//!
//! # What a reader may see
//!
//! Readers take no lock. They read the lock word, the node, and the lock word again. The result counts if no primitive
//! ran meanwhile except the one that was announced at the first read. While a primitive is announced, readers scan in
//! the direction in which it moves entries, so that they miss no entry. If a result rests on stores that may not be
//! durable yet, the reader makes them durable before it returns.
//!
//! # Crash after store k: what recovery sees
//!
//! There is no recovery pass. Locks of an earlier session are void, readers read every state below as it is, and the
//! first writer that locks a node in a session repairs it (`repair`). "Before" and "after" mean the map without and
//! with the operation in flight. L is the left node of a split or merge, and N the right one. `docs/trees.md` describes
//! the steps, such as I3.
//!
//! | operation, store | what is there | readers see | the next writer |
//! | --- | --- | --- | --- |
//! | insert, value copied right (I3) | a dead slot with a new value | before | nothing |
//! | insert, key copied right (I3) | one entry twice, the right copy counts | before | drops the left copy |
//! | insert, the next value copied right (I3) | the left copy with another value | before | drops the left copy |
//! | insert, new value (I4) | the left copy with another value; after the last entry, a dead slot | before | drops the left copy, if there is one |
//! | insert, new key (I4) | the entry | after | nothing |
//! | remove, key overwritten (D2) | the right neighbour twice | after | drops the left copy |
//! | remove, value copied left (D3) | the left copy with the right value | after | drops the left copy |
//! | remove, next key overwritten (D3) | the next entry twice | after | drops the left copy |
//! | remove, last key overwritten (D2 or D3) | each entry once, and a dead slot | after | nothing |
//! | update, value | the value | after | nothing |
//! | split, new node written (S2) | a node that nothing leads to | before | nothing; its chunk is stranded |
//! | split, `sib` = N, SPLITTING (S3) | L owns all, N shadows it | before | takes the split back |
//! | split, `high` = N.low (S3) | N owns the right half | after, if the entry went there | settles the tag, posts N |
//! | split, `sib` = N, NORMAL (S3) | N owns the right half, without a separator | after, if the entry went there | posts N when it moves right |
//! | split, the entry goes into L (S4) | as for an insert: the slots of the right half are dead in L | as for an insert | as for an insert |
//! | post (P2) | as for an insert, or a split, of a hint | no difference | as for an insert, or a split |
//! | root grown, root written | a node that nothing leads to | no difference | grows the root; its chunk is stranded |
//! | root grown, root word stored | the new root | no difference | nothing |
//! | merge, separator taken out (M2) | as for a remove, of a hint | no difference | as for a remove |
//! | merge, separator gone (M2) | N without a separator | no difference | posts N when it moves right |
//! | merge, entries copied (M3) | copies that are dead in L | no difference | nothing |
//! | merge, `sib` = N, MERGING (M4) | N owns its half | no difference | settles the tag, posts N |
//! | merge, `high` = N.high (M4) | L owns all, N is passed through | no difference | unlinks N |
//! | merge, `sib` = N.sib, NORMAL (M4) | L owns all | no difference | nothing; N's chunk is stranded |
//! | root shrunk, root word stored | the child is the root | no difference | nothing; the chunk is stranded |
//! | repair, `sib` = N, NORMAL | N owns its half | no difference | posts N when it moves right |
//! | repair, `sib` = N.sib, NORMAL | nothing leads to N, which owned nothing | no difference | nothing; N's chunk is stranded |
//! | repair, a left copy dropped | as for a remove, of that copy | no difference | as for a remove |

mod create;
mod index;
#[cfg(all(test, loom))]
mod loom;
pub(crate) mod nodes;
pub(crate) mod path;
mod read;
#[cfg(all(test, not(loom)))]
mod tests;
mod tree;
mod upkeep;
mod write;

pub(crate) use nodes::lock_word::{check_lock, void_lock};
pub use nodes::search::{Keys, LineBinary, STRIDE, Search};
pub use read::scan::Cursor;
pub use tree::Tree;
pub(crate) use upkeep::check::check_tree;
pub(crate) use upkeep::inventory::Inventory;
