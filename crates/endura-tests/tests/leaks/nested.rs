//! A walk over keys each of which is a prefix of the next, while others move the epoch.

use std::sync::Arc;

use endura_engine::media::Heap;
use endura_engine::space::{LeakRecoverer, LeakRecoveryState, LeakStep, PAGE, Space};
use endura_engine::tree::roart;
use endura_variants::handles::ByteMap;
use endura_variants::roart::{Tiny, WithoutArrays};
use endura_variants::sessions;

type Tree = roart::Tree<Arc<Heap>>;

fn first(heap: &Arc<Heap>) -> Arc<Space<Arc<Heap>>> {
    sessions::first(Arc::clone(heap)).unwrap()
}

fn after_a_kill(heap: &Arc<Heap>) -> Arc<Space<Arc<Heap>>> {
    sessions::begin(Arc::clone(heap), 2, false).unwrap()
}

/// How many steps the marking of `depth` nested nodes takes, at most `most`.
fn marked_in(depth: usize, bite: usize, moves: bool, most: usize) -> (usize, LeakRecoveryState) {
    let heap = Arc::new(Heap::new(64 * PAGE));
    let space = first(&heap);
    let map = ByteMap::over(Tree::open(&space, "nested").unwrap());
    map.insert(b"A", b"before").unwrap();
    for i in 0..depth {
        let key = [&vec![b'a'; i][..], b"b"].concat();
        map.insert(&key, b"x").unwrap();
    }
    drop((map, space));
    let space = after_a_kill(&heap);
    let tree = Tree::open(&space, "nested").unwrap();
    let recoverer = LeakRecoverer::new(&space, vec![tree.marking()], bite);
    for step in 1..=most {
        assert_ne!(recoverer.step().unwrap(), LeakStep::Ended);
        if space.leak_recovery().state != LeakRecoveryState::Marking {
            return (step, space.leak_recovery().state);
        }
        if moves {
            // As a writer that retires.
            space.pin_mut().unwrap().retire(space.pin_mut().unwrap().alloc(64).unwrap(), 64);
            space.relieve().unwrap();
        }
    }
    (most, space.leak_recovery().state)
}

#[test]
fn a_walk_gets_on_where_no_record_is_met_for_a_while() {
    for (depth, bite) in [(300, 512), (1500, 512), (1500, 64)] {
        for moves in [false, true] {
            println!("{depth} {bite} {moves}: {:?}", marked_in(depth, bite, moves, 2_000));
        }
    }
    assert_eq!(marked_in(1500, 512, true, 2_000).1, LeakRecoveryState::Waiting);
}

