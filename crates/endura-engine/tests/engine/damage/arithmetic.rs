//! Numbers in a file that no session can have written: with overflow checks, which tests have, nothing
//! that is computed from them panics, and an open says what is wrong.

use endura_engine::{Error, Kind};

use crate::support::patched::{Closed, LEN, options};
use crate::support::patience::ends;

/// How many entries a map has is one word, which an open believes if the pool has room for so many.
#[test]
fn a_number_of_entries_that_no_pool_has_room_for_is_refused() {
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        let closed = Closed::new(kind, 100);
        for len in [i64::MAX as u64, i64::MIN as u64, u64::MAX, 1 << 32] {
            let path = closed.patched(|words| words.put(LEN, len));
            for read_only in [true, false] {
                let opened = options().read_only(read_only).open_existing(&path);
                assert!(matches!(opened, Err(Error::Corrupt { .. })), "{kind}, {len}: {opened:?}");
            }
        }
        // One that it could have is found to be false by a verification, and does no harm.
        let path = closed.patched(|words| words.put(LEN, 1_000));
        let pool = options().open_existing(path).unwrap();
        assert!(matches!(pool.verify(), Err(Error::Corrupt { .. })));
        drop(pool);
    }
}

#[test]
fn the_last_generation_and_the_last_write_of_a_superblock_are_refused() {
    ends("an open", || {
        let closed = Closed::new(Kind::FastFair, 10);
        for accept in [false, true] {
            // The last boot is another one: it is verified before it is accepted.
            let path = closed.patched(|words| {
                words.superblock(|superblock| {
                    (superblock.generation, superblock.boot.id, superblock.clean) =
                        (u64::MAX, [1; 16], false);
                });
            });
            let opened = options().accept_unclean(accept).open_existing(&path);
            match accept {
                true => assert!(matches!(opened, Err(Error::Corrupt { .. })), "{opened:?}"),
                false => assert!(matches!(opened, Err(Error::NeedsRestore { .. })), "{opened:?}"),
            }
        }
        let path =
            closed.patched(|words| words.superblock(|superblock| superblock.sequence = u64::MAX));
        let opened = options().open_existing(&path);
        assert!(matches!(opened, Err(Error::Corrupt { .. })), "{opened:?}");
        options().read_only(true).open_existing(&path).unwrap().verify().unwrap();
    });
}
