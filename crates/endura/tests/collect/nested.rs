//! A walk over keys each of which is a prefix of the next, while others move the epoch.

use std::sync::Arc;

use endura::ByteMap;
use endura::media::Heap;
use endura::pool::{CollectionState, Collector, PAGE, Session, Space, Step};
use endura::tree::roart;

type Tree = roart::Tree<Arc<Heap>>;

fn mount(heap: &Arc<Heap>, generation: u64, clean: bool) -> Arc<Space<Arc<Heap>>> {
    let session = Session { generation, clean, read_only: false };
    Arc::new(Space::mount(Arc::clone(heap), session).unwrap())
}

/// How many steps the marking of `depth` nested nodes takes, at most `most`.
fn marked_in(depth: usize, bite: usize, moves: bool, most: usize) -> (usize, CollectionState) {
    let heap = Arc::new(Heap::new(64 * PAGE));
    Space::format(&heap).unwrap();
    let space = mount(&heap, 1, true);
    let map = ByteMap::over(Tree::open(&space, "nested").unwrap());
    map.insert(b"A", b"before").unwrap();
    for i in 0..depth {
        let key = [&vec![b'a'; i][..], b"b"].concat();
        map.insert(&key, b"x").unwrap();
    }
    drop((map, space));
    let space = mount(&heap, 2, false);
    let tree = Tree::open(&space, "nested").unwrap();
    let collector = Collector::new(&space, vec![tree.marking()], bite);
    for step in 1..=most {
        assert_ne!(collector.step().unwrap(), Step::Ended);
        if space.collection().state != CollectionState::Marking {
            return (step, space.collection().state);
        }
        if moves {
            // As a writer that retires.
            space.pin_mut().unwrap().retire(space.pin_mut().unwrap().alloc(64).unwrap(), 64);
            space.relieve().unwrap();
        }
    }
    (most, space.collection().state)
}

#[test]
fn a_walk_gets_on_where_no_record_is_met_for_a_while() {
    for (depth, bite) in [(300, 512), (1500, 512), (1500, 64)] {
        for moves in [false, true] {
            println!("{depth} {bite} {moves}: {:?}", marked_in(depth, bite, moves, 2_000));
        }
    }
    assert_eq!(marked_in(1500, 512, true, 2_000).1, CollectionState::Waiting);
}

/// A thread of the background that had to wait until writers were let in again must not rest as long as
/// it has waited: the close waits for it.
#[test]
fn the_close_does_not_wait_for_a_rest() {
    use std::time::{Duration, Instant};
    let world = crate::World::new(32);
    world.fill(0..300, 1);
    let world = world.killed();
    let collector = world.collector(512);
    let quiesced = world.space.quiesce().unwrap();
    let thread = std::thread::spawn(move || collector.run());
    std::thread::sleep(Duration::from_secs(3));
    drop(quiesced);
    std::thread::sleep(Duration::from_millis(50));
    let begun = Instant::now();
    world.space.close().unwrap();
    thread.join().unwrap();
    println!("joined after {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}
