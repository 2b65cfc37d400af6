//! Commits, and opens that complete them, where there is little space.

use super::*;

/// Chunks by which all space is taken.
const SIZES: [u64; 13] =
    [65_536, 4_096, 2_112, 2_048, 1_344, 1_024, 512, 320, 192, 128, 96, 64, 32];

/// The last session has stranded all space but what its commit took.
#[test]
fn an_open_that_finds_no_room_recovers_leaks_first() {
    let world = World::of_pages(3);
    world.commit(&before()).unwrap();
    let alloc = || world.space.pin_mut().unwrap().alloc(512);
    let stranded: Vec<u64> = std::iter::from_fn(|| alloc().ok()).collect();
    let guard = world.space.pin_mut().unwrap();
    stranded[..5_000].iter().for_each(|&at| guard.discard(at, 512));
    drop(guard);
    let of_map = |map| (100..160).map(move |key| (map, key, Some(key)));
    let steps: Vec<Step> = (0..KINDS.len()).flat_map(of_map).collect();
    world.commit_in_part(&steps, 0);
    let world = World::open(world.image(3), AFTER_A_KILL);
    // What the open knows to be free is taken.
    for bytes in SIZES {
        while world.space.pin_mut().unwrap().alloc(bytes).is_ok() {}
    }
    assert_eq!(replay(&world.space, false).unwrap(), steps.len());
    assert!(world.space.leak_recovery().is_done());
    expect(&world, false);
    assert!(steps.iter().all(|&(map, key, value)| world.get(map, key) == value));
}

/// Chunks of others are given back when a commit has begun, whose pin keeps them.
#[test]
fn a_commit_begins_again_for_what_its_own_pin_has_kept() {
    let world = World::of_pages(3);
    world.commit(&before()).unwrap();
    let alloc = |bytes| world.space.with_room(|| world.space.pin_mut()?.alloc(bytes));
    // The commit's intent has 96 bytes, and the key that it adds may need a leaf.
    let intent = alloc(96).unwrap();
    let mut taken = Vec::new();
    for bytes in SIZES {
        taken.extend(std::iter::from_fn(|| alloc(bytes).ok()).map(|at| (at, bytes)));
    }
    world.space.pin_mut().unwrap().discard(intent, 96);
    let taken = std::cell::RefCell::new(taken);
    let looks = || {
        let guard = world.space.pin_mut().unwrap();
        taken.borrow_mut().drain(..).for_each(|(at, bytes)| guard.retire(at, bytes));
    };
    world.with(&[(0, 50, Some(8))], |operations| {
        let mut staged = Staged { looks: &looks, ..Staged::of(operations) };
        world.space.commit(&mut staged).unwrap();
    });
    assert_eq!(world.get(0, 50), Some(8));
}

/// In a pool with a little more space each time, a commit is made or fails with nothing changed.
#[test]
fn a_full_pool_is_known_before_the_commit() {
    let world = World::of_pages(4);
    world.commit(&before()).unwrap();
    let alloc = |bytes| world.space.with_room(|| world.space.pin_mut()?.alloc(bytes));
    let mut taken = Vec::new();
    for bytes in SIZES {
        taken.extend(std::iter::from_fn(|| alloc(bytes).ok()).map(|at| (at, bytes)));
    }
    let (mut made, mut full) = (0, 0);
    for round in 1.. {
        let value = 10_000 + round;
        let steps: Vec<Step> = (0..KINDS.len())
            .flat_map(|map| (0..30).map(move |key| (map, 100 + 37 * key, Some(value))))
            .collect();
        let is_made = match world.commit(&steps) {
            Ok(()) => true,
            Err(Error::Full { .. } | Error::ReclaimStalled { .. }) => false,
            Err(error) => panic!("{error:?}"),
        };
        assert!(!world.space.is_poisoned());
        let found: Vec<_> = steps.iter().map(|&(map, key, _)| world.get(map, key)).collect();
        match is_made {
            true => assert!(found.iter().all(|found| *found == Some(value))),
            false => assert!(found.iter().all(|found| *found != Some(value)), "a part: {found:?}"),
        }
        expect(&world, false);
        if is_made {
            made += 1;
            let removes: Vec<Step> = steps.iter().map(|&(map, key, _)| (map, key, None)).collect();
            // A commit of removes needs space for its intent.
            if world.commit(&removes).is_err() {
                removes.iter().for_each(|&(map, key, _)| match &world.trees[map] {
                    Tree::Words(tree) => tree.set(key, None).unwrap(),
                    Tree::Bytes(tree) => tree.set(&key.to_be_bytes(), None).unwrap(),
                });
            }
        }
        full += usize::from(!is_made);
        // The last are the smallest.
        let guard = world.space.pin_mut().unwrap();
        let Some(len) = taken.len().checked_sub(9) else { break };
        taken.drain(len..).for_each(|(at, bytes)| guard.discard(at, bytes));
        if made > 40 {
            break;
        }
    }
    assert!(made > 0 && full > 10, "{made} made, {full} times full");
}
