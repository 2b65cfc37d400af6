//! Leak recovery: it finds the chunks that a crash stranded, while the pool is in use (DCMM, ROART 4.4: "instant
//! restart").
//!
//! *Old* spans are those that the headers call in use at the open. After an unclean end only the trees say which chunks
//! of old spans are in use. Meanwhile new chunks come from new spans, and from the tails of old ones, which were never
//! allocated. A leak recovery marks the chunks that the maps reach, and frees the rest. Its only traces in the pool are
//! the headers of spans and runs that it frees, and GROW_TO. A crash loses all marks, and the next open starts again.
//! So a leak recovery can be killed at any point, any number of times.
//!
//! # Protocol
//!
//! * C0: at the open, before the first operation, the old spans are noted. No chunk is marked, except the chunks that
//!   are known to be free: those in the list of the last close, or without a list those in the tails of spans. Spans
//!   that are FREE count as new. *Why:* known free space is allocated, not swept.
//! * C1: mark. Walks over all maps ([`LeakWalk`](crate::space::LeakWalk)) mark each chunk that they meet, some chunks
//!   in one pin. *Why:* they meet every chunk that stays reachable.
//! * C2: all the while, a thread that is about to free a chunk (retire, discard), or removes one from a place where
//!   walks find it, marks the chunk first. *Why:* the owner of the chunk frees it, and no other thread may.
//! * C3: when all walks have ended, wait until the dropped maps are freed, and then until every pin that exists at that
//!   time has ended. *Why:* every thread that unlinked something before C3 has done C2.
//! * C4: sweep. In one old span after the other, chunks without a mark become free. *Why:* no operation reaches them,
//!   and none will free them.
//!
//! # Why no chunk gets two owners
//!
//! Let X be an old chunk without a mark at C4. A chunk that was known to be free at the open was marked then (C0), and
//! a chunk that was freed since was marked by C2. So X was neither handed out nor freed in this session: it is still
//! what it was at the open, reachable or stranded.
//!
//! * *Stranded:* no thread knows where X is, so none can link or free it. No unlink that the walks have seen is lost: a
//!   killed process may have left stores in the caches, and the code that relies on them flushes them (walks; the open,
//!   for NEXT_PAGE, LENGTH and all headers). The flushes are fenced before C4.
//! * *Reachable at the open, and throughout C1:* a walk has met X (the trees say why, each in the head of its `mark`
//!   module). Contradiction.
//! * *Unlinked before the end of C1:* the thread that unlinked X was inside a pin then, and has ended that pin (C3). In
//!   the pin it retired X (C2), or it marked X because another thread will retire it: the blocks of an NBTree, which
//!   several threads replace together, and its reserve. Contradiction. Or the thread failed before it did either: then
//!   no thread ever retires X, and X is stranded.
//! * *In a map that was dropped:* the nodes of a dropped map are freed when no operation is inside it, which may be
//!   long afterwards. C3 waits for that, and each node is marked when it is freed. Contradiction.
//! * *Unlinked after the end of C1:* then X was reachable throughout C1.
//!
//! A chunk that is allocated during C1 to C4 comes from a new span, from a tail (marked), from chunks that their owners
//! freed (marked), or from a span that was swept already. The sweep never looks at it again. If the owners free all
//! chunks of a span, its units are free and may become another span. That span is not old (`Pages::is_left_over`), and
//! the sweep skips it.
//!
//! # Crash after store k: what recovery sees
//!
//! | step, store | what is there | the next open |
//! | --- | --- | --- |
//! | C0 to C3: nothing is stored | what the operations stored | begins again |
//! | C4, a span of chunks: nothing is stored | the same | the same |
//! | C4, a chunk that was swept, taken and written | stranded, with other contents | the same |
//! | C4, a span without marks, or a run: headers as in [`alloc`](crate::space::alloc) | the span, or free space | the same |
//! | close: UNRECOVERED = 1, with the list of free space | closed, with stranded chunks | begins again, from the list |
//! | close: UNRECOVERED = 0 | closed, nothing stranded | no leak recovery |
//!
//! # Bounded
//!
//! A pin of C1 lasts for about [`BITE`](crate::space::LeakRecoverer::BITE) chunks, a step of C4 for a few MiB. After
//! each step the thread rests as long as the step took. Only an operation that runs out of space hurries: it takes
//! steps too, until all is done ([`Space::with_room`](crate::space::space::Space::with_room)). Marks take 1/2048 to
//! 1/256 of the old spans, in DRAM, until the pool is closed.

pub(crate) mod recoverer;
pub(crate) mod walk;
