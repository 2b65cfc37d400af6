//! What changes its owner while somebody still remembers what it was: chunks, maps, pools.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use endura_engine::media::{Ordering, Region};
use endura_engine::space::{PAGE, Space, Worker};
use endura_engine::tree::fast_fair::{Cursor, LineBinary, Tree};
use endura_engine::tree::{Change, Index};
use endura_sim::model::Model;
use endura_sim::schedule::{Strategy, Thread, pause, run};
use endura_sim::sim::Sim;
use endura_variants::sessions;

type Flat = Tree<Sim, 22, 14, LineBinary>;
/// Bytes of a leaf's chunk.
const LEAF: u64 = 128;

fn space() -> Arc<Space<Sim>> {
    let medium = Sim::new(Model::WEAKEST_ADR, 4 * PAGE).with_pause(pause());
    sessions::first(medium).unwrap()
}

fn put(tree: &Flat, key: u64, value: u64) {
    tree.modify(key, |_| Change::Put(value)).unwrap();
}

fn nodes(tree: &Flat) -> BTreeSet<u64> {
    let mut nodes = BTreeSet::new();
    tree.check(&mut |at, _| _ = nodes.insert(at)).unwrap();
    nodes
}

/// Moves the epoch on as far as it goes and frees what has expired, without waiting for anybody.
fn reclaim(space: &Space<Sim>) {
    let _inside = space.pin_mut().unwrap();
    let _ = space.relieve();
}

/// A leaf that the parent named in one epoch may be another map's in the next but one, and a pin that
/// began in the next does not hold that up.
#[test]
fn a_scan_does_not_follow_a_list_of_the_epoch_before() {
    let space = space();
    let spare = space.pin_mut().unwrap().alloc(LEAF).unwrap();
    let tree = Flat::open(&space, "tiny").unwrap();
    (1..=8).for_each(|key| put(&tree, key, 10 * key));
    // Leaves of two entries; the list of the first one's parent is read.
    let mut cursor = Cursor::default();
    assert_eq!(tree.scan_up(&mut cursor, 0).unwrap(), Some((1, 10)));
    let mut holder = Worker::new();
    let held = holder.run(|| space.pin().unwrap());
    // The third leaf goes into the second; the epoch moves on once.
    let before = nodes(&tree);
    [5, 6].into_iter().for_each(|key| _ = tree.modify(key, |_| Change::Remove).unwrap());
    let gone = &before - &nodes(&tree);
    assert_eq!(gone.len(), 1);
    reclaim(&space);
    holder.run(|| drop(held));
    for next in 2..=4 {
        assert_eq!(tree.scan_up(&mut cursor, next).unwrap(), Some((next, 10 * next)));
    }
    // The first move is the one to the next leaf of the list.
    let found = Arc::new(Mutex::new(None));
    let scan: Thread = {
        let (tree, found) = (tree.clone(), Arc::clone(&found));
        Box::new(move || {
            *found.lock().unwrap() = tree.scan_up(&mut cursor, 5).unwrap();
            Ok(())
        })
    };
    let other: Thread = Box::new(move || {
        reclaim(&space);
        space.pin_mut().unwrap().discard(spare, LEAF);
        let other = Flat::open(&space, "other").unwrap();
        (7..=8).for_each(|key| put(&other, key, 666));
        match nodes(&other).is_disjoint(&gone) {
            true => Err("nobody got the leaf that went".to_owned()),
            false => Ok(()),
        }
    });
    run(vec![scan, other], Strategy::StopAt { thread: 0, step: "", nth: 1 }, 0).unwrap();
    assert_eq!(*found.lock().unwrap(), Some((7, 70)));
}

/// One thread drops a map and waits until nobody is inside of it, another one closes the pool.
#[test]
fn nothing_is_written_after_the_close() {
    for seed in 0..300 {
        let space = space();
        let entry = space.open_map("m", 1, 0, |_, _| Ok(7)).unwrap().entry();
        let drops: Thread = {
            let space = Arc::clone(&space);
            Box::new(move || match space.drop_map("m", |_| Ok(Box::new(|_, _, _, _| Ok(true)))) {
                Ok(true) | Err(endura_engine::Error::Closed { .. }) => Ok(()),
                other => Err(format!("{other:?}")),
            })
        };
        let closes: Thread = Box::new(move || {
            assert!(space.close().unwrap());
            let state = || Region::new(space.media(), entry, 1).unwrap().load(0, Ordering::Relaxed);
            let then = state();
            // Each look is a moment at which the other thread may go on.
            match (0..200).all(|_| state() == then) {
                true => Ok(()),
                false => Err("the entry of the map changed".to_owned()),
            }
        });
        let strategy = Strategy::Random { steps: 512, moves: 16 << (seed % 6) };
        run(vec![drops, closes], strategy, seed).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
}
