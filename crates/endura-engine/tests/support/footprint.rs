//! Nodes that are emptied are merged, and what was merged is used again.

use crate::support::edges::orders;
use crate::support::ops::scatter;
use crate::support::world::{Shape, World};

/// F14. The published tree never frees a node. Here twenty rounds of filling and draining, each in
/// another order, need no more memory than the first.
pub(crate) fn refilled<S: Shape>(entries: u64) {
    for (order, numbers) in orders(entries) {
        let world = World::<S>::new();
        let (empty, mut first_round) = (world.verify(), 0);
        for round in 0..20 {
            for &n in &numbers {
                assert_eq!(world.map().insert(scatter(n), n).unwrap(), None);
            }
            assert_eq!(world.verify().entries, entries);
            for &n in &numbers {
                assert_eq!(world.map().remove(scatter(n)).unwrap(), Some(n));
            }
            let facts = world.verify();
            assert!(facts.nodes <= empty.nodes + 4 * facts.height, "{order}: {empty:?}, {facts:?}");
            let used = world.bytes_in_use();
            if round == 0 {
                first_round = used;
            }
            // A tenth, and a few spans: in which of them the last nodes lie is a matter of chance.
            let most = first_round + first_round / 10 + (64 << 10);
            assert!(used <= most, "{order}, {round}: {used}, first {first_round}");
        }
    }
}

/// F14. What is filled in any order and drained in any other is a small tree again, on both sides of
/// the middle of the key space, although merges look only at neighbours under one parent: at most two
/// nodes a level are left over.
pub(crate) fn drained<S: Shape>(entries: u64) {
    for (filling, fill) in orders(entries) {
        for (draining, drain) in orders(entries) {
            let world = World::<S>::new();
            let empty = world.verify();
            for &n in &fill {
                assert_eq!(world.map().insert(scatter(n), n).unwrap(), None);
            }
            for &n in &drain {
                assert_eq!(world.map().remove(scatter(n)).unwrap(), Some(n));
            }
            let facts = world.verify();
            let most = empty.nodes + 2 * facts.height;
            assert!(facts.nodes <= most, "{entries}, {filling}, {draining}: {empty:?}, {facts:?}");
        }
    }
}