/// A thread of the background that had to wait until writers were let in again must not rest as long as
/// it has waited: the close waits for it.
#[test]
fn the_close_does_not_wait_for_a_rest() {
    use std::time::{Duration, Instant};
    let world = crate::World::new(32);
    world.fill(0..300, 1);
    let world = world.killed();
    let recoverer = world.recoverer(512);
    let quiesced = world.space.quiesce().unwrap();
    let thread = std::thread::spawn(move || recoverer.run());
    std::thread::sleep(Duration::from_secs(1));
    drop(quiesced);
    std::thread::sleep(Duration::from_millis(50));
    let begun = Instant::now();
    world.space.close().unwrap();
    thread.join().unwrap();
    println!("joined after {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
}

/// How long one step is that has to find its way again.
#[test]
#[ignore = "a measurement"]
fn how_long_a_step_is() {
    use std::time::Instant;
    for depth in [500, 2_000, 8_000] {
        let heap = Arc::new(Heap::new(256 * PAGE));
        let space = first(&heap);
        let map = ByteMap::over(Tree::open(&space, "nested").unwrap());
        for i in 0..depth {
            map.insert([&vec![b'a'; i][..], b"b"].concat(), b"x").unwrap();
        }
        drop((map, space));
        let space = after_a_kill(&heap);
        let tree = Tree::open(&space, "nested").unwrap();
        let recoverer = LeakRecoverer::new(&space, vec![tree.marking()], 512);
        let mut longest = std::time::Duration::ZERO;
        let mut steps = 0;
        let begun = Instant::now();
        while begun.elapsed().as_secs() < 20 {
            let from = Instant::now();
            recoverer.step().unwrap();
            longest = longest.max(from.elapsed());
            steps += 1;
            if space.leak_recovery().state != LeakRecoveryState::Marking {
                break;
            }
            space.pin_mut().unwrap().retire(space.pin_mut().unwrap().alloc(64).unwrap(), 64);
            space.relieve().unwrap();
        }
        println!("{depth}: {steps} steps, longest {longest:?}, {:?}", space.leak_recovery());
    }
}

/// A map is made in a pool that is full of what a crash stranded.
#[test]
fn a_map_is_made_where_only_stranded_space_is_left() {
    let heap = Arc::new(Heap::new(4 * PAGE));
    let space = first(&heap);
    let first = ByteMap::over(Tree::open(&space, "first").unwrap());
    first.insert(b"k", b"v").unwrap();
    while space.pin_mut().unwrap().alloc(32 << 10).is_ok() {}
    drop((first, space));
    let space = after_a_kill(&heap);
    let first = Tree::open(&space, "first").unwrap();
    let _recoverer = LeakRecoverer::new(&space, vec![first.marking()], 512);
    // A write has it collected; this should as well.
    let second = Tree::open(&space, "second");
    assert!(second.is_ok(), "{:?}, {:?}", second.err(), space.leak_recovery());
}

/// A span of the directory that was taken and not linked yet when the process was killed (in
/// `append_span`) is given back, and the list of the next close is one.
#[test]
fn a_directory_span_that_was_never_linked_does_not_spoil_the_list() {
    use endura_engine::media::{Ordering, Region};
    let heap = Arc::new(Heap::new(16 * PAGE));
    let space = first(&heap);
    let map = ByteMap::over(Tree::open(&space, "m").unwrap());
    map.insert(b"k", b"v").unwrap();
    // What `take_directory_span` leaves: a span with this header, which nothing leads to.
    let at = space.pin_mut().unwrap().alloc(65_536).unwrap();
    let header = Region::new(&heap, 12_288 + 8 * (at / 4096), 1).unwrap();
    assert_eq!(header.load(0, Ordering::Acquire) & 0xF, 4, "a run");
    header.store(0, header.load(0, Ordering::Acquire) + 4, Ordering::Release);
    header.flush(0, 1);
    drop((map, space));
    let space = after_a_kill(&heap);
    let tree = Tree::open(&space, "m").unwrap();
    assert!(LeakRecoverer::new(&space, vec![tree.marking()], 512).finish().unwrap());
    space.save().unwrap();
    for generation in 3..6 {
        let space = sessions::begin(Arc::clone(&heap), generation, true).unwrap();
        let found = space.leak_recovery();
        println!("{generation}: {found:?}");
        assert_eq!(found.state, LeakRecoveryState::NotNeeded, "generation {generation}");
        space.save().unwrap();
    }
}

/// Short keys of three letters, many of them prefixes of others, come and go between any two steps of a
/// walk that has to find its way again most of the time.
fn keys_between_steps<T: roart::Techniques>(seed: u64, alphabet: &[u8], longest: u64) {
    let heap = Arc::new(Heap::new(64 * PAGE));
    let space = first(&heap);
    let open = |space: &_| roart::Tree::<Arc<Heap>, T>::open(space, "m").unwrap();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    let key = {
        let alphabet = alphabet.to_vec();
        move |next: &mut dyn FnMut(u64) -> u64| -> Vec<u8> {
            let len = next(longest);
            (0..len).map(|_| alphabet[next(alphabet.len() as u64) as usize]).collect()
        }
    };
    let map = ByteMap::over(open(&space));
    for _ in 0..1_500 {
        let key = key(&mut next);
        map.insert(&key, &key).unwrap();
    }
    for _ in 0..400 {
        map.remove(key(&mut next)).unwrap();
    }
    drop((map, space));
    let space = after_a_kill(&heap);
    let tree = open(&space);
    let map = ByteMap::over(tree.clone());
    let recoverer = LeakRecoverer::new(&space, vec![tree.marking()], 1 + seed as usize % 5);
    let mut steps = 0;
    while recoverer.step().unwrap() != LeakStep::Ended {
        steps += 1;
        assert!(steps < 100_000, "{:?}", space.leak_recovery());
        for _ in 0..next(12) {
            let key = key(&mut next);
            match next(3) {
                0 => _ = map.insert(&key, &key).unwrap(),
                _ => _ = map.remove(&key).unwrap(),
            }
        }
        if next(3) > 0 {
            space.relieve().unwrap();
        }
    }
    assert_eq!(space.leak_recovery().state, LeakRecoveryState::Complete);
    let mut chunks = Vec::new();
    tree.check(&mut |at, bytes| chunks.push((at, bytes))).unwrap();
    let quiesced = space.quiesce().unwrap();
    let mut check = quiesced.check().unwrap();
    chunks.iter().for_each(|&(at, bytes)| check.reach(at, bytes).unwrap());
    assert_eq!(check.finish().unwrap().leaked, 0, "{seed}");
}

#[test]
#[ignore = "long"]
fn nested_keys_between_any_two_steps() {
    for seed in 0..60 {
        keys_between_steps::<Tiny>(seed, b"\0ab", 9);
        keys_between_steps::<roart::Full>(seed, b"\0ab", 12);
        keys_between_steps::<WithoutArrays>(seed, b"ab", 40);
    }
}
