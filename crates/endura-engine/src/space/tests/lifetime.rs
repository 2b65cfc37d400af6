//! Grace periods, and threads that come and go.

use std::sync::mpsc;

use super::*;
use crate::Error;
use crate::media::STEP;
use crate::space::Seat;

#[test]
fn nothing_is_reused_while_a_reader_stays_and_all_of_it_afterwards() {
    let space = pool(16);
    let (entered, wait_entered) = mpsc::channel();
    let (leave, wait_leave) = mpsc::channel::<()>();
    std::thread::scope(|s| {
        let reader = s.spawn(|| {
            let _guard = space.pin().unwrap();
            entered.send(()).unwrap();
            wait_leave.into_iter().for_each(drop);
        });
        wait_entered.recv().unwrap();
        let chunks: Vec<u64> =
            (0..2_000).map(|_| space.pin_mut().unwrap().alloc(512).unwrap()).collect();
        for &at in &chunks {
            space.pin_mut().unwrap().retire(at, 512);
        }
        let waiting = 2_000 * 512;
        assert_eq!(space.stats().limbo_bytes, waiting);
        assert!(
            matches!(space.relieve(), Err(Error::ReclaimStalled { waiting: w }) if w == waiting)
        );
        let reused = space.pin_mut().unwrap().alloc(512).unwrap();
        assert!(!chunks.contains(&reused));
        drop(leave);
        reader.join().unwrap();
        assert!(space.relieve().unwrap());
        assert_eq!(space.stats().limbo_bytes, 0);
        let reused = space.pin_mut().unwrap().alloc(512).unwrap();
        assert!(chunks.contains(&reused));
    });
}

#[test]
fn a_retired_chunk_outlives_every_guard_that_was_there() {
    let space = pool(16);
    let (mut reader, mut writer) = (Worker::new(), Worker::new());
    let chunk = writer.run(|| space.pin_mut().unwrap().alloc(512).unwrap());
    let guard = reader.run(|| space.pin().unwrap());
    writer.run(|| space.pin_mut().unwrap().retire(chunk, 512));
    for _ in 0..10 {
        writer.run(|| {
            assert!(space.relieve().is_err());
            let guard = space.pin_mut().unwrap();
            let other = guard.alloc(512).unwrap();
            assert_ne!(other, chunk);
            guard.discard(other, 512);
        });
    }
    reader.run(|| drop(guard));
    writer.run(|| {
        assert!(space.relieve().unwrap());
        assert_eq!(space.pin_mut().unwrap().alloc(512).unwrap(), chunk);
    });
}

/// Between a pin and a look at the epoch, the epoch may advance once: what a pin reaches may be reused two epochs after
/// the pin's own.
#[test]
fn a_seat_counts_from_the_pin_it_was_taken_in() {
    let space = pool(16);
    let (mut reader, mut mover) = (Worker::new(), Worker::new());
    let guard = reader.run(|| space.pin().unwrap());
    let before = Seat::take(&guard, ());
    assert!(before.within(&guard).is_some());
    // The pin lets the epoch advance by one.
    for _ in 0..3 {
        _ = mover.run(|| space.relieve());
    }
    reader.run(|| {
        let inner = space.pin().unwrap();
        let after = Seat::take(&inner, ());
        for seat in [before, after] {
            assert!(seat.within(&inner).is_none());
            assert_eq!(seat.look(&space, |&()| Some(7)), Some(7));
        }
        drop((inner, guard));
        let later = space.pin().unwrap();
        assert!(Seat::take(&later, ()).within(&later).is_some());
    });
    mover.run(|| space.relieve()).unwrap();
    assert!(
        [before, Seat::default()].iter().all(|seat| seat.look(&space, |&()| Some(7)).is_none())
    );
}

