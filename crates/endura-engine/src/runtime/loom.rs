//! Models of the epoch protocol: all executions of two and three threads. They use the symmetric barriers, because loom
//! cannot model `membarrier(2)`.

use std::sync::Arc;

use loom::thread;

use super::epoch::{Epochs, Inside, Mode, before_reuse};
use crate::os::barrier::Barriers;
use crate::sync::loom::{Fault, check, check_finds};
use crate::sync::{AtomicU64, Ordering};

/// Store buffering: of two threads that each store a word and then load the other's, one sees it.
fn one_side_sees_the_other() {
    let words = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let barriers = Barriers::symmetric();
    let other = {
        let words = Arc::clone(&words);
        thread::spawn(move || {
            words[1].store(1, Ordering::Relaxed);
            barriers.light();
            words[0].load(Ordering::Relaxed)
        })
    };
    words[0].store(1, Ordering::Relaxed);
    assert!(barriers.heavy());
    let seen = words[1].load(Ordering::Relaxed);
    assert!(seen + other.join().unwrap() > 0, "both missed the other's store");
}

#[test]
fn a_barrier_on_both_sides() {
    check(None, one_side_sees_the_other);
    check_finds(Fault::NoFences, None, one_side_sees_the_other);
}

/// One thread unlinks a chunk and writes over it once the epoch is `grace` beyond the tag. Another thread reads the
/// chunk inside a pin, if it finds the link. `movers` further threads try to move the epoch.
fn no_chunk_is_reused_under_a_pin(grace: u64, movers: usize) {
    let epochs = Arc::new(Epochs::<()>::new(Barriers::symmetric(), 0));
    let (link, chunk) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicU64::new(0)));
    let reader = {
        let (epochs, link, chunk) = (Arc::clone(&epochs), Arc::clone(&link), Arc::clone(&chunk));
        thread::spawn(move || {
            let slot = epochs.slot(1);
            epochs.pin(slot, Mode::Reader);
            if link.load(Ordering::Acquire) != 0 {
                assert_eq!(chunk.load(Ordering::Relaxed), 0, "reused under a pin");
            }
            slot.unpin(Mode::Reader);
        })
    };
    let movers: Vec<_> = (0..movers)
        .map(|_| {
            let epochs = Arc::clone(&epochs);
            thread::spawn(move || _ = epochs.advance())
        })
        .collect();
    link.store(0, Ordering::Release);
    let tag = epochs.tag();
    (0..2).for_each(|_| _ = epochs.advance());
    if tag.has_expired(epochs.now() + 2 - grace) {
        chunk.store(1, Ordering::Relaxed);
    }
    reader.join().unwrap();
    movers.into_iter().for_each(|mover| mover.join().unwrap());
}

#[test]
fn a_pin_keeps_a_chunk_from_being_reused() {
    check(None, || no_chunk_is_reused_under_a_pin(2, 0));
    check(Some(3), || no_chunk_is_reused_under_a_pin(2, 1));
}

#[test]
fn without_fences_a_chunk_is_reused_under_a_pin() {
    check_finds(Fault::NoFences, None, || no_chunk_is_reused_under_a_pin(2, 0));
}

#[test]
#[should_panic(expected = "reused under a pin")]
fn after_one_epoch_a_chunk_is_reused_under_a_pin() {
    check(None, || no_chunk_is_reused_under_a_pin(1, 0));
}

/// How a thread uses a chunk that it reached in a pin that has ended.
#[derive(Clone, Copy)]
enum Later {
    /// By the rule for reads without a pin: it loads the word, then the epoch.
    Look,
    /// Like `Look`, but with a `Relaxed` load of the word.
    LookRelaxed,
    /// By the rule for another pin.
    Pin,
    /// In another pin, but by the rule for reads without a pin, which is wrong.
    LookInsidePin,
}

/// One thread unlinks a chunk and writes over it once it has expired. Another thread finds the link in a pin, and uses
/// the chunk afterwards by its stamp.
fn a_stamp_ends_before_a_chunk_is_reused(later: Later) {
    let epochs = Arc::new(Epochs::<()>::new(Barriers::symmetric(), 0));
    let (link, chunk) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicU64::new(0)));
    let reader = {
        let (epochs, link, chunk) = (Arc::clone(&epochs), Arc::clone(&link), Arc::clone(&chunk));
        thread::spawn(move || {
            let slot = epochs.slot(1);
            epochs.pin(slot, Mode::Reader);
            let (found, stamp) = (link.load(Ordering::Acquire) != 0, slot.stamp());
            slot.unpin(Mode::Reader);
            if !found {
                return;
            }
            let order = match later {
                Later::LookRelaxed => Ordering::Relaxed,
                _ => Ordering::Acquire,
            };
            match later {
                Later::Look | Later::LookRelaxed => {
                    let word = chunk.load(order);
                    assert!(word == 0 || !epochs.still_covers(stamp), "read after its reuse");
                }
                Later::Pin | Later::LookInsidePin => {
                    epochs.pin(slot, Mode::Reader);
                    let is_there = match later {
                        Later::Pin => epochs.protects(stamp),
                        _ => epochs.still_covers(stamp),
                    };
                    // Loads twice: a move that scanned the slots before may happen in between.
                    let words = is_there.then(|| [(); 2].map(|()| chunk.load(Ordering::Relaxed)));
                    assert!(words.is_none_or(|words| words == [0; 2]), "reused under a pin");
                    slot.unpin(Mode::Reader);
                }
            }
        })
    };
    link.store(0, Ordering::Release);
    let tag = epochs.tag();
    (0..2).for_each(|_| _ = epochs.advance());
    if tag.has_expired(epochs.now()) {
        before_reuse();
        chunk.store(1, Ordering::Relaxed);
    }
    reader.join().unwrap();
}

