//! Damaged pools through [`Map`]: maps of all types, and every method on each.

use std::fmt::Debug;
use std::ops::ControlFlow;

use endura::{Map, Pool, Value};

use crate::cases::{self, Case, Visitor};
use crate::choices::Choices;
use crate::every_operation::Files;

const KEYS: u64 = 120;
/// Each size of value takes pages of its own.
const ROOM: u64 = 256 << 20;
/// At most so many entries can be told apart in the room there is.
const MOST: usize = ROOM as usize / 16;

type K<C> = <<C as Case>::K as Value>::Owned;

struct Fill<'p>(&'p Pool);

impl Visitor for Fill<'_> {
    fn visit<C: Case>(&mut self) {
        let map = C::open(self.0);
        for n in 0..KEYS {
            map.insert(C::K::lend(&C::key(n)), C::V::lend(&C::value(n))).unwrap();
        }
        for n in (20..60).step_by(3) {
            map.remove(C::K::lend(&C::key(n))).unwrap();
        }
    }
}

struct Use<'p, 'c, 'b>(&'p Pool, &'c mut Choices<'b>);

impl Visitor for Use<'_, '_, '_> {
    fn visit<C: Case>(&mut self)
    where
        K<C>: Ord + Clone + Debug,
        <C::V as Value>::Owned: PartialEq + Clone + Debug,
    {
        if let Ok(map) = C::try_open(self.0) {
            // Errors are answers, too: what counts is that there is one.
            let from = self.1.below(KEYS as usize) as u64;
            on_keys::<C>(&map, from);
            on_ranges::<C>(&map, from);
            let _ = (map.pop_first(), map.pop_last(), map.first_key_value(), map.len());
            if self.1.below(4) == 0 {
                let _ = map.clear();
            }
        }
    }
}

fn on_keys<C: Case>(map: &Map<C::K, C::V>, from: u64) {
    let keys: Vec<K<C>> = (0..20).map(|i| C::key((from + 7 * i) % (KEYS + 9))).collect();
    let _ = (map.is_empty(), map.approximate_len(), map.last_key_value());
    let _ = map.get_many(keys.iter().map(C::K::lend));
    for (n, key) in (0..).zip(&keys) {
        let (key, value) = (|| C::K::lend(key), C::value(n));
        let value = || C::V::lend(&value);
        let _ = (map.get(key()), map.contains_key(key()), map.get_with(key(), |_| ()));
        let _ = (map.insert(key(), value()), map.insert_if_absent(key(), value()));
        let _ = (map.replace(key(), value()), map.update(key(), |_| C::value(n + 1)));
        let _ = map.alter(key(), |_| n.is_multiple_of(2).then(|| C::value(n)));
        let _ = map.compare_exchange(key(), Some(value()), None);
        let _ = map.remove(key());
    }
}

fn on_ranges<C: Case>(map: &Map<C::K, C::V>, from: u64)
where
    K<C>: Ord,
{
    assert!(map.iter().take(MOST).count() < MOST, "a range ends");
    assert!(map.keys().rev().take(MOST).count() < MOST, "a range ends");
    let (a, b) = (C::key(from), C::key(from / 2 + 3));
    let (a, b) = if a < b { (a, b) } else { (b, a) };
    let range = || C::K::lend(&a)..C::K::lend(&b);
    let mut seen = 0;
    let _ = map.range_with(range(), |_, _| {
        seen += 1;
        if seen < 100 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let _ = (map.range(range()).rev().take(50).count(), map.remove_range(range()));
    let mut n = 0;
    let _ = map.retain(|_, _| {
        n += 1;
        n % 3 > 0
    });
}

/// Files of maps of all types.
pub(crate) fn files() -> Files {
    Files::with(
        ROOM,
        |pool| cases::all(&mut Fill(pool)),
        |pool, choices| cases::all(&mut Use(pool, choices)),
    )
}
