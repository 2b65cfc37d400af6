//! All executions of the protocols of volatile state, on two and three threads. The pair of barriers
//! is the symmetric one; what `membarrier(2)` does is beyond a model.

use std::sync::Arc;

use loom::thread;

use super::barrier::Barriers;
use super::epoch::{Epochs, Mode};
use crate::sync::modelled::{Fault, check, check_finds};
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

/// One thread unlinks a chunk and writes over it once its epoch is `grace` beyond the tag; another one
/// reads it inside a pin, if it finds the link. `movers` more try to move the epoch on.
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
            slot.unpin();
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
    if epochs.now() >= tag + grace {
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

/// One thread enters if the gate lets it; the other one shuts the gate and goes on when nobody is
/// inside.
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
            slot.unpin();
        })
    };
    epochs.shut(1);
    assert!(epochs.settle());
    if epochs.is_empty_of(Mode::Writer) {
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
