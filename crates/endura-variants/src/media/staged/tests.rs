use std::thread::{self, Builder};

use endura_engine::media::{Heap, Region};

use super::*;

const SOON: Duration = Duration::from_secs(20);

/// Words 0, 1 and 2 set to 1 with a step after the first, in a thread called `writer`.
fn write(medium: &Staged<Heap>) {
    let words = Region::new(medium, 0, 3).unwrap();
    words.store(0, 1, Ordering::Release);
    medium.mark(Mark::Step("after the first"));
    words.store(1, 1, Ordering::Release);
    words.store(2, words.load(1, Ordering::Acquire), Ordering::Release);
}

fn stopped_words(stop: Stop, runs: u64) -> [u64; 3] {
    let medium = Staged::new(Heap::new(64));
    let halt = medium.halt("writer", stop);
    thread::scope(|scope| {
        let run = || (0..runs).for_each(|_| write(&medium));
        Builder::new().name("writer".into()).spawn_scoped(scope, run).unwrap();
        assert!(halt.reached_within(SOON));
        let words = Region::new(medium.inner(), 0, 3).unwrap();
        let seen = [0, 1, 2].map(|i| words.load(i, Ordering::Acquire));
        write(&medium); // this thread has another name and passes
        halt.release();
        seen
    })
}

#[test]
fn a_thread_stands_before_what_it_was_stopped_at() {
    assert_eq!(stopped_words(Stop::at_store(1), 1), [0, 0, 0]);
    assert_eq!(stopped_words(Stop::at("after the first"), 1), [1, 0, 0]);
    assert_eq!(stopped_words(Stop::at("after the first").before_store(2), 1), [1, 1, 0]);
    assert_eq!(stopped_words(Stop::at("after the first").before_load(1), 1), [1, 1, 0]);
    assert_eq!(stopped_words(Stop::at("after the first").visit(2), 2), [1, 1, 1]);
}

#[test]
fn a_halt_that_is_never_met_is_reported_and_stops_nobody_later() {
    let medium = Staged::new(Heap::new(64));
    let halt = medium.halt("writer", Stop::at("never"));
    assert!(!halt.reached_within(Duration::from_millis(1)));
    drop(halt);
    assert_eq!(medium.armed.load(Ordering::Relaxed), 0);
    write(&medium);
}

#[test]
fn one_chunk_is_refused_and_the_steps_are_counted() {
    let medium = Staged::new(Heap::new(64));
    medium.refuse_chunk(2);
    assert_eq!([(); 4].map(|()| medium.grant()), [true, false, true, true]);
    assert_eq!((medium.granted(), medium.refusal_pending()), (3, false));
    medium.mark(Mark::Fresh { at: 8, bytes: 20 });
    let word = |i| Region::new(medium.inner(), 0, 5).unwrap().load(i, Ordering::Acquire);
    assert_eq!([0, 1, 2, 3].map(word), [0; 4]);
    medium.poison_chunks();
    medium.mark(Mark::Fresh { at: 8, bytes: 20 });
    assert_eq!([0, 1, 2, 3].map(word), [0, POISON, POISON, 0]);
    write(&medium);
    medium.record_steps();
    write(&medium);
    write(&medium);
    assert_eq!(medium.steps(), BTreeMap::from([("after the first", 2)]));
}

#[test]
#[should_panic(expected = "only read")]
fn a_sealed_medium_refuses_an_exchange_that_fails() {
    let medium = Staged::new(Heap::new(64));
    medium.set_sealed(true);
    let word = Region::new(&medium, 0, 1).unwrap();
    assert_eq!(word.load(0, Ordering::Acquire), 0);
    let _ = word.compare_exchange(0, 1, 2);
}
