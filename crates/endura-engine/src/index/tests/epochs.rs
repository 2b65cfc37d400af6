//! Long commits, which take new epochs while they apply their changes.

use std::sync::atomic::AtomicU32;

use super::*;

/// So many changes that a commit takes a new epoch.
const MANY: usize = 4_096;

impl World {
    /// Makes a commit of so many changes that it takes new epochs, beside which `beside` runs a few times.
    fn commit_long(&self, steps: &[Step], beside: &(dyn Fn() + Sync)) {
        let apply = |changes: &OfMaps<'_, '_>, each: &mut dyn FnMut()| {
            for _ in 0..6 {
                (0..MANY).for_each(|_| each());
                thread::scope(|scope| scope.spawn(beside).join()).unwrap();
            }
            changes.apply(each)
        };
        self.with(steps, |operations| {
            let mut long = Staged { apply: &apply, ..Staged::of(operations) };
            self.space.commit(&mut long).unwrap();
        });
    }

    fn entry(&self, map: usize) -> u64 {
        match &self.trees[map] {
            Tree::Words(tree) => tree.open_map().map().entry(),
            Tree::Bytes(tree) => tree.open_map().map().entry(),
        }
    }

    /// A new map of numbers; returns the offset of its entry in the directory.
    fn add_map(&self, name: &str) -> u64 {
        let structure =
            table::of_new(self.space.media(), Kind::FastFair, None, Entries::Words).unwrap();
        structure.find_or_create(&self.space, name, &Types::default()).unwrap().entry()
    }

    fn drop_map(&self, name: &str) {
        assert!(self.space.drop_map(name, |_| Ok(Box::new(|_, _, _, _| Ok(true)))).unwrap());
    }
}

#[test]
fn a_long_commit_lets_epochs_go_by() {
    let world = World::new();
    let first = world.space.epochs.now();
    world.commit_long(&changes(), &|| _ = world.space.epochs.advance());
    assert!(world.space.epochs.now() >= first + 4);
}

/// What a reader's closure has found stays as it is, although the closure makes a long commit.
#[test]
fn a_long_commit_keeps_the_epoch_of_a_pin_around_it() {
    let world = World::new();
    let guard = world.space.pin().unwrap();
    let first = world.space.epochs.now();
    world.commit_long(&changes(), &|| _ = world.space.epochs.advance());
    (0..4).for_each(|_| _ = world.space.epochs.advance());
    assert!(world.space.epochs.now() <= first + 1, "what the reader has found may be reused");
    drop(guard);
}

/// The entry of a map that is dropped beside a long commit is that of no other map before the commit ends: an open, or a
/// reader, would take the commit's changes for those of the other map.
#[test]
fn a_map_that_is_dropped_beside_a_long_commit_stays_until_its_end() {
    let world = World::new();
    world.commit(&before()).unwrap();
    let (entry, runs) = (world.entry(1), AtomicU32::new(0));
    let beside = || {
        let run = runs.fetch_add(1, Ordering::Relaxed);
        if run == 0 {
            world.drop_map("1");
        }
        (0..4).for_each(|_| _ = world.space.epochs.advance());
        world.space.free_drops(None).unwrap();
        assert_ne!(world.add_map(&format!("beside {run}")), entry, "reused");
    };
    world.commit_long(&changes(), &beside);
    (0..4).for_each(|_| _ = world.space.epochs.advance());
    assert!(world.space.free_drops(None).unwrap());
    assert_eq!(world.add_map("behind"), entry);
    assert_eq!(world.get(0, 3), Some(7));
}
