//! Maps that are dropped while a commit changes them.

use super::*;

/// So many that a commit takes a later epoch some times.
const MANY: u64 = 16_500;

/// A map is dropped while a commit changes it that takes a later epoch now and then. Before the commit has ended no other map
/// gets the entry of the map, and no chunk of its records is reused: an open after a kill would apply the changes to the
/// other map, or find no records.
#[test]
fn nothing_of_a_dropped_map_is_reused_before_the_commit_has_ended() {
    for (map, (kind, entries)) in KINDS.into_iter().enumerate() {
        let world = World::of_pages(64);
        let steps: Vec<Step> = (0..MANY).map(|key| (map, key, Some(key + 7))).collect();
        let structure =
            |space: &Space<Heap>| table::of_new(space.media(), kind, None, entries).unwrap();
        let entry = |tree: &Tree<Heap>| match tree {
            Tree::Words(tree) => tree.open_map().map().entry(),
            Tree::Bytes(tree) => tree.open_map().map().entry(),
        };
        let drop_it = || {
            let inventory = |_: &_| Ok(structure(&world.space).inventory());
            assert!(world.space.drop_map(&map.to_string(), inventory).unwrap());
        };
        let make_another = || {
            // What is freed now is free when the epochs have moved on.
            for _ in 0..5 {
                world.space.epochs.advance();
                world.space.free_drops(None).unwrap();
            }
            let structure = structure(&world.space);
            let another = structure.find_or_create(&world.space, "another", &Types::default());
            let another = structure.open(&world.space, another.unwrap()).unwrap();
            assert_ne!(entry(&another), entry(&world.trees[map]), "map {map}");
        };
        let beside = |run: &(dyn Fn() + Sync)| thread::scope(|s| s.spawn(run).join().unwrap());
        let apply = |changes: &OfMaps<'_, '_>, each: &mut dyn FnMut()| {
            changes.apply_first(10, each)?;
            beside(&drop_it);
            // The epoch moves on as far as the pin of the commit lets it, so that it is the count of the commit by which the
            // drop has to wait.
            changes.apply_first(MANY as usize, &mut || {
                each();
                world.space.epochs.advance();
            })?;
            beside(&make_another);
            Err(Error::Poisoned)
        };
        world.with(&steps, |operations| {
            let mut stopped = Staged { apply: &apply, ..Staged::of(operations) };
            assert!(matches!(world.space.commit(&mut stopped), Err(Error::Poisoned)));
        });
        let space = Arc::new(Space::mount(world.image(64), AFTER_A_KILL).unwrap());
        replay(&space, false).unwrap();
        let structure = structure(&space);
        let another = structure.find_or_create(&space, "another", &Types::default()).unwrap();
        let found = match structure.open(&space, another).unwrap() {
            Tree::Words(tree) => on_words!(tree, tree => tree.get(11).unwrap()),
            Tree::Bytes(tree) => on_bytes!(tree, tree => read(&tree, 11)),
        };
        assert_eq!(found, None, "map {map}");
    }
}
