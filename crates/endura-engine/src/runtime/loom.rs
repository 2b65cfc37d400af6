//! Models of the epoch protocol: all executions of two and three threads. They use the symmetric barriers, because loom
//! cannot model `membarrier(2)`.

use std::sync::Arc;

use loom::thread;

use super::epoch::{Epochs, Inside, Mode, Slot, before_reuse};
use crate::os::barrier::Barriers;
use crate::sync::loom::{Fault, check, check_finds};
use crate::sync::{AtomicU64, Ordering, fence};

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

/// The bit of the gate in the models of claims.
const MODE: u64 = 1;

/// The words of a key that a writer and a thread with several changes share.
#[derive(Default)]
struct Key {
    mark: AtomicU64,
    /// How many threads write the key.
    writing: AtomicU64,
}

impl Key {
    fn write(&self) {
        assert_eq!(self.writing.fetch_add(1, Ordering::Relaxed), 0, "two threads write one key");
        self.writing.fetch_sub(1, Ordering::Relaxed);
    }

    /// Claims the key, and writes it unless it is marked. Inside a writer's pin.
    fn write_unless_marked(&self, slot: &Slot<()>) {
        slot.claim(0);
        if self.mark.load(Ordering::Acquire) == 0 {
            self.write();
        }
    }

    /// Marks the key, waits for its claim, and writes it.
    fn mark_and_write(&self, slot: &Slot<()>) {
        self.mark.store(1, Ordering::Release);
        fence(Ordering::SeqCst);
        if let Some(claim) = slot.claimed() {
            while slot.claimed() == Some(claim) {
                thread::yield_now();
            }
        }
        self.write();
    }
}

/// One thread writes as `writer` does, with the slot of thread 1. The other one enters the mode, unless it is `on` from the
/// start, and writes the key under a mark.
fn of_a_claim_and_a_mark_one_is_seen(on: bool, writer: fn(&Epochs<()>, &Slot<()>, &Key)) {
    let epochs = Arc::new(Epochs::<()>::new(Barriers::symmetric(), if on { MODE } else { 0 }));
    let key = Arc::new(Key::default());
    let other = {
        let (epochs, key) = (Arc::clone(&epochs), Arc::clone(&key));
        thread::spawn(move || writer(&epochs, epochs.slot(1), &key))
    };
    let slot = epochs.slot(1);
    if !on {
        epochs.shut(MODE);
        assert!(epochs.settle());
        while slot.is_careless() {
            thread::yield_now();
        }
    }
    key.mark_and_write(slot);
    other.join().unwrap();
}

fn write_once(epochs: &Epochs<()>, slot: &Slot<()>, key: &Key) {
    match epochs.pin(slot, Mode::Writer) {
        0 => key.write(),
        _ => key.write_unless_marked(slot),
    }
    slot.unpin(Mode::Writer);
}

#[test]
fn a_claim_beside_a_mark() {
    check(None, || of_a_claim_and_a_mark_one_is_seen(true, write_once));
    check_finds(Fault::NoFences, None, || of_a_claim_and_a_mark_one_is_seen(true, write_once));
}

#[test]
fn the_mode_is_entered_beside_a_writer() {
    check(Some(3), || of_a_claim_and_a_mark_one_is_seen(false, write_once));
    check_finds(Fault::NoFences, Some(3), || of_a_claim_and_a_mark_one_is_seen(false, write_once));
}

/// Claims the key, runs a closure without the claim, and writes.
fn write_behind_a_closure(epochs: &Epochs<()>, slot: &Slot<()>, key: &Key) {
    if epochs.pin(slot, Mode::Writer) != 0 {
        slot.claim(0);
    }
    assert!(slot.park());
    match epochs.unpark(slot) {
        0 => key.write(),
        _ => key.write_unless_marked(slot),
    }
    slot.unpin(Mode::Writer);
}

#[test]
fn a_closure_ends_beside_a_mark() {
    for on in [true, false] {
        check(Some(3), move || of_a_claim_and_a_mark_one_is_seen(on, write_behind_a_closure));
    }
}

/// Relies behind a closure on the claim from before.
fn write_by_an_old_claim(epochs: &Epochs<()>, slot: &Slot<()>, key: &Key) {
    epochs.pin(slot, Mode::Writer);
    slot.claim(0);
    let is_free = key.mark.load(Ordering::Acquire) == 0;
    assert!(slot.park());
    epochs.unpark(slot);
    if is_free {
        key.write();
    }
    slot.unpin(Mode::Writer);
}

#[test]
#[should_panic(expected = "two threads write one key")]
fn a_claim_ends_with_a_closure() {
    check(Some(3), || of_a_claim_and_a_mark_one_is_seen(true, write_by_an_old_claim));
}

/// Two writes of another key of the stripe in a row: the first is waited for, the second has seen the mark.
fn write_twice(epochs: &Epochs<()>, slot: &Slot<()>, key: &Key) {
    write_once(epochs, slot, key);
    write_once(epochs, slot, key);
}

#[test]
fn a_claim_is_waited_for_until_it_changes() {
    check(Some(2), || of_a_claim_and_a_mark_one_is_seen(true, write_twice));
}
