//! Models of the code that passes chunks between threads: limbo, caches, slabs and epochs together, in all executions.

use std::sync::Arc;
use std::time::Duration;

use crate::media::loom::Modelled;
use crate::media::{Media, Ordering, Region};
use crate::runtime::thread::be;
use crate::space::PAGE;
use crate::space::batch::flights::Flights;
use crate::space::batch::marks::Marks;
use crate::space::directory::map_state::{MapFacts, MapState};
use crate::space::session::Session;
use crate::space::space::Space;
use crate::sync::AtomicU64;
use crate::sync::loom::{Fault, check, check_finds, fenced, spawn};
use crate::types::Types;

const CHUNK: u64 = 64;
/// The offset of the first chunk.
const FIRST: u64 = 12 * 4096;

fn space() -> Arc<Space<Modelled>> {
    let medium = Modelled::new(2 * PAGE);
    Space::format(&medium).unwrap();
    let session = Session { generation: 1, clean: true, read_only: false };
    Arc::new(Space::mount(medium, session).unwrap())
}

fn word<M: Media>(space: &Space<M>, at: u64) -> Region<'_, M> {
    Region::new(space.media(), at, 1).unwrap()
}

/// One thread takes a chunk and frees it. Another thread empties all caches and takes two. No thread finds another
/// one's mark in a chunk that it owns. (`too_early`: the first thread frees its chunk and continues to use it.)
fn a_chunk_has_one_owner(too_early: bool) {
    let space = space();
    // Two chunks wait in the cache of thread 0.
    let first: Vec<u64> = {
        let guard = space.pin_mut().unwrap();
        let chunks = (0..2).map(|_| guard.alloc(CHUNK).unwrap()).collect();
        space.media().fill(FIRST, 64 * CHUNK);
        chunks
    };
    for at in first {
        space.pin_mut().unwrap().discard(at, CHUNK);
    }
    let use_one = move |space: &Space<Modelled>, mark: u64| {
        let guard = space.pin_mut().unwrap();
        let at = guard.alloc(CHUNK).unwrap();
        if too_early && mark == 1 {
            guard.discard(at, CHUNK);
        }
        word(space, at).store(0, mark, Ordering::Relaxed);
        assert_eq!(word(space, at).load(0, Ordering::Relaxed), mark, "two owners");
        at
    };
    let other = {
        let space = Arc::clone(&space);
        spawn(move || {
            be(1);
            space.reclaim_outside().unwrap();
            [2, 3].map(|mark| use_one(&space, mark))
        })
    };
    let own = use_one(&space, 1);
    assert!(!other.join().unwrap().contains(&own), "two owners");
}

#[test]
fn caches_that_are_emptied_while_they_are_used() {
    check(Some(2), || a_chunk_has_one_owner(false));
}

#[test]
#[should_panic(expected = "two owners")]
fn a_chunk_that_was_given_back_too_early() {
    check(Some(2), || a_chunk_has_one_owner(true));
}

/// One thread unlinks a chunk, retires it, frees what has expired, and overwrites the chunk that it then allocates.
/// Another thread reads the chunk that it finds linked.
fn a_linked_chunk_is_as_it_was() {
    let space = space();
    let (link, old) = {
        let guard = space.pin_mut().unwrap();
        (guard.alloc(CHUNK).unwrap(), guard.alloc(CHUNK).unwrap())
    };
    space.media().fill(FIRST, 64 * CHUNK);
    word(&space, old).store(0, 7, Ordering::Release);
    word(&space, link).store(0, old, Ordering::Release);
    let reader = {
        let space = Arc::clone(&space);
        spawn(move || {
            be(1);
            let guard = space.pin().unwrap();
            let at = word(&space, link).load(0, Ordering::Acquire);
            if at != 0 {
                assert_eq!(word(&space, at).load(0, Ordering::Relaxed), 7, "reused under a pin");
            }
            drop(guard);
        })
    };
    {
        let guard = space.pin_mut().unwrap();
        word(&space, link).store(0, 0, Ordering::Release);
        guard.retire(old, CHUNK);
    }
    space.reclaim_outside().unwrap();
    let guard = space.pin_mut().unwrap();
    let fresh = guard.alloc(CHUNK).unwrap();
    word(&space, fresh).store(0, 666, Ordering::Release);
    drop(guard);
    reader.join().unwrap();
}

