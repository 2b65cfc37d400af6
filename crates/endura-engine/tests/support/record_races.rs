//! Two operations at once on a tree of few keys, one of them stopped before its loads and stores.

use crate::byte_races::Op::{Get, Insert, InsertNew, Remove, Scan, Update};
use crate::byte_races::{Start, race, race_from};
use crate::byte_world::ByteContents;

const STARTS: [&[&str]; 4] =
    [&[], &["k2"], &["k2", "k3", "k4"], &["j1", "j2", "j3", "k2", "k3", "k4", "k5", "k6"]];

pub(crate) fn one_key_is_entered_once<C: ByteContents>() {
    for keys in STARTS {
        race::<C>(false, keys, InsertNew("k1"), &[InsertNew("k1")]);
        race::<C>(false, keys, Insert("k1"), &[Insert("k1")]);
        race::<C>(false, keys, InsertNew("k1"), &[InsertNew("k7")]);
        race::<C>(false, keys, Insert("k1"), &[Insert("k1"), Remove("k1")]);
    }
}

pub(crate) fn a_record_is_replaced_as_it_goes<C: ByteContents>() {
    for keys in [&["k1"][..], &["k1", "k2"], &["j1", "j2", "j3", "k1", "k3", "k4", "k5", "k6"]] {
        race::<C>(false, keys, Update("k1"), &[Remove("k1")]);
        race::<C>(false, keys, Remove("k1"), &[Update("k1")]);
        race::<C>(false, keys, Remove("k1"), &[Insert("k1")]);
        race::<C>(false, keys, Remove("k1"), &[Remove("k1")]);
        race::<C>(false, keys, Update("k1"), &[Update("k1"), Update("k1")]);
        race::<C>(false, keys, Get("k1"), &[Update("k1"), Remove("k1")]);
    }
}

pub(crate) fn scans_beside_writes<C: ByteContents>() {
    let keys = ["k1", "k2", "k3", "k4", "k5", "k6", "k7"];
    for write in [Insert("k0"), Insert("k1"), Remove("k2"), Update("k2"), Remove("k7")] {
        for start in [Start::Written, Start::Scanned, Start::Killed] {
            race_from::<C>(start, &keys, write, &[Scan, Scan]);
        }
        // A scan is no atomic look: with one write beside it, it sees the map before or after that.
        race_from::<C>(Start::Written, &keys[..3], Scan, &[write]);
    }
}

pub(crate) fn the_first_two_after_a_restart<C: ByteContents>() {
    for keys in [&["k1", "k2"][..], &["j1", "j2", "j3", "k1", "k3", "k4", "k5", "k6"]] {
        race::<C>(true, keys, Insert("k~"), &[Remove("k1")]);
        race::<C>(true, keys, Remove("k1"), &[Get("k1")]);
        race::<C>(true, keys, Insert("k~"), &[Get("k~")]);
        race::<C>(true, keys, Update("k1"), &[Insert("k~")]);
    }
}

/// The tests of these races, for each tree.
macro_rules! races {
    ($($module:ident: $tree:ty;)*) => { $(
        mod $module {
            use super::*;

            #[test]
            fn one_key_is_entered_once() {
                crate::record_races::one_key_is_entered_once::<$tree>();
            }

            #[test]
            fn a_record_is_replaced_as_it_goes() {
                crate::record_races::a_record_is_replaced_as_it_goes::<$tree>();
            }

            #[test]
            fn scans_beside_writes() {
                crate::record_races::scans_beside_writes::<$tree>();
            }

            #[test]
            fn the_first_two_after_a_restart() {
                crate::record_races::the_first_two_after_a_restart::<$tree>();
            }
        }
    )* };
}

pub(crate) use races;
