//! What is found, in every kind of map.

use endura_engine::space::{LeakRecoveryState, LeakStep, PAGE};

use crate::World;

/// A1, A2. Chunks that were free, cached, waiting or taken when the process ended are found, and those
/// of every map stay what they were.
#[test]
fn a1_a2_all_that_was_not_linked_is_found() {
    let worlds = [1, 7, 512].map(|bite| (bite, World::new(64)));
    for (bite, world) in worlds.into_iter().chain([(7, World::with_records(128))]) {
        world.fill(0..3_000, 1);
        world.empty((0..3_000).filter(|key| key % 3 != 0));
        for bytes in [64, 512, 3 * PAGE] {
            // Taken, and never linked.
            world.space.pin_mut().unwrap().alloc(bytes).unwrap();
        }
        let before = world.entries();
        let world = world.killed();
        let recoverer = world.recoverer(bite);
        assert!(world.shares().leaked > 4 * PAGE);
        assert!(recoverer.finish().unwrap());
        let shares = world.shares();
        assert_eq!(shares.leaked, 0, "{shares:?}");
        assert_eq!(world.entries(), before);
        let found = world.space.leak_recovery();
        assert_eq!(found.state, LeakRecoveryState::Complete);
        assert_eq!(found.bytes_swept, found.bytes);
        assert!(found.bytes_freed > 4 * PAGE && found.chunks_marked > 1_000, "{found:?}");
        // What was found is used again, and nothing that is in use.
        let length = world.space.stats().length;
        world.fill(3_000..5_000, 2);
        assert_eq!(world.space.stats().length, length);
        assert_eq!(world.shares().leaked, 0);
    }
}

/// A4, A5. Entries come and go between any two steps of the marking: what the marker has passed, what
/// it has not reached yet, and the nodes that are split and merged around it.
#[test]
fn a4_a5_writers_between_any_two_steps() {
    for seed in 0..18_u64 {
        let world = if seed < 12 { World::new(64) } else { World::with_records(128) };
        world.fill(0..400, seed);
        world.empty((0..400).filter(|key| key % 4 == seed % 4));
        let world = world.killed();
        let recoverer = world.recoverer(1 + seed as usize % 3);
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut steps = 0;
        loop {
            match recoverer.step().unwrap() {
                LeakStep::Ended => break,
                LeakStep::Worked | LeakStep::Idle => steps += 1,
            }
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = (state >> 33) % 500;
            match state >> 60 {
                0..5 => world.fill(key..key + 4, state),
                5..10 => world.empty(key..key + 12),
                10 => _ = world.space.relieve().unwrap(),
                _ => {}
            }
            if steps % 64 == 0 {
                // Nothing is free that somebody reaches.
                world.shares();
            }
        }
        assert!(steps > 100, "{steps}");
        assert!(world.space.leak_recovery().is_done());
        assert!(!world.space.is_poisoned());
        assert_eq!(world.shares().leaked, 0, "seed {seed}");
        world.empty(0..600);
        world.space.relieve().unwrap();
        assert_eq!(world.shares().leaked, 0);
        assert!(world.entries().is_empty());
    }
}

/// A11. Spans whose chunks were all freed by their owners become others, of another size, while the
/// marking is under way, and are none of the sweep's business.
#[test]
fn a11_a_span_that_changes_its_class_meanwhile_is_passed_over() {
    let world = World::new(32);
    let guard = world.space.pin_mut().unwrap();
    let whole: Vec<u64> = (0..40 * 32).map(|_| guard.alloc(512).unwrap()).collect();
    drop(guard);
    let world = world.killed();
    let recoverer = world.recoverer(1);
    recoverer.step().unwrap();
    // The owner of all of them, as a map would be.
    let guard = world.space.pin_mut().unwrap();
    whole.iter().for_each(|&at| guard.discard(at, 512));
    drop(guard);
    world.space.relieve().unwrap();
    let guard = world.space.pin_mut().unwrap();
    let new: Vec<u64> = (0..100).map(|_| guard.alloc(5120).unwrap()).collect();
    drop(guard);
    let places = whole[0]..whole[0] + 40 * 16_384;
    assert!(new.iter().all(|at| places.contains(at)), "where the others were: {new:x?}");
    assert!(recoverer.finish().unwrap());
    let guard = world.space.pin_mut().unwrap();
    let others: Vec<u64> = (0..1_000).map(|_| guard.alloc(5120).unwrap()).collect();
    assert!(others.iter().all(|at| !new.contains(at)), "handed out twice");
    drop(guard);
    assert!(!world.space.is_poisoned());
}

/// The same where a map reaches the new chunks, and the old ones were marked already.
#[test]
fn a_page_of_another_size_is_reached_after_it_was_marked() {
    let world = World::new(32);
    let large = || vec![1; 2 * PAGE as usize];
    world.bytes().insert("a large one", large()).unwrap();
    let world = world.killed();
    let recoverer = world.recoverer(1);
    // Marks the run, whose pages then become those of records and nodes.
    world.bytes().remove("a large one").unwrap();
    world.space.relieve().unwrap();
    world.fill(0..3_000, 1);
    assert!(recoverer.finish().unwrap());
    assert_eq!(world.shares().leaked, 0);
}

/// A10. Runs of pages: those in use stay, also when they are freed meanwhile, the others go.
#[test]
fn a10_large_chunks_are_found_or_kept() {
    let world = World::new(64);
    let value = |n: usize| vec![n as u8; n * PAGE as usize];
    for n in [1, 2, 3] {
        world.bytes().insert(format!("large {n}"), value(n)).unwrap();
    }
    world.space.pin_mut().unwrap().alloc(4 * PAGE).unwrap();
    let world = world.killed();
    let recoverer = world.recoverer(1);
    for _ in 0..4 {
        recoverer.step().unwrap();
    }
    world.bytes().remove("large 2").unwrap();
    world.space.relieve().unwrap();
    world.bytes().insert("large 4", value(1)).unwrap();
    assert!(recoverer.finish().unwrap());
    for n in [1, 3] {
        assert_eq!(world.bytes().get(format!("large {n}")).unwrap(), Some(value(n)));
    }
    assert_eq!(world.shares().leaked, 0);
    assert!(world.space.leak_recovery().bytes_freed >= 5 * PAGE - 64);
}
