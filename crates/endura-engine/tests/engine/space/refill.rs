//! A pool that was full and was emptied can be filled again.

use endura::Pool;
use endura_engine::Kind;

use crate::support::patience::ends;
use crate::support::words::{Random, Words};

const ROUNDS: usize = 3;

/// How many entries fit, each time. All are removed in between, in another order.
fn filled(kind: Kind, max_size: u64, drop_map: bool) -> [u64; ROUNDS] {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::options().max_size(max_size).create_new(folder.path().join("pool")).unwrap();
    let mut random = Random(99);
    let key = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ i >> 7;
    std::array::from_fn(|_| {
        let map = Words::open(&pool, kind);
        let stored = (0..).find(|&i| map.insert(key(i), 64).is_err()).unwrap();
        if drop_map {
            pool.drop_map("map").unwrap();
            return stored;
        }
        let mut order: Vec<u64> = (0..stored).collect();
        for i in (1..stored).rev() {
            order.swap(i as usize, random.below(i + 1) as usize);
        }
        order.into_iter().for_each(|i| map.remove(key(i)).unwrap());
        stored
    })
}

fn takes_as_much_again(kind: Kind, max_size: u64, drop_map: bool) {
    ends("filling an emptied pool again", move || {
        let counts = filled(kind, max_size, drop_map);
        let least = counts[0] * 19 / 20;
        assert!(counts.iter().all(|&n| n >= least), "{kind:?}: {counts:?}");
    });
}

#[test]
fn a_pool_that_was_emptied_entry_by_entry_can_be_filled_again() {
    takes_as_much_again(Kind::Roart, 32 << 20, false);
    takes_as_much_again(Kind::FastFair, 6 << 20, false);
    takes_as_much_again(Kind::NbTree, 6 << 20, false);
}

#[test]
fn a_pool_that_was_emptied_by_a_drop_can_be_filled_again() {
    takes_as_much_again(Kind::Roart, 32 << 20, true);
}
