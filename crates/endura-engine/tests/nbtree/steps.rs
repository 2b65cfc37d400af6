//! The named steps of the protocol: the tests reach each of them.

use std::collections::BTreeSet;

use endura_variants::media::Stop;
use endura_variants::nbtree::STEPS;

use crate::support::ops::scatter;
use crate::support::stage::{ends, stopped};
use crate::support::world::{MapOf, Slots3, World};

/// Inserts, updates and removes that lead through every step.
pub(crate) fn work(map: &MapOf<Slots3>, keys: u64, random: u64) {
    let key = scatter(random) % keys;
    match scatter(random + 1) % 8 {
        0..3 => _ = map.insert(key, random).unwrap(),
        3 => _ = map.insert_new(key, random).unwrap(),
        4 => _ = map.update(key, random).unwrap(),
        5 => _ = map.get(key).unwrap(),
        _ => _ = map.remove(key).unwrap(),
    }
}

#[test]
fn every_step_of_the_protocol_is_reached() {
    ends("all steps", || {
        let world = World::<Slots3>::new();
        world.stage().record_steps();
        (0..4_000).for_each(|n| work(world.map(), 60, 7 * n));
        let mut steps: BTreeSet<&str> = world.stage().steps().into_keys().collect();
        // Those of the pool below have tests of their own.
        steps.retain(|step| !step.starts_with("pool."));
        assert_eq!(steps, BTreeSet::from(STEPS));
    });
}

/// N3, N16. A crash at each step: acknowledged entries are there, and the next session goes on.
#[test]
fn a_crash_at_each_step_loses_nothing() {
    ends("a crash at each step", || {
        for step in
            STEPS.into_iter().filter(|&step| step != "read.leaf" && step != "read.fingerprints")
        {
            let mut met = 0;
            for visit in 1..40 {
                let world = World::<Slots3>::with((0..20).map(|n| (10 * n, n)));
                // Keys that the stopped thread does not touch.
                let stop = Stop::at(step).visit(visit);
                let act = |map: &MapOf<Slots3>| {
                    (0..60).for_each(|n| _ = map.insert(10 * (n % 20) + 1 + n / 20, n).unwrap());
                    (0..60).for_each(|n| _ = map.remove(10 * (n % 20) + 1 + n / 20).unwrap());
                };
                met += u64::from(stopped(&world, stop, act, || {
                    let next = world.crashed();
                    for n in 0..20 {
                        assert_eq!(next.map().get(10 * n).unwrap(), Some(n), "{step}, {visit}");
                    }
                    let before = next.entries();
                    assert_eq!(next.verify().entries, before.len() as u64);
                    (0..200).for_each(|key| _ = next.map().insert(key, key).unwrap());
                    (0..200).for_each(|key| assert_eq!(next.map().remove(key).unwrap(), Some(key)));
                    let check = next.verify();
                    assert_eq!((check.entries, check.repairs.total()), (0, 0), "{step}, {visit}");
                }));
            }
            assert!(met > 0, "{step} is never reached");
        }
    });
}
