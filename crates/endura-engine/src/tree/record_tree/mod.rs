//! Integer keys with values of any length: a tree of numbers whose values are the offsets of [records](crate::tree::records).
//!
//! The papers keep values of any length outside of the tree, with a pointer in their place (FAST & FAIR 3.4; NBTree 3.1).
//! Here the tree of numbers stays as it is, of [either kind](crate::tree::numbers): its key commits an entry, its value is
//! one word, and an update exchanges that word. A key of up to 8 bytes is the number that its bytes form, zeros behind
//! them, so that numbers sort as the keys do. The keys of one map have one length.
//!
//! Here live the [`RecordTree`] (`tree`), the search and the change of a write (`write`), its scans (`scan`), and walks over all records (`upkeep`).
//! This module may use what `tree` may use, `records`, and what all trees of numbers share, but no tree of its own choice.
//!
//! # A write
//!
//! | step | what | why in this order |
//! | --- | --- | --- |
//! | N1 | find the offset of the key's record; decide | the same offset later in the pin means the same value |
//! | N2 | write the record, start its write-back, fence | nothing leads to a record that is not durable |
//! | N3 | the tree's insert, update or remove, if the key still has that offset, or still none | the tree makes it durable before it returns |
//! | N4 | retire the record that the key had | nothing that a crash leaves leads to it |
//!
//! If the key has another offset by N3, the write begins again with N1, in the same pin, and with the same chunk. So it
//! begins again only if another write of the key has succeeded. It ends its pin after some attempts, because the chunks
//! that others retire are not reused before.
//!
//! # A read
//!
//! A read holds a pin from before the tree returns an offset until the record is read. The tree returns an offset that the
//! key had at a moment of that call, so that the record is retired after the pin began, if ever. A scan that returns one
//! entry at a time reads most of them without a pin: it reads the entry from the tree, copies the record, and then looks
//! whether its [seat](crate::space::Seat) still holds: then no chunk that was linked when the entry was read has been
//! reused.
//!
//! # Crash after store k: what recovery sees
//!
//! | store | what is there | readers see | the next writer |
//! | --- | --- | --- | --- |
//! | record written (N2) | a record that nothing leads to | before | nothing; its chunk is stranded |
//! | the tree's stores of an insert, update or remove (N3) | what the tree's own table says, with the offset as the value | before or after | what that table says; the record that is not linked is stranded |
//! | record retired (N4) | after | after | nothing; the chunk of the old record is stranded |
//!
//! | after a change of | run |
//! | --- | --- |
//! | anything here | `cargo test -p endura-engine --test records`, then `.ci/quick` |
//! | a store, flush, fence or drain | `cargo test --release -p endura-sim --test records killed` |

#![allow(private_bounds, reason = "callers name a tree of numbers, which is public")]

mod index;
mod scan;
mod tree;
mod upkeep;
mod write;

pub use scan::Cursor;
pub use tree::RecordTree;
pub(crate) use upkeep::{check_record, note_record};
