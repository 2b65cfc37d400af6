//! When it runs, waits, is given up, and begins again.

use endura_engine::space::{LeakRecoveryState, LeakStep, PAGE, Worker};

use crate::World;

fn run_to(
    recoverer: &endura_engine::space::LeakRecoverer<std::sync::Arc<endura_engine::media::Heap>>,
    world: &World,
    state: LeakRecoveryState,
) {
    while world.space.leak_recovery().state != state {
        assert_ne!(recoverer.step().unwrap(), LeakStep::Ended);
    }
}

/// A3. Whoever unlinked something while it was marked may not have retired it yet: the sweep waits
/// until that operation has ended.
#[test]
fn a3_the_sweep_waits_for_whoever_was_inside() {
    let world = World::new(32);
    world.fill(0..300, 1);
    let world = world.killed();
    let recoverer = world.recoverer(64);
    let mut inside = Worker::new();
    let pin = inside.run(|| world.space.pin_mut().unwrap());
    run_to(&recoverer, &world, LeakRecoveryState::Waiting);
    for _ in 0..50 {
        assert_ne!(recoverer.step().unwrap(), LeakStep::Ended);
        assert_eq!(world.space.leak_recovery().state, LeakRecoveryState::Waiting);
    }
    inside.run(|| drop(pin));
    assert!(recoverer.finish().unwrap());
    assert_eq!(world.shares().leaked, 0);
}

/// A13. A reader that stays inside holds the leak recovery up, and nothing else.
#[test]
fn a13_a_reader_that_stays_inside_holds_it_up() {
    let world = World::new(32);
    world.fill(0..300, 1);
    let world = world.killed();
    let recoverer = world.recoverer(512);
    let mut reader = Worker::new();
    let pin = reader.run(|| world.space.pin().unwrap());
    assert!(!recoverer.finish().unwrap());
    world.fill(300..600, 1);
    reader.run(|| drop(pin));
    assert!(recoverer.finish().unwrap());
}

/// A map that is dropped while it is marked: its nodes are freed by the drop, once.
#[test]
fn a_map_is_dropped_while_it_is_marked() {
    for steps in 0..12 {
        let world = World::new(32);
        world.fill(0..300, 1);
        let world = world.killed();
        let recoverer = world.recoverer(40);
        for _ in 0..steps {
            recoverer.step().unwrap();
        }
        let mut reader = Worker::new();
        // Keeps the nodes from being freed until all else is marked.
        let pin = reader.run(|| world.space.pin().unwrap());
        let mut nodes = Vec::new();
        world.fast_fair.check(&mut |at, bytes| nodes.push((at, bytes))).unwrap();
        world
            .space
            .drop_map("fast_fair", move |_| {
                Ok(Box::new(move |_, _, note, _| {
                    nodes.iter().for_each(|&(at, bytes)| _ = note(at, bytes));
                    Ok(true)
                }))
            })
            .unwrap();
        for _ in 0..100 {
            recoverer.step().unwrap();
            assert_ne!(world.space.leak_recovery().state, LeakRecoveryState::Sweeping, "{steps}");
        }
        reader.run(|| drop(pin));
        assert!(recoverer.finish().unwrap());
        assert!(!world.space.is_poisoned());
        let mut chunks = Vec::new();
        let mut note = |at, bytes| chunks.push((at, bytes));
        world.nbtree.check(&mut note).unwrap();
        world.roart.check(&mut note).unwrap();
        let quiesced = world.space.quiesce().unwrap();
        let mut check = quiesced.check().unwrap();
        chunks.iter().for_each(|&(at, bytes)| check.reach(at, bytes).unwrap());
        assert_eq!(check.finish().unwrap().leaked, 0);
    }
}

/// What a session has not found when it is closed, the next one looks for.
#[test]
fn a_close_before_the_end_is_remembered() {
    for (i, state) in [
        LeakRecoveryState::Pending,
        LeakRecoveryState::Marking,
        LeakRecoveryState::Waiting,
        LeakRecoveryState::Sweeping,
    ]
    .into_iter()
    .enumerate()
    {
        let world = World::new(64);
        world.fill(0..2_000, 1);
        world.empty(0..1_000);
        let world = world.killed();
        let recoverer = world.recoverer(100);
        run_to(&recoverer, &world, state);
        world.fill(5_000..5_100, 1);
        world.empty(1_000..1_100);
        let before = world.entries();
        drop(recoverer);
        let world = world.closed();
        assert_eq!(world.space.leak_recovery().state, LeakRecoveryState::Pending);
        if i % 2 == 0 {
            world.fill(6_000..6_100, 1);
            world.empty(6_000..6_100);
        }
        assert!(world.recoverer(100).finish().unwrap());
        assert_eq!(world.shares().leaked, 0, "{state:?}");
        assert_eq!(world.entries(), before);
        let world = world.closed();
        assert_eq!(world.space.leak_recovery().state, LeakRecoveryState::NotNeeded);
        assert_eq!(world.shares().leaked, 0);
    }
}