#[test]
fn a_look_without_a_pin() {
    check(Some(3), || a_stamp_ends_before_a_chunk_is_reused(Later::Look));
    check_finds(Fault::NoFences, Some(3), || a_stamp_ends_before_a_chunk_is_reused(Later::Look));
}

#[test]
#[should_panic(expected = "read after its reuse")]
fn a_look_that_orders_nothing() {
    check(Some(3), || a_stamp_ends_before_a_chunk_is_reused(Later::LookRelaxed));
}

#[test]
fn a_stamp_in_another_pin() {
    check(Some(3), || a_stamp_ends_before_a_chunk_is_reused(Later::Pin));
}

#[test]
#[should_panic(expected = "reused under a pin")]
fn a_stamp_of_the_epoch_before_in_another_pin() {
    check(Some(3), || a_stamp_ends_before_a_chunk_is_reused(Later::LookInsidePin));
}

/// One thread enters if the gate lets it. The other one shuts the gate, and goes ahead if no thread is inside.
fn nobody_is_inside_a_gate_that_was_shut() {
    let epochs = Arc::new(Epochs::<()>::new(Barriers::symmetric(), 0));
    let (entered, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let inside = {
        let (epochs, entered, over) =
            (Arc::clone(&epochs), Arc::clone(&entered), Arc::clone(&over));
        thread::spawn(move || {
            let slot = epochs.slot(1);
            if epochs.pin(slot, Mode::Writer) == 0 {
                entered.store(1, Ordering::Relaxed);
                assert_eq!(over.load(Ordering::Relaxed), 0, "inside a closed pool");
            }
            slot.unpin(Mode::Writer);
        })
    };
    epochs.shut(1);
    assert!(epochs.settle());
    if epochs.inside(Inside::Writing).next().is_none() {
        over.store(1, Ordering::Relaxed);
        let before = entered.load(Ordering::Relaxed);
        inside.join().unwrap();
        assert_eq!(entered.load(Ordering::Relaxed), before, "entered after the gate was shut");
    } else {
        inside.join().unwrap();
    }
}

#[test]
fn a_gate_that_was_shut_keeps_everybody_out() {
    check(None, nobody_is_inside_a_gate_that_was_shut);
    check_finds(Fault::NoFences, None, nobody_is_inside_a_gate_that_was_shut);
}

/// One thread parks for a closure. It stores to the words before the closure, in a pin inside of it, and after it. The
/// other thread shuts the gate, and reads the words if no thread can be storing. It must find a complete operation, and
/// the words must not change afterwards. `waits` says whether the first thread obeys the gate when its closure ends.
fn nobody_stores_while_others_are_held(waits: bool) {
    let epochs = Arc::new(Epochs::<()>::new(Barriers::symmetric(), 0));
    let words = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let writer = {
        let (epochs, words) = (Arc::clone(&epochs), Arc::clone(&words));
        thread::spawn(move || {
            let (slot, store) = (epochs.slot(1), |n: u64| {
                words.iter().for_each(|word| word.store(n, Ordering::Relaxed));
            });
            if epochs.pin(slot, Mode::Writer) == 0 {
                store(1);
                assert!(slot.park());
                if epochs.pin(slot, Mode::Writer) == 0 {
                    store(2);
                }
                slot.unpin(Mode::Writer);
                if epochs.unpark(slot) == 0 || !waits {
                    store(3);
                }
            }
            slot.unpin(Mode::Writer);
        })
    };
    epochs.shut(1);
    assert!(epochs.settle());
    if epochs.inside(Inside::Storing).next().is_none() {
        let look = || [0, 1].map(|i: usize| words[i].load(Ordering::Relaxed));
        let [first, second] = look();
        assert_eq!(first, second, "half an operation");
        writer.join().unwrap();
        assert_eq!(look(), [first, second], "stored while it was held");
    } else {
        writer.join().unwrap();
    }
}

#[test]
fn a_parked_writer_stores_nothing() {
    check(Some(3), || nobody_stores_while_others_are_held(true));
    check_finds(Fault::NoFences, Some(3), || nobody_stores_while_others_are_held(true));
}

#[test]
#[should_panic(expected = "stored while it was held")]
fn a_closure_that_ends_goes_by_the_gate() {
    check(Some(3), || nobody_stores_while_others_are_held(false));
}
