//! The words that say how long a pool is, when they say too little.

use endura::MapOptions;
use endura_engine::Kind;

use crate::killed_file::leave_as_killed;
use crate::support::patched::{Closed, LENGTH, NEXT_PAGE, Words, options};

const ENTRIES: u64 = 20_000;
const STEP: u64 = 1 << 16;

/// Whatever the length says, no close may cut off what is in use.
#[test]
fn a_length_that_is_too_short_costs_no_entry() {
    let closed = Closed::new(Kind::FastFair, ENTRIES);
    for killed in [false, true] {
        for steps in 1..5 {
            let path = closed.patched(|words| {
                assert!(words.get(LENGTH) > 6 * STEP && words.get(NEXT_PAGE) == 1);
                if !killed {
                    words.put(LENGTH, steps * STEP);
                }
            });
            if killed {
                let pool = options().recovery_threads(0).open_existing(&path).unwrap();
                leave_as_killed(&path, || drop(pool));
                Words::of(&path, |words| words.put(LENGTH, steps * STEP));
            }
            let mut warned = 0;
            for _ in 0..2 {
                let pool = options().recovery_threads(0).open_existing(&path).unwrap();
                let map = pool
                    .map_with::<u64, u64>("map", MapOptions::new().kind(Kind::FastFair))
                    .unwrap();
                for n in 0..ENTRIES {
                    assert_eq!(map.get(n).unwrap(), Some(n), "killed: {killed}, {steps} steps");
                }
                warned += usize::from(!pool.stats().unwrap().warnings.is_empty());
                drop(map);
                pool.close().unwrap();
            }
            assert_eq!(warned, 2, "killed: {killed}, {steps} steps");
        }
    }
}
