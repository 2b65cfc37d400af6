//! The allocator: pages, chunks of a page, and the caches of threads (DCMM, ROART 4).
//!
//! # Layers
//!
//! | layer | unit | state | protected by |
//! | --- | --- | --- | --- |
//! | [`pages`] | pages of 2 MiB and runs of them | NEXT_PAGE and headers in the pool; free runs in DRAM | one lock |
//! | [`slab`] | chunks of one size in a page | a bitmap per page in DRAM | a lock per class |
//! | caches (`thread_cache`) | a few chunks per thread and class | DRAM | a lock per thread, uncontended |
//!
//! Locks are taken from the bottom row to the top one. No chunk has metadata in the pool, so that
//! freeing one costs no flush, except for the last one of a page: the page's header then says FREE, durably.
//! Taking a chunk costs nearly none: a page costs three fences per 2 MiB, and one
//! for each 32nd of it that is used for the first time (its *tail* becomes shorter, see [`header`]).
//!
//! # What a crash leaves
//!
//! Bitmaps, caches and the list of free pages are gone. After an unclean end [`tails`] finds the pages
//! that are FREE, and what was never handed out of the others; all else below NEXT_PAGE counts as used:
//! what was free in it, and what was allocated and not yet linked, is stranded until a collection
//! ([`collect`](crate::pool::collect)) has found it. (After a clean close [`saved`] brings the free space back.)
//! So a chunk can have two owners after a crash only if a page that something durable links is not below
//! NEXT_PAGE, or if a header says something false about it.
//!
//! | step | a crash after it | what the next open sees |
//! | --- | --- | --- |
//! | growing: medium grown | length | pages at and above NEXT_PAGE, never looked at |
//! | growing: headers FREE stored | some headers above NEXT_PAGE | the same; they are written again before they count |
//! | growing: fenced; NEXT_PAGE stored | old or new NEXT_PAGE | new: pages with durable FREE headers |
//! | growing: fenced | new NEXT_PAGE | empty pages |
//! | taking a page: header SLAB stored | old header (FREE, or SLAB of any class) or new one | a page without a linked chunk in both |
//! | taking a page: drained | new header | chunks of its first 32nd may be linked from here on |
//! | shortening a tail: header stored | the longer tail, or the shorter one | nothing of the 32nd is linked; the longer: it is handed out first, the shorter: it waits for a collection |
//! | shortening a tail: drained | the shorter one | chunks of the 32nd may be linked from here on |
//! | the next open, killed or crashed: headers and NEXT_PAGE flushed | what was visible, or durable | the same: nothing was stored |
//! | taking a page of the directory: header DIRECTORY stored | old header or new one | a page that nothing leads to in both: free, or stranded until a collection |
//! | taking a page of the directory: drained | DIRECTORY | the same; the rest is in the table of [`directory`](crate::pool::directory::registry) |
//! | taking a run: header LARGE(n) stored | old or new first header | old: n pages with valid headers; new: one run. Nothing is linked |
//! | taking a run: drained | LARGE(n) | data may overwrite the later headers, which no walk reads now |
//! | freeing a run: later headers FREE stored | LARGE(n), data or FREE behind it | one run, unlinked: a leak |
//! | freeing a run: fenced; first header FREE stored | LARGE(n) or FREE first | FREE: all n headers are durable and FREE; LARGE(n): one run, unlinked. Its first page is taken first, with a header that is fenced |
//! | freeing a run: drained | n headers FREE | n free pages |
//! | a page becomes wholly free: header FREE stored | the old header, or FREE | the page, unlinked in both: stranded until a collection, or free |
//! | a page becomes wholly free: drained | FREE | a free page |
//! | a sweep frees several: some headers FREE stored | each its old one, or FREE | the same for each by itself |
//! | a sweep ends: fenced | FREE in all that were not taken again | free pages |
//! | a killed process left FREE visible, not durable; the page is taken: header SLAB or LARGE stored, drained | the header from before it was free, FREE, or the new one; the new one before anything is linked | the first: a page of chunks, all unlinked, or a run whose other pages are free as well; FREE: a free page; the new one: as above |
//! | growing, or a sweep ends: GROW_TO stored | any of its values | how far the next session grows before its collection has ended ([`growth`]) |
//!
//! A pool that was damaged by something else is met with checks wherever its words decide: page
//! numbers, headers, positions of freed chunks. They give [`Error::Corrupt`](crate::Error::Corrupt).

pub(crate) mod allocator;
pub(crate) mod bitmap;
pub(crate) mod class;
pub(crate) mod events;
pub(crate) mod growth;
pub(crate) mod header;
pub(crate) mod limbo;
pub(crate) mod load;
pub(crate) mod marks;
pub(crate) mod pages;
pub(crate) mod saved;
pub(crate) mod slab;
pub(crate) mod sweep;
pub(crate) mod tails;
pub(crate) mod thread_cache;
