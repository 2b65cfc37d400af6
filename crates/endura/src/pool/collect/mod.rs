//! Collection: finding the chunks that a crash stranded while the pool is in use (DCMM, ROART 4.4:
//! "instant restart").
//!
//! After an unclean end nothing but the trees says which chunks of the *old* pages, those below
//! NEXT_PAGE at the open, are in use. New chunks come from new pages meanwhile, and from what was never
//! handed out of the old ones. A collection marks what the maps reach, and frees the rest. Nothing of it is in the pool but the headers of runs that it
//! frees: a crash takes all marks with it, and the next open begins again. So it can be killed at any
//! point, any number of times.
//!
//! # Protocol
//!
//! | step | what | why |
//! | --- | --- | --- |
//! | C0 | at the open, before anybody is let in: `limit` = NEXT_PAGE; no chunk is marked, but what the list of the last close calls free, or without one the tails of pages; pages that are FREE count as new | what is known to be free is handed out, not swept |
//! | C1 | mark: walks over all maps ([`GcWalk`](crate::pool::GcWalk)), some chunks in one pin; each chunk that is met is marked | what stays reachable is met |
//! | C2 | all the while, whoever is to free a chunk (retire, discard), or takes one from where walks find it, marks it first | its owner frees it, nobody else may |
//! | C3 | when all walks have ended: wait until the maps that were dropped are freed, then until every pin that was there then has ended | whoever unlinked something before C3 has done C2 |
//! | C4 | sweep: for one old page after the other, what has no mark becomes free | nobody reaches it, nobody will free it |
//!
//! # Why no chunk gets two owners
//!
//! Let X be an old chunk without a mark at C4. A chunk that was free at the open is marked when it is
//! known to be (C0), and one that was freed since then was marked by C2. So X was neither handed out
//! nor freed in this session: what it is now it was at the open, reachable or stranded.
//!
//! * *Stranded:* nobody knows where it is, so nobody can link or free it. No unlink is lost that the
//!   walks have seen: what a killed process left in the caches is flushed by whoever relies on it
//!   (walks; NEXT_PAGE and headers at the open; headers of empty pages when they are taken), and fenced
//!   before C4.
//! * *Reachable at the open, and throughout C1:* a walk has met it (the trees say why, each in the head
//!   of its `mark` module). Contradiction.
//! * *Unlinked before the end of C1:* by a thread that was pinned then, and which has ended that pin
//!   (C3). In it, it has retired X (C2), or has marked X because another thread is to retire it: the
//!   blocks of an NBTree, which several threads replace together, and its reserve. Contradiction. Or it
//!   has failed before it did: then nobody ever will, and X is stranded.
//! * *In a map that was dropped:* the nodes of a dropped map are freed when nobody is in it any more,
//!   maybe long after. C3 waits for that, and each is marked on the way. Contradiction.
//! * *Unlinked after the end of C1:* then it was reachable throughout C1.
//!
//! What is handed out in C1 to C4 comes from new pages, from tails (marked), from chunks that their owners
//! freed (marked), or from pages that are swept already, and is never looked at again. A page all of whose chunks were freed by
//! their owners goes back to the pages and may become one of another size: it is no old page
//! any more ([`Pages::left_over`](crate::pool::alloc::pages::Pages)), and is passed over.
//!
//! # Crash after store k: what recovery sees
//!
//! | step, store | what is there | the next open |
//! | --- | --- | --- |
//! | C0 to C3: nothing is stored | what the operations stored | begins again |
//! | C4, a page of chunks: nothing is stored | the same | the same |
//! | C4, a chunk that was swept, taken and written | stranded, with other contents | the same |
//! | C4, a page without marks: nothing is stored; when it is taken, as in [`alloc`](crate::pool::alloc) | the old header, or the new one; nothing linked in both | the same |
//! | C4, a run: headers as in [`alloc`](crate::pool::alloc) | the run, or free pages | the same |
//! | close: UNCOLLECTED = 1, with the list of free space | closed, with stranded chunks | begins again, from the list |
//! | close: UNCOLLECTED = 0 | closed, nothing stranded | no collection |
//!
//! # Bounded
//!
//! A pin of C1 lasts for about [`BITE`](crate::pool::Collector::BITE) chunks, a step of C4 for a few pages; after each
//! the thread rests as long as it has worked. Only an operation that finds no room hurries it: it works
//! along until all is done ([`Space::with_room`](crate::pool::space::Space::with_room)). Marks take 1/2048 to 1/256
//! of the old pages, in DRAM, until the pool is closed.

pub(crate) mod collector;
pub(crate) mod walk;