#[test]
fn a_retired_chunk_on_its_way_to_its_next_owner() {
    check(Some(2), a_linked_chunk_is_as_it_was);
    check_finds(Fault::NoFences, Some(3), a_linked_chunk_is_as_it_was);
}

/// One of two entries was there before. One thread inserts the other entry, and another thread removes it. A thread
/// that counts meanwhile finds one entry or two.
fn a_count_is_that_of_one_moment() {
    let facts = MapFacts { kind: 1, parameters: 0, types: Types::default(), entry: 0 };
    let map = Arc::new(MapState::new(String::new(), facts, Some(1)));
    let writer = |thread, entries| {
        let map = Arc::clone(&map);
        move || {
            be(thread);
            map.add(entries);
        }
    };
    let (enter, take) = (writer(0, 1), writer(1, -1));
    let others = spawn(move || {
        enter();
        spawn(take).join().unwrap();
    });
    assert!((1..=2).contains(&map.sum()), "a number of entries that there never was");
    others.join().unwrap();
    assert_eq!(map.sum(), 1);
}

#[test]
fn a_count_beside_writers() {
    check(Some(3), a_count_is_that_of_one_moment);
}

/// One thread stores two words in a pin. Another thread holds the writers and looks twice: it finds both words or none,
/// and the same each time.
fn nothing_is_stored_in_a_hold() {
    let space = space();
    space.media().fill(FIRST, 2 * CHUNK);
    let writer = {
        let space = Arc::clone(&space);
        spawn(move || {
            be(1);
            let guard = space.pin_mut().unwrap();
            word(&space, FIRST).store(0, 1, Ordering::Relaxed);
            word(&space, FIRST + CHUNK).store(0, 1, Ordering::Relaxed);
            drop(guard);
        })
    };
    if let Some(hold) = fenced(|| space.hold(Duration::ZERO)).unwrap() {
        let look = || [FIRST, FIRST + CHUNK].map(|at| word(&space, at).load(0, Ordering::Relaxed));
        let [first, second] = look();
        assert_eq!(first, second, "half an operation");
        assert_eq!(look(), [first, second], "stored in a hold");
        drop(hold);
    }
    writer.join().unwrap();
}

/// The barrier of the hold is `membarrier`. The barrier of the writers only constrains the compiler.
#[test]
fn a_hold_keeps_stores_out_by_its_barrier() {
    check(Some(2), nothing_is_stored_in_a_hold);
    check_finds(Fault::NoFencesOfOne, Some(2), nothing_is_stored_in_a_hold);
}

/// One thread commits two changes of a key, one after the other. Another one reads the key twice, by the steps of a reader:
/// it never goes back.
fn a_reader_sees_commits_in_their_order() {
    let shared = Arc::new((Marks::default(), Flights::default(), AtomicU64::new(0)));
    let reader = {
        let shared = Arc::clone(&shared);
        spawn(move || {
            let (marks, flights, map) = &*shared;
            let read = || {
                let seen = marks.owner(0).map(|flight| flights.look(flight));
                let seen = seen.filter(|seen| seen.is_committed());
                // The change of the intent at 16 is to 1, of that at 32 to 2.
                match seen.and_then(|seen| seen.intent()) {
                    Some(at) => at / 16,
                    None => map.load(Ordering::Acquire),
                }
            };
            let (first, second) = (read(), read());
            assert!(first <= second, "went back from {first} to {second}");
        })
    };
    let (marks, flights, map) = &*shared;
    for change in [1, 2] {
        let flight = flights.take(16 * change, 0).unwrap();
        assert!(marks.set(0, flight));
        flights.commit(flight);
        map.store(change, Ordering::Release);
        marks.take_off(0);
        flights.end(flight);
    }
    reader.join().unwrap();
}

#[test]
fn a_reader_beside_two_commits() {
    check(Some(3), a_reader_sees_commits_in_their_order);
}
