//! Commits inside of closures: on their own key, on others, and of two threads in each other's way.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use super::world::{KINDS, World, open};

/// A key of every map.
const KEY: u64 = 77;

fn world(folder: &std::path::Path) -> World {
    let kinds: Vec<usize> = (0..KINDS.len()).collect();
    let world = open(&folder.join("pool"), &kinds).unwrap();
    let steps: Vec<_> =
        kinds.iter().flat_map(|&map| (70..80).map(move |key| (map, key, Some(1)))).collect();
    world.commit(&steps).unwrap();
    world
}

#[test]
fn a_closure_commits_on_its_own_key_and_on_others() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path());
    for map in 0..KINDS.len() {
        let mut commits = 0;
        let mut once = |keys: &[(usize, u64)]| {
            if commits == 0 {
                let steps: Vec<_> = keys.iter().map(|&(map, key)| (map, key, Some(40))).collect();
                world.commit(&steps).unwrap();
                commits += 1;
            }
        };
        // The closure runs again with what it has committed itself.
        let new = world.maps[map].update(KEY, |old| {
            once(&[(map, KEY), ((map + 1) % KINDS.len(), KEY)]);
            old.unwrap() + 1
        });
        assert_eq!((new, world.maps[map].get(KEY)), (41, Some(41)), "map {map}");
        assert_eq!(world.maps[(map + 1) % KINDS.len()].get(KEY), Some(40));
        let mut is_done = false;
        world.maps[map].fill(KEY, 9, &mut || {
            if !std::mem::replace(&mut is_done, true) {
                world.commit(&[(map, KEY, Some(50)), (map, KEY + 1, Some(50))]).unwrap();
            }
        });
        assert_eq!([KEY, KEY + 1].map(|key| world.maps[map].get(key)), [Some(9), Some(50)]);
    }
    world.pool.verify().unwrap();
}

/// Two threads, each inside a closure for a key, commit both keys.
#[test]
fn two_closures_in_each_others_way() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path());
    for map in 0..KINDS.len() {
        let both = Barrier::new(2);
        thread::scope(|scope| {
            for own in [KEY, KEY + 1] {
                let (world, both) = (&world, &both);
                scope.spawn(move || {
                    let mut is_first = true;
                    world.maps[map].update(own, |old| {
                        if std::mem::take(&mut is_first) {
                            both.wait();
                            world.commit(&[(map, KEY, Some(2)), (map, KEY + 1, Some(2))]).unwrap();
                        }
                        old.unwrap() + own
                    })
                });
            }
        });
        assert!([KEY, KEY + 1].iter().all(|&key| world.maps[map].get(key).unwrap() > 1));
    }
}

/// A commit waits neither for a writer in a closure nor for its key.
#[test]
fn a_closure_holds_no_commit_up() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path());
    for map in (0..KINDS.len()).filter(|&map| map >= 2) {
        let (inside, go_on) = (Barrier::new(2), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut is_first = true;
                world.maps[map].update(KEY, |old| {
                    if std::mem::take(&mut is_first) {
                        inside.wait();
                        go_on.wait();
                    }
                    old.unwrap() + 1
                });
            });
            inside.wait();
            world.commit(&[(map, KEY, Some(100))]).unwrap();
            assert_eq!(world.maps[map].get(KEY), Some(100));
            go_on.wait();
        });
        assert_eq!(world.maps[map].get(KEY), Some(101), "map {map}");
    }
}

#[test]
fn the_mode_ends_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path());
    assert!(world.pool.space().has_batches());
    thread::sleep(Duration::from_millis(150));
    // Those whom the mode costs time look now and then whether it is over.
    let ended = (0..5_000).any(|_| {
        world.maps[0].update(KEY, |old| old.unwrap() + 1);
        !world.pool.space().has_batches()
    });
    assert!(ended);
    world.commit(&[(0, KEY, Some(1)), (6, KEY, None)]).unwrap();
    assert_eq!((world.maps[0].get(KEY), world.maps[6].get(KEY)), (Some(1), None));
}
