//! FAST & FAIR of byte strings: the B+-tree of [`fast_fair`](crate::tree::fast_fair) for keys and values of any length.
//!
//! The paper keeps a long key outside of the node, with a pointer in its place (section 3.3), so that every comparison
//! reads a record. Here a slot has a [key word](crate::tree::key_word) as well, the image of a key behind a prefix that all
//! keys of the node share: words decide most comparisons, and records only those of equal words. `docs/trees.md` describes
//! the steps, such as I3, and lists the rules with what goes wrong without each.
//!
//! Here live the [`Tree`] with its nodes (`nodes`), the search for a node (`path`), reads (`read`), writes with the changes
//! of the tree's shape (`write`), and the walks over a whole tree (`upkeep`). This module may use what `tree` may use, the
//! record code (`tree/records`), and of `fast_fair` the lock word, the locked node, the header and the root word. It must
//! not use NBTree or ROART.
//!
//! | after a change of | run |
//! | --- | --- |
//! | anything here | `cargo test -p endura-engine --test fair_bytes`, then `.ci/quick` |
//! | a store, flush, fence or drain | `cargo test -p endura-sim --test campaign fair_bytes`, and `--test fair_bytes killed` |
//! | a lock, or a step of a change of shape | `cargo test -p endura-sim --test schedules fair_bytes` |
//!
//! A change of the order of stores also updates the table below.
//!
//! # Structure
//!
//! Every node covers the keys from `low` up to `high` and has a link to its right sibling; each level is a chain. A slot of
//! a leaf leads to a record, a slot of an inner node to a child. The separator of a child is its `low`, which lies in the
//! child and never changes. So no separator can outlive its node, and a search that has come to a slot can compare with
//! it. `low` and the prefix are fixed for the life of a node; `high` changes only when the node is split in place.
//!
//! Separators are hints: a search that arrives too far left moves right. No step of a search leads too far right.
//!
//! # Who may write what, and when it is durable
//!
//! As in the tree of numbers: only the holder of a node's lock writes to the node, in announced primitives, whose stores are
//! durable before the next one begins and before the lock is released. A record is durable before a slot leads to it.
//! (Two stores are not announced: the link that leads past a signpost, R4, and the one by which a repair settles a split. Each
//! leads to every key to which the old link led, and is durable before the lock is released.)
//!
//! The shape of the tree changes in two ways. A full leaf whose entries words can divide is split in place (FAIR). All else
//! is REPLACE: new nodes are written aside, and one store makes the old node a *signpost* to them. So a node can get
//! another prefix, two nodes can become one, and no step makes slots live that were dead.
//!
//! # What a reader may see
//!
//! As in the tree of numbers, with one difference: a hit is certified by the key of the record, whichever slot, copy or
//! half of a moving slot has led to it. A reader that comes to a signpost goes on where it leads.
//!
//! # Crash after store k: what recovery sees
//!
//! There is no recovery pass. L is the node that is split or replaced, A and B (N in a split in place) are the new nodes, X
//! is the left sibling of L, and P the parent. In the table, "before" and "after" are as in the tree of numbers.
//!
//! | operation, store | what is there | readers see | the next writer |
//! | --- | --- | --- | --- |
//! | record written | a chunk that nothing leads to | before | nothing; its chunk is stranded |
//! | insert, reference emptied behind the used slots (I3) | a dead slot | before | nothing |
//! | insert, word copied right (I3) | a dead slot with another word, or the left copy of an entry with another word | before | DEAD, or drops the copy |
//! | insert, reference copied right (I3) | one entry twice, the right copy counts | before | drops the left copy |
//! | insert, new word (I4) | the left copy with another word; behind the last entry, a dead slot | before | drops the left copy, or DEAD |
//! | insert, new reference (I4) | the entry | after | nothing |
//! | remove, reference overwritten (D2) | the right neighbour twice, or a dead slot; the record is stranded | after | drops the left copy, or DEAD |
//! | remove, word copied left, next reference overwritten (D3) | the next entry twice | after | drops the left copy |
//! | remove, word of the last slot DEAD (D4) | each entry once, and a dead slot | after | nothing |
//! | update, reference | the new record; the old one is stranded | after | nothing |
//! | split, new node written (S2) | a node that nothing leads to | before | nothing; its chunks are stranded |
//! | split, `sib` = N, SPLITTING (S3) | L owns all, N shadows it | before | takes the split back |
//! | split, `high` = N.low (S3) | N owns the right half | after, if the entry went there | settles the tag, posts N |
//! | split, `sib` = N (S3) | N owns the right half, without a separator | after, if the entry went there | posts N when it moves right |
//! | split, the entry goes into L (S4) | as for an insert | as for an insert | as for an insert |
//! | replace, new nodes written (R1) | nodes that nothing leads to | before | nothing; their chunks are stranded |
//! | replace, `sib` = A, REPLACED (R2) | L is a signpost; A and B own its range | after, if an entry came in with them | settles: R3, R4, retires L |
//! | replace, slot of P, or root word (R3) | P leads past L, X to L | no difference | R4, if it replaces A, or merges X with it; then as below |
//! | replace, `sib` of X (R4) | X leads past L | no difference | nothing; the chunks of L are stranded |
//! | merge, separator taken out (M2) | as for a remove, of a hint | no difference | posts N when it moves right |
//! | post | as for an insert, or a replace, of a hint | no difference | as for an insert, or a replace |
//! | root grown or shrunk, root word stored | the new root | no difference | nothing; a chunk may be stranded |
//! | repair, `sib` = N (a split that stays), or = N.sib | as after S3, or as before S2 | no difference | posts N; or nothing, the chunks of N are stranded |

mod index;
mod nodes;
mod path;
mod read;
mod tree;
mod upkeep;
mod write;

pub use read::leaf_walk::Cursor;
pub use tree::Tree;
pub(crate) use upkeep::check::check_tree;
pub(crate) use upkeep::inventory::Inventory;
