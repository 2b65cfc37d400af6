//! The allocator: pages, spans, chunks, and the caches of threads (DCMM, ROART 4).
//!
//! # Layers
//!
//! | layer | unit | state | protected by |
//! | --- | --- | --- | --- |
//! | [`pages`] | pages of 2 MiB and runs of them | NEXT_PAGE, LENGTH and headers in the pool; free runs in DRAM | one lock |
//! | [`spans`] | spans of units of 4 KiB, in cut pages | a table a page in the pool; free units in DRAM | that lock |
//! | [`slab`] | chunks of one size in a span | a bitmap per span in DRAM | a lock per class |
//! | caches (`thread_cache`) | a few chunks per thread and class | DRAM | a lock per thread, uncontended |
//!
//! Locks are taken from the bottom row to the top one. No chunk has metadata in the pool. So freeing a chunk costs no
//! flush, except for the last chunk in use of a span: the header of the span then becomes FREE, durably. Taking a chunk
//! costs nearly no flush: a span costs two fences when it is taken, and one more for each of its parts that is used for
//! the first time (its *tail* becomes shorter, see [`table`](page::table)).
//!
//! A span has few units while its size has few chunks, and takes a whole page once there are many. So a small pool
//! stays small, and a large one has few spans to look at when it is opened after a kill. A value above 16 KiB has a
//! span of its own, and one that does not fit into a page has a run of pages.
//!
//! # What a crash leaves
//!
//! Bitmaps, caches and the lists of free space are lost. After an unclean end the [`survey`] finds the pages and spans
//! that are FREE, and the parts of other spans that were never handed out. Everything else counts as used. The chunks
//! in it that were free, or that were allocated and not linked yet, are stranded until a leak recovery
//! ([`leak_recovery`](crate::space::leak_recovery)) has found them. (After a clean close [`saved`] brings the free
//! space back.)
//!
//! So a chunk can have two owners after a crash only if something durable links into a span that is in no chain of
//! spans, or if the header of a span is wrong.
//!
//! | step | a crash after it | what the next open sees |
//! | --- | --- | --- |
//! | growing: medium grown | length | bytes at and above LENGTH, never looked at |
//! | growing inside the last page: LENGTH stored | old or new LENGTH | units that are free, whether or not the file has them |
//! | growing by pages: headers FREE stored | some headers above NEXT_PAGE | these; written again before they count |
//! | growing by pages: fenced; LENGTH, then NEXT_PAGE stored, in one line | neither, LENGTH, or both | see below |
//! | growing by pages: fenced | new NEXT_PAGE | empty pages |
//! | cutting a free page: its table stored, the first span and the free rest | FREE | a free page, whose table is not read |
//! | cutting: fenced; CUT stored | FREE or CUT | a free page, or a page with one span, whose chunks are all unlinked |
//! | cutting: drained | CUT | chunks of the first part of the span may be linked from here on |
//! | taking a span from a gap: FREE(rest) stored after it | the old chain | the rest's word lies inside a free span: not read |
//! | taking: fenced; SLAB, RUN or DIRECTORY stored | FREE or the new word | a free gap, or an unlinked span and the rest |
//! | taking: drained | the new word | chunks of its first part may be linked from here on |
//! | shortening a tail: header stored | the longer or the shorter tail | the part, unlinked: handed out first, or stranded |
//! | shortening a tail: drained | the shorter one | chunks of the part may be linked from here on |
//! | a span becomes free: FREE(units) stored | the old header, or FREE | an unlinked span: stranded, or free |
//! | a span becomes free: drained | FREE | a free span. Several in a row are one gap |
//! | the last span of a page: the page's FREE stored | CUT, with the old chain, or FREE | the span, unlinked, or a free page |
//! | the last span of a page: drained | FREE | a free page |
//! | taking pages: header LARGE(n) stored | old or new first header | n pages with headers, or one run: nothing is linked |
//! | taking pages: drained | LARGE(n) | data may overwrite the later headers, which no walk reads now |
//! | freeing pages: later headers FREE stored | LARGE(n), data or FREE after it | one run, unlinked: a leak |
//! | freeing pages: fenced; first header FREE stored | LARGE(n) or FREE first | one run, unlinked, or n free pages |
//! | freeing pages: drained | n headers FREE | n free pages |
//! | a sweep: as where a span, a page or a run becomes free | | |
//! | the next open: headers, tables, NEXT_PAGE, LENGTH flushed | what was visible, or durable | the same: nothing was stored |
//! | growing, or a sweep ends: GROW_TO stored | any of its values | how far the next session may grow ([`growth`]) |
//!
//! After a growth that stored only LENGTH, there are free pages above NEXT_PAGE. After one that stored both words,
//! there are pages with durable FREE headers, and a LENGTH that reaches into the last of them. While a span is taken
//! from a gap, the old chain and the new one end where the gap ends.
//!
//! A killed process may leave any of these words visible and not durable. The next open flushes all that it reads
//! before it allocates. From then on, what it has found is as durable as the rows say.
//!
//! Damage of any other cause is caught by checks, wherever a word of the pool decides something: page numbers, headers,
//! positions of freed chunks. They return [`Error::Corrupt`](crate::Error::Corrupt).

pub(crate) mod allocator;
pub(crate) mod bitmap;
pub(crate) mod class;
mod class_spans;
pub(crate) mod events;
pub(crate) mod growth;
pub(crate) mod limbo;
pub(crate) mod load;
pub(crate) mod marks;
pub(crate) mod old_spans;
pub(crate) mod page;
pub(crate) mod pages;
pub(crate) mod saved;
pub(crate) mod slab;
pub(crate) mod spans;
pub(crate) mod survey;
pub(crate) mod sweep;
pub(crate) mod thread_cache;