/// A6. Fifty ends in a row without a leak recovery that gets to its end: each goes on in the span of the one
/// before, a quarter further on. Then one gets there, and it is as if nothing had been.
#[test]
fn a6_fifty_kills_in_a_row_grow_the_pool_by_little() {
    let mut world = World::new(512);
    world.fill(0..2_000, 1);
    let length = world.space.stats().length;
    for round in 0..50 {
        world = world.killed();
        let recoverer = world.recoverer(16);
        for _ in 0..=round * 3 {
            recoverer.step().unwrap();
        }
        let map = endura_variants::handles::WordMap::over(world.fast_fair.clone());
        for key in 0..20 {
            map.insert(10_000 + round * 20 + key, 1).unwrap();
        }
    }
    let grown = world.space.stats().length - length;
    // Inner nodes and leaves of this tree are of one size: 50 parts, and the step in which the file grows.
    assert!(grown <= 512 << 10, "{grown} bytes");
    let world = world.killed();
    assert!(world.recoverer(512).finish().unwrap());
    assert_eq!(world.shares().leaked, 0);
    // A part of a span of each session has a few nodes; the rest of all of them is used again.
    let taken = world.space.stats().length;
    let map = endura_variants::handles::WordMap::over(world.fast_fair.clone());
    (20_000..20_300).for_each(|key| _ = map.insert(key, 1).unwrap());
    assert_eq!(world.space.stats().length, taken);
}

/// Takes all free units, and what is left in the spans of nodes.
fn take_all(world: &World) {
    for bytes in [PAGE, PAGE / 2, 4 * 4097].into_iter().chain((64..=16_384).step_by(64)) {
        while world.space.pin_mut().unwrap().alloc(bytes).is_ok() {}
    }
}

/// A6, A17. Where the pool is full, what was stranded is found before an operation fails.
#[test]
fn a17_a_full_pool_finds_what_was_stranded_before_it_says_so() {
    let world = World::new(24);
    world.fill(0..2_000, 1);
    // All that is left.
    take_all(&world);
    let before = world.entries().len();
    let world = world.killed();
    let recoverer = world.recoverer(512);
    let map = endura_variants::handles::WordMap::over(world.fast_fair.clone());
    for key in 5_000..9_000 {
        map.insert(key, 1).unwrap();
    }
    drop(recoverer);
    assert!(world.space.leak_recovery().is_done());
    assert_eq!(world.entries().len(), before + 4_000);
    assert_eq!(world.shares().leaked, 0);
}

/// A read-only session looks for nothing; nor does a pool that was closed.
#[test]
fn nothing_is_looked_for_where_nothing_was_lost() {
    let world = World::new(16);
    world.fill(0..100, 1);
    assert_eq!(world.space.leak_recovery().state, LeakRecoveryState::NotNeeded);
    let world = world.closed();
    assert_eq!(world.space.leak_recovery().state, LeakRecoveryState::NotNeeded);
    assert!(world.recoverer(1).finish().unwrap());
    assert_eq!(world.recoverer(1).step().unwrap(), LeakStep::Ended);
    let session = endura_engine::space::Session { generation: 9, clean: false, read_only: true };
    let reader = endura_engine::space::Space::mount(world.heap, session).unwrap();
    assert_eq!(reader.leak_recovery().state, LeakRecoveryState::NotNeeded);
}

/// Damage ends it, and frees nothing.
#[test]
fn damage_ends_it_and_frees_nothing() {
    use endura_engine::media::{Media, Ordering, Region};
    let world = World::new(32);
    world.fill(0..500, 1);
    // The header of the first span.
    let heap = std::sync::Arc::clone(&world.heap);
    let word = Region::new(&*heap, 12_288 + 8 * 12, 1).unwrap();
    let header = word.load(0, Ordering::Relaxed);
    word.store(0, header ^ 1, Ordering::Relaxed);
    let world = world.killed();
    let recoverer = world.recoverer(8);
    assert!(!recoverer.finish().unwrap());
    let found = world.space.leak_recovery();
    assert_eq!((found.state, found.bytes_freed), (LeakRecoveryState::Failed, 0));
    word.store(0, header, Ordering::Relaxed);
    heap.fence();
    world.fill(500..600, 2);
    // The next session gets there.
    let world = world.closed();
    assert!(world.recoverer(8).finish().unwrap());
    assert_eq!(world.shares().leaked, 0);
}

