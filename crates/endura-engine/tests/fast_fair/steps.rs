//! The named steps of the protocol: that the tests reach each of them, and the published races
//! at the step where they happen.

use std::collections::BTreeSet;

use endura_variants::fast_fair::STEPS;
use endura_variants::media::Stop;

use crate::support::stage::{at_every_store, ends, raced, stopped};
use crate::support::world::{Cap3, Cap4, MapOf, Shape, World};

fn fill<S: Shape>(map: &MapOf<S>, keys: impl Iterator<Item = u64>) {
    keys.for_each(|key| assert_eq!(map.insert(key, key).unwrap(), None));
}

fn drain<S: Shape>(map: &MapOf<S>, keys: impl Iterator<Item = u64>) {
    keys.for_each(|key| assert_eq!(map.remove(key).unwrap(), Some(key)));
}

/// What a session after a crash goes through, wherever in `act` the crash came.
fn steps_after_crashes<S: Shape>(act: impl Fn(&MapOf<S>) + Sync) -> BTreeSet<&'static str> {
    let mut steps = BTreeSet::new();
    at_every_store(|stop| {
        let world = World::<S>::with((0..7).map(|n| (10 * n, n)));
        stopped(
            &world,
            stop,
            |map| act(map),
            || {
                let next = world.crashed();
                next.stage().record_steps();
                for key in 0..70 {
                    next.map().insert(key, key).unwrap();
                }
                steps.extend(next.stage().steps().into_keys());
            },
        )
    });
    steps
}

/// A step that no test reaches would be tested by none.
#[test]
fn every_step_of_the_protocol_is_reached() {
    ends("all steps", || {
        let world = World::<Cap4>::new();
        world.stage().record_steps();
        fill::<Cap4>(world.map(), (0..400).map(|n| n * 7 % 401));
        fill::<Cap4>(world.map(), 1_000..1_040);
        drain::<Cap4>(world.map(), (0..400).map(|n| n * 7 % 401));
        drain::<Cap4>(world.map(), 1_000..1_040);
        assert_eq!(world.map().get(5).unwrap(), None);
        let mut steps: BTreeSet<&str> = world.stage().steps().into_keys().collect();
        steps.extend(steps_after_crashes::<Cap3>(|map| _ = map.insert(45, 0).unwrap()));
        steps.extend(steps_after_crashes::<Cap3>(|map| {
            for key in [0, 10, 20, 30, 40] {
                map.remove(key).unwrap();
            }
        }));
        steps.retain(|step| !step.starts_with("pool."));
        assert_eq!(steps, BTreeSet::from(STEPS));
    });
}

/// F8 by name: the first splitter stands before the root grows, the second splits what it made.
#[test]
fn a_split_beside_a_root_that_is_about_to_grow_keeps_its_separator() {
    ends("a split beside a growing root", || {
        let mut met = 0;
        for n in 3..16 {
            let world = World::<Cap3>::with((1..=n).map(|key| (10 * key, key)));
            let next = 10 * n + 1;
            let first = |map: &MapOf<Cap3>| fill::<Cap3>(map, next..next + 3);
            let second = |map: &MapOf<Cap3>| fill::<Cap3>(map, next + 3..next + 9);
            met += u64::from(raced(&world, Stop::at("root.grow"), first, second));
            let check = world.verify();
            assert_eq!((check.entries, check.repairs.total()), (n + 9, 0), "{check:?}");
        }
        assert!(met >= 2, "the root grew {met} times");
    });
}

/// F9 by name: an inner node has handed its upper half over and not yet told the level above, when
/// separators for that half arrive.
#[test]
fn separators_find_the_new_half_of_an_inner_node_before_it_is_posted() {
    ends("separators for a new inner node", || {
        for step in ["split.S3.sib", "split.S3.high", "split.S3.durable", "post.P1", "post.P2"] {
            let mut met = 0;
            for (n, visit) in (4..24).flat_map(|n| (1..4).map(move |visit| (n, visit))) {
                let world = World::<Cap4>::with((1..=n).map(|key| (10 * key, key)));
                let first = |map: &MapOf<Cap4>| fill::<Cap4>(map, 5 * n + 1..5 * n + 4);
                let second = |map: &MapOf<Cap4>| fill::<Cap4>(map, 10 * n + 1..10 * n + 9);
                met += u64::from(raced(&world, Stop::at(step).visit(visit), first, second));
                let check = world.verify();
                assert_eq!((check.entries, check.repairs.total()), (n + 11, 0), "{check:?}");
                assert!(world.keys().iter().all(|&key| world.map().contains_key(key).unwrap()));
            }
            assert!(met >= 3, "{step} was reached {met} times");
        }
    });
}
