//! The named maps of a pool.
//!
//! # An entry
//!
//! | word | what | written |
//! | --- | --- | --- |
//! | 0 | state: FREE 0, LIVE 1, DROPPING 2, RENAMED 12 | commits, by one 8-byte store |
//! | 1 | kind (bits 0..8), parameters (8..56), bytes of the name (56..64) | before LIVE; the last also while RENAMED |
//! | 2 | root | by the tree |
//! | 3 | entries at a clean close | at the close |
//! | 4 | the generation that wrote word 3; it counts only if that session was the last and clean | at the close |
//! | 5..8 | spare | |
//! | 8..40 | name, filled up with zeros | before LIVE, and while RENAMED |
//! | 40..72 | name of the type of the keys, filled up with zeros | before LIVE |
//! | 72..104 | name of the type of the values, filled up with zeros | before LIVE |
//! | 104..128 | spare, for the tree | by the tree |
//!
//! Entries lie side by side in page 0, then in spans of the kind DIRECTORY, which are chained from DIRECTORY_NEXT
//! through their first words. They are used in order, and word 1 of an entry that was ever used is not zero. So the
//! directory ends at the first entry that is FREE and has a zero in word 1.
//!
//! # Create, drop and rename
//!
//! | step | a crash after it | the next open sees |
//! | --- | --- | --- |
//! | create: words 1 to 127 stored | FREE | no map |
//! | create: the tree makes its first nodes | FREE | no map; the nodes are stranded |
//! | create: root stored; all flushed and fenced | FREE | no map; the nodes are stranded |
//! | create: LIVE stored | FREE or LIVE | no map, or the whole map |
//! | create: drained, returns | LIVE | the map |
//! | create that fails after its first stores: drained | FREE | no map |
//! | drop: DROPPING stored | LIVE or DROPPING | the map, or none |
//! | drop: drained | DROPPING | no map; the open makes the entry FREE, the nodes are stranded |
//! | drop: nodes freed after a grace period, piece by piece ([`drop_map`](crate::space::drop_map)) | DROPPING | the same |
//! | drop: FREE stored | DROPPING or FREE | no map |
//! | drop: drained, returns | FREE | no map |
//! | open: FREE stored in place of DROPPING | DROPPING or FREE | no map |
//! | open: drained | FREE | no map; only now is the entry used again |
//! | rename: the new name stored in the place of new names; flushed and fenced | LIVE | the old name |
//! | rename: RENAMED stored | LIVE or RENAMED | the old name, or the new one |
//! | rename: drained | RENAMED | the new name, in the place of new names; the open does the rest |
//! | rename: name and its bytes stored in the entry; flushed and fenced | RENAMED | the same |
//! | rename: LIVE stored | RENAMED or LIVE | the new name, in one place or the other |
//! | rename: drained, returns | LIVE | the new name |
//! | new span: header DIRECTORY drained; entries cleared, fenced | no link | a full directory; the span is stranded |
//! | new span: link stored | no link or link | the same, or a directory with room |
//! | new span: fenced with the words of its first entry, or drained if that create fails | link | a directory with room |
//! | close: words 3 and 4, and MAPS, stored | any of their values | the superblock says unclean: they do not count |
//! | close: fenced with the list; the superblock says clean | words 3 and 4, MAPS | the numbers of entries, and of maps |
//!
//! The place of new names (`NEW_NAME`) is laid out as an entry, and counts only while an entry is RENAMED. At most one
//! entry is, because the next new name is written after LIVE is durable. Everything else in the entry stays what and
//! where it is, so operations of the map continue meanwhile. A read-only open takes the name from that place, and
//! leaves the rest to the next open that writes.
//!
//! None of these orders relies on the lock through which an entry passes from thread to thread: before a thread
//! releases the lock, its stores to the entry are durable.
//!
//! All of these changes happen under one lock. A thread takes the lock inside a pin, and never begins a pin with the
//! lock held: a thread that waits for writers to leave must not hold it.

pub(crate) mod chunk_set;
pub(crate) mod counters;
pub(crate) mod drops;
pub(crate) mod entry;
pub(crate) mod lengths;
pub(crate) mod map_state;
pub(crate) mod pops;
pub(crate) mod registry;
pub(crate) mod turns;