/// A reader that stays inside keeps what is retired from being used, but not what was stranded: that is
/// found before an operation is told to wait for the reader.
#[test]
fn a17_what_was_stranded_is_found_although_a_reader_stays_inside() {
    let world = World::new(24);
    world.fill(0..2_000, 1);
    take_all(&world);
    let world = world.killed();
    let recoverer = world.recoverer(512);
    run_to(&recoverer, &world, LeakRecoveryState::Sweeping);
    let mut reader = Worker::new();
    let pin = reader.run(|| world.space.pin().unwrap());
    let map = endura_variants::handles::WordMap::over(world.fast_fair.clone());
    (0..100).for_each(|key| _ = map.remove(key).unwrap());
    assert!(world.space.stats().limbo_bytes > 0, "something waits for the reader");
    for key in 5_000..9_000 {
        map.insert(key, 1).unwrap();
    }
    assert!(world.space.leak_recovery().is_done());
    reader.run(|| drop(pin));
    assert_eq!(world.shares().leaked, 0);
}

/// A6. The same of a ROART tree, whose chunks have many sizes, with two threads.
#[test]
fn a6_fifty_kills_of_writers_of_strings_grow_the_pool_by_little() {
    let grown = grown_by_fifty_kills(|_| 100);
    assert!(grown <= 50 * THREADS * MOST, "{grown} bytes");
}

/// A6. With values of five lengths, each of a size of its own.
#[test]
fn a6_fifty_kills_of_writers_of_five_sizes_grow_the_pool_by_little() {
    let grown = grown_by_fifty_kills(|i| [20, 100, 200, 400, 800][i as usize % 5]);
    assert!(grown <= 50 * THREADS * MOST, "{grown} bytes");
}

/// A6. With values of which each takes a run of units, or a good part of a span: 40 MiB of it are what is written.
#[test]
fn a6_fifty_kills_of_writers_of_larger_values_grow_the_pool_by_little() {
    let grown =
        grown_by_fifty_kills(|i| if i < 20 { [20, 3_000, 30_000][i as usize % 3] } else { 20 });
    assert!(grown <= (40 << 20) + 50 * THREADS * MOST, "{grown} bytes");
}

const THREADS: u64 = 2;
/// Bytes that a killed thread leaves at the most: parts of spans of the sizes that it has used.
const MOST: u64 = 256 << 10;

/// By how many bytes a pool of strings grows in fifty sessions that are killed before their leak recovery has
/// ended. Each updates 40 entries and makes 40 new ones, with values of these lengths.
fn grown_by_fifty_kills(length: impl Fn(u64) -> usize + Send + Sync + Copy) -> u64 {
    let heap = std::sync::Arc::new(endura_engine::media::Heap::new(1_000 * PAGE));
    endura_engine::space::Space::format(&heap).unwrap();
    let mount = |generation, clean| {
        let heap = std::sync::Arc::clone(&heap);
        let space = endura_variants::sessions::begin(heap, generation, clean).unwrap();
        let tree = endura_engine::tree::roart::Tree::<_>::open(&space, "m").unwrap();
        (space, tree)
    };
    let key = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes().repeat(3);
    let (space, tree) = mount(1, true);
    let map = endura_variants::handles::ByteMap::over(tree);
    (0..20_000).for_each(|n| _ = map.insert(key(n), vec![1; length(n)]).unwrap());
    let before = space.stats().length;
    drop((space, map));
    for round in 0..50 {
        let (space, tree) = mount(2 + round, false);
        let recoverer = endura_engine::space::LeakRecoverer::new(&space, vec![tree.marking()], 64);
        (0..=round).for_each(|_| _ = recoverer.step().unwrap());
        let map = endura_variants::handles::ByteMap::over(tree);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let map = &map;
                scope.spawn(move || {
                    for i in 0..20 {
                        let n = round * 997 + thread * 31 + i * 7;
                        map.insert(key(n % 20_000), vec![2; length(i)]).unwrap();
                        let new = 100_000 + round * 100 + thread * 50 + i;
                        map.insert(key(new), vec![3; length(i)]).unwrap();
                    }
                });
            }
        });
    }
    let (space, tree) = mount(52, false);
    let grown = space.stats().length - before;
    println!("{grown} bytes after 50 kills of {THREADS} writing threads");
    let recoverer = endura_engine::space::LeakRecoverer::new(&space, vec![tree.marking()], 512);
    assert!(recoverer.finish().unwrap());
    let mut chunks = Vec::new();
    tree.check(&mut |at, bytes| chunks.push((at, bytes))).unwrap();
    let quiesced = space.quiesce().unwrap();
    let mut check = quiesced.check().unwrap();
    chunks.iter().for_each(|&(at, bytes)| check.reach(at, bytes).unwrap());
    assert_eq!(check.finish().unwrap().leaked, 0);
    grown
}
