//! Commits that expect values, and keys that are only read.

use super::*;

impl World {
    /// Commits the steps, if each of these keys has this value before.
    fn commit_if(&self, steps: &[Step], expected: &[Step]) -> Result<()> {
        self.with(steps, |changes| {
            self.with(expected, |expected| {
                let all: Vec<_> =
                    changes.iter().copied().chain(expected.iter().map(as_expected)).collect();
                commit(&self.space, &all)
            })
        })
    }
}

fn as_expected<'o>(change: &Operation<'o, Heap>) -> Operation<'o, Heap> {
    match *change {
        Operation::Word { tree, key, act } => {
            let act = Act::Expect(if let Act::Put(value) = act { Some(value) } else { None });
            Operation::Word { tree, key, act }
        }
        Operation::Bytes { tree, key, act, is_same } => {
            let act = Act::Expect(if let Act::Put(value) = act { Some(value) } else { None });
            Operation::Bytes { tree, key, act, is_same }
        }
    }
}

#[test]
fn a_commit_with_an_expectation_that_is_not_met_changes_nothing() {
    let world = World::new();
    world.commit(&before()).unwrap();
    let changes = changes();
    let met: Vec<Step> = (0..KINDS.len())
        .flat_map(|map| [(map, 3, Some(1_003)), (map, 7, Some(1_007)), (map, 60, None)])
        .collect();
    for i in 0..met.len() {
        let (map, key, value) = met[i];
        for other in [value.map_or(Some(0), |_| None), Some(1), Some(u64::MAX)] {
            let mut unmet = met.clone();
            unmet[i] = (map, key, other);
            // A later one that is not met either does not count.
            unmet.push((0, 5, None));
            let index = changes.len() + i;
            let failed = world.commit_if(&changes, &unmet);
            assert!(matches!(failed, Err(Error::Unmet { index: i }) if i == index), "{failed:?}");
            expect(&world, false);
        }
    }
    world.commit_if(&[], &met).unwrap();
    expect(&world, false);
    world.commit_if(&changes, &met).unwrap();
    expect(&world, true);
    // Nothing is marked any more.
    (0..KINDS.len()).for_each(|map| world.put(map, 7, 1));
}

#[test]
fn a_writer_of_a_key_that_is_only_read_waits_and_a_reader_finds_it_in_the_map() {
    let world = World::new();
    world.commit(&before()).unwrap();
    for map in 0..KINDS.len() {
        let (stands, go_on) = (Barrier::new(2), Barrier::new(2));
        let apply = |changes: &OfMaps<'_, '_>, _: &mut dyn FnMut()| {
            stands.wait();
            go_on.wait();
            changes.apply(&mut || ())
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                world.with(&[(map, 3, Some(7))], |change| {
                    world.with(&[(map, 4, Some(1_004))], |read| {
                        let parts = [change[0], as_expected(&read[0])];
                        let mut staged = Staged { apply: &apply, ..Staged::of(&parts) };
                        world.space.commit(&mut staged).unwrap();
                    });
                });
            });
            stands.wait();
            let writer = scope.spawn(|| world.put(map, 4, 8));
            thread::sleep(Duration::from_millis(20));
            assert!(!writer.is_finished());
            assert_eq!([3, 4].map(|key| world.answer(map, key)), [Some(Some(7)), None]);
            assert_eq!(world.get(map, 4), Some(1_004));
            go_on.wait();
            writer.join().unwrap();
        });
        assert_eq!(world.get(map, 4), Some(8));
    }
}

#[test]
fn keys_of_one_number_in_one_commit_are_refused() {
    let world = World::new();
    for map in [2, 3] {
        let Tree::Bytes(tree) = &world.trees[map] else { panic!("a tree of words") };
        let put = |key| Operation::Bytes { tree, key, act: Act::Put(b"v"), is_same: same_bytes };
        let failed = commit(&world.space, &[put(b"\0"), put(b"\0\0")]);
        assert!(matches!(failed, Err(Error::Encode { .. })), "{failed:?}");
        assert_eq!(world.get(map, 0), None);
    }
    assert!(!world.space.is_poisoned());
}