/// A reader that follows a word to a chunk must find the chunk as it was when it was linked.
fn readers_never_see_a_reused_chunk(space: &Space<Heap>) {
    use crate::media::{Ordering, Region};
    use crate::sync::{AtomicBool, AtomicU64};
    let link = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    let chunk = |at| Region::new(space.media(), at, 8).unwrap();
    let new = |guard: &Guard<'_, Heap>| {
        let at = guard.alloc(64).unwrap();
        (0..8).for_each(|i| chunk(at).store(i, at, Ordering::Relaxed));
        at
    };
    link.store(new(&space.pin_mut().unwrap()), Ordering::Release);
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let _guard = space.pin().unwrap();
                    let at = link.load(Ordering::Acquire);
                    for i in 0..8 {
                        assert_eq!(chunk(at).load(i, Ordering::Relaxed), at, "read after reuse");
                    }
                }
            });
        }
        s.spawn(|| {
            for _ in 0..100_000 {
                let guard = space.pin_mut().unwrap();
                let old = link.swap(new(&guard), Ordering::AcqRel);
                guard.retire(old, 64);
                // Other contents follow at once after a reuse.
                let other = guard.alloc(64).unwrap();
                (0..8).for_each(|i| chunk(other).store(i, u64::MAX, Ordering::Relaxed));
                guard.discard(other, 64);
            }
            done.store(true, Ordering::Relaxed);
        });
    });
}

#[test]
fn readers_are_safe_with_asymmetric_barriers() {
    readers_never_see_a_reused_chunk(&pool(8));
}

#[test]
fn readers_are_safe_with_fences() {
    let medium = Heap::new(8 * PAGE);
    Space::format(&medium).unwrap();
    let fences = crate::os::barrier::Barriers::symmetric();
    readers_never_see_a_reused_chunk(&Space::mount_with(medium, FRESH, fences).unwrap());
}

/// A8. Numbers of threads are reused, and a thread inherits what its predecessor left.
#[test]
fn a8_threads_that_come_and_go_leak_nothing() {
    let space = pool(8);
    for round in 0..200 {
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    for _ in 0..200 {
                        let guard = space.pin_mut().unwrap();
                        let at = guard.alloc(1024).unwrap();
                        guard.retire(at, 1024);
                    }
                });
            }
        });
        assert!(space.stats().length <= PAGE, "round {round}: {:?}", space.stats());
    }
    assert!(space.relieve().unwrap());
    let stats = space.stats();
    assert_eq!((stats.bytes_in_use, stats.limbo_bytes), (EMPTY, 0));
}

/// A8. A thousand threads, four in each session: none leaves anything of its own behind.
#[test]
fn a8_a_thousand_threads_over_restarts_leave_no_lists() {
    let mut space = pool(4);
    for generation in 2..252 {
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    let guard = space.pin_mut().unwrap();
                    let (kept, gone) = (guard.alloc(512).unwrap(), guard.alloc(512).unwrap());
                    guard.retire(gone, 512);
                    guard.discard(kept, 512);
                });
            }
        });
        while space.stats().limbo_bytes > 0 {
            space.relieve().unwrap();
        }
        space.save().unwrap();
        let session = Session { generation, clean: true, read_only: false };
        space = Space::mount(space.media, session).unwrap();
        assert!(space.stats().length <= 2 * STEP, "session {generation}");
    }
    let quiesced = space.quiesce().unwrap();
    assert_eq!(quiesced.check().unwrap().finish().unwrap().leaked, 0);
}

/// A9. One thread only allocates, the other only frees.
fn handed_over(chunks: usize) {
    let space = pool(16);
    let (give, take) = mpsc::sync_channel::<u64>(1_000);
    std::thread::scope(|s| {
        s.spawn(|| {
            for at in take {
                space.pin_mut().unwrap().retire(at, 64);
            }
        });
        for _ in 0..chunks {
            give.send(space.with_room(|| space.pin_mut()?.alloc(64)).unwrap()).unwrap();
        }
        drop(give);
    });
    // The pool holds a thousand chunks in the channel, those in one thread's cache, and those in limbo; not all that
    // were ever freed.
    assert!(space.stats().length <= PAGE, "{:?}", space.stats());
    while space.stats().limbo_bytes > 0 {
        space.relieve().unwrap();
    }
    space.reclaim(&space.pin_mut().unwrap()).unwrap();
    assert_eq!(space.stats().bytes_in_use, EMPTY);
}

#[test]
fn a9_one_thread_allocates_what_another_frees() {
    handed_over(300_000);
}

#[test]
#[ignore = "ten million: cargo test --release -p endura-engine --lib -- --ignored a9"]
fn a9_ten_million_chunks_are_handed_over() {
    handed_over(10_000_000);
}
