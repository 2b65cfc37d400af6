//! Collection: it finds the chunks that a crash stranded, while the pool is in use (DCMM, ROART 4.4:
//! "instant restart").
//!
//! *Old* spans are those that the headers call in use at the open. After an unclean end only the trees say which chunks of
//! old spans are in use. Meanwhile new chunks come from new spans, and from the tails of old ones, which were never
//! allocated. A collection marks the chunks that the maps reach, and frees the rest. Its only traces in the pool are the
//! headers of spans and runs that it frees, and GROW_TO. A crash loses all marks, and the next open begins again. So a collection can be
//! killed at any point, any number of times.
//!
//! # Protocol
//!
//! | step | what | why |
//! | --- | --- | --- |
//! | C0 | at the open, before the first operation: the old spans are noted; no chunk is marked, except those that the list of the last close calls free, or without one the tails of spans; what is FREE counts as new | known free space is allocated, not swept |
//! | C1 | mark: walks over all maps ([`GcWalk`](crate::space::GcWalk)), some chunks in one pin; each chunk that a walk meets is marked | every chunk that stays reachable is met |
//! | C2 | all the while, a thread that is to free a chunk (retire, discard), or that takes one from where walks find it, marks it first | its owner frees it, and no other thread may |
//! | C3 | when all walks have ended: wait until the maps that were dropped are freed, then until every pin that was there then has ended | every thread that unlinked something before C3 has done C2 |
//! | C4 | sweep: for one old span after the other, chunks without a mark become free | no operation reaches them, and none will free them |
//!
//! # Why no chunk gets two owners
//!
//! Let X be an old chunk without a mark at C4. A chunk that was free at the open is marked when it is
//! known to be (C0), and one that was freed since then was marked by C2. So X was neither handed out
//! nor freed in this session: what it is now it was at the open, reachable or stranded.
//!
//! * *Stranded:* no thread knows where it is, so none can link or free it. No unlink that the walks have seen is lost:
//!   a killed process may have left stores in the caches, and the code that relies on them flushes them (walks; the open,
//!   for NEXT_PAGE, LENGTH and all headers). They are fenced before C4.
//! * *Reachable at the open, and throughout C1:* a walk has met it (the trees say why, each in the head
//!   of its `mark` module). Contradiction.
//! * *Unlinked before the end of C1:* by a thread that was pinned then, and which has ended that pin
//!   (C3). In it, it has retired X (C2), or has marked X because another thread is to retire it: the
//!   blocks of an NBTree, which several threads replace together, and its reserve. Contradiction. Or it
//!   has failed before it did: then no thread ever will, and X is stranded.
//! * *In a map that was dropped:* the nodes of a dropped map are freed when no operation is in it any more,
//!   maybe long after. C3 waits for that, and each is marked on the way. Contradiction.
//! * *Unlinked after the end of C1:* then it was reachable throughout C1.
//!
//! A chunk that is allocated in C1 to C4 comes from a new span, from a tail (marked), from chunks that their owners
//! freed (marked), or from a span that was swept already. The sweep never looks at it again. If the owners free all
//! chunks of a span, its units are free and may become another span. It is then no old span
//! any more (`Pages::is_left_over`), and the sweep passes over it.
//!
//! # Crash after store k: what recovery sees
//!
//! | step, store | what is there | the next open |
//! | --- | --- | --- |
//! | C0 to C3: nothing is stored | what the operations stored | begins again |
//! | C4, a span of chunks: nothing is stored | the same | the same |
//! | C4, a chunk that was swept, taken and written | stranded, with other contents | the same |
//! | C4, a span without marks, or a run: headers as in [`alloc`](crate::space::alloc) | the span or the run, or free units or pages | the same |
//! | close: UNCOLLECTED = 1, with the list of free space | closed, with stranded chunks | begins again, from the list |
//! | close: UNCOLLECTED = 0 | closed, nothing stranded | no collection |
//!
//! # Bounded
//!
//! A pin of C1 lasts for about [`BITE`](crate::space::Collector::BITE) chunks, a step of C4 for a few MiB; after each
//! the thread rests as long as it has worked. Only an operation that runs out of space hurries it: it works
//! along until all is done ([`Space::with_room`](crate::space::space::Space::with_room)). Marks take 1/2048 to 1/256
//! of the old spans, in DRAM, until the pool is closed.

pub(crate) mod collector;
pub(crate) mod walk;
