//! Growth of the file: by how much, and up to what length while part of the pool's free space is not known.
//!
//! The file grows by an eighth of its length, but by 64 KiB at the least and 2 MiB at the most. So a small pool stays
//! small, and a large one does not grow for each span. If the medium has too little space for that, the file grows by
//! what is needed.
//!
//! After an unclean end most free space is stranded until the leak recovery has ended. Without a limit, each session
//! that is killed before that would take new spans for its writes, and would make the pool grow, however little is in
//! use. So the word GROW_TO limits the length up to which such a session grows the file. An operation that needs more
//! first completes the leak recovery ([`Space::with_room`](super::super::Space::with_room)). From then on all free
//! space is known, and the pool grows only if it must.
//!
//! | when | GROW_TO |
//! | --- | --- |
//! | with all free space known: growth, the end of a leak recovery, a clean close | twice what is in use, plus [`SLACK`] |
//! | growth in a session that does not know all free space | unchanged |
//! | a new pool | 0: no limit, until one of the events in the first row |
//!
//! So a session grows the file beyond GROW_TO in three cases only: it knows all free space, the leak recovery waits for
//! a thread that stays inside an operation, or the call comes from inside an operation. The word is in the line of
//! NEXT_PAGE and is written back with it. It is an estimate: any value of it is safe, and nothing waits for it to be
//! durable.

use crate::Result;
use crate::media::{LINE, Media, Ordering, Region, STEP};
use crate::space::layout::{GROW_TO, LENGTH, NEXT_PAGE, PAGE};

/// Bytes by which a pool may grow beyond twice what is in use: a span for each of the sizes that most
/// programs use.
pub(crate) const SLACK: u64 = 1 << 20;

// NEXT_PAGE and LENGTH are flushed together with GROW_TO.
const _: () = assert!(GROW_TO / LINE == NEXT_PAGE / LINE && LENGTH / LINE == NEXT_PAGE / LINE);

/// The length to which a file of `have` bytes should grow if it must have `need` bytes, where `need` exceeds `have`.
pub(crate) fn length_for(have: u64, need: u64) -> u64 {
    let step = (have / 8).clamp(STEP, PAGE);
    // If the file grows by whole pages, the kernel can use a huge page for each of them.
    need.max(have + step).next_multiple_of(if step == PAGE { PAGE } else { STEP })
}

/// Stores how far the next session may grow the file without knowing its free space, given the bytes in use now. The
/// caller flushes a word of the same line if the value should survive.
pub(crate) fn allow<M: Media>(media: &M, in_use: u64) -> Result<()> {
    let bytes = in_use.saturating_mul(2).saturating_add(SLACK);
    // Relaxed: nothing depends on it in this session, and at the next open no other thread runs.
    // equivalent mutant, without: costs space or time: the next session may grow further, or has to wait for its
    // leak recovery sooner.
    Region::new(media, GROW_TO, 1)?.store(0, bytes, Ordering::Relaxed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_grow_by_little() {
        let cases = [
            (1, 1, 2),
            (1, 5, 5),
            (16, 17, 18),
            (80, 81, 90),
            (255, 256, 287),
            (256, 257, 288),
            (300, 301, 352),
            (320, 400, 416),
        ];
        for (have, need, grown) in cases {
            assert_eq!(length_for(have * STEP, need * STEP), grown * STEP, "{have} to {need}");
        }
        assert_eq!(length_for(STEP, STEP + 1), 2 * STEP);
    }
}
