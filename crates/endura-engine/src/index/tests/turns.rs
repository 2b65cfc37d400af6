//! Commits that wait for the turn to pop of a map.

use std::time::Instant;

use super::*;

/// More commits than there can be flights.
const COMMITS: usize = 17;

impl World {
    pub(super) fn open_map(&self, map: usize) -> &OpenMap<Heap> {
        match &self.trees[map] {
            Tree::Words(tree) => tree.open_map(),
            Tree::Bytes(tree) => tree.open_map(),
        }
    }
}

/// A pop of map 0 stands. Commits of the map wait for it; one of another map does not wait for them. A pop with a mark that it
/// has read late would wait for a flight that waits for its turn.
#[test]
fn who_waits_for_a_turn_has_no_flight() {
    let world = World::new();
    world.commit(&before()).unwrap();
    let turn = world.open_map(0).begin_pop().unwrap();
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..COMMITS as u64)
            .map(|key| {
                let world = &world;
                scope.spawn(move || world.commit(&[(0, key, Some(1)), (1, key, Some(1))]).unwrap())
            })
            .collect();
        thread::sleep(Duration::from_millis(50));
        let other = scope.spawn(|| world.commit(&[(2, 3, Some(5))]).unwrap());
        let begun = Instant::now();
        while !other.is_finished() && begun.elapsed() < Duration::from_secs(5) {
            thread::sleep(Duration::from_millis(1));
        }
        let is_done = other.is_finished();
        assert!(waiting.iter().all(|commit| !commit.is_finished()));
        drop(turn);
        assert!(is_done, "commits that wait for a map have all flights");
    });
    assert!((0..COMMITS as u64).all(|key| world.get(1, key) == Some(1)));
}

/// A pop stands, as if it waited for the end of a verification. A commit of its map does not hold the verification up.
#[test]
fn who_waits_for_a_turn_is_not_waited_for() {
    let world = World::new();
    world.commit(&before()).unwrap();
    let turn = world.open_map(0).begin_pop().unwrap();
    thread::scope(|scope| {
        let commit = scope.spawn(|| world.commit(&changes()).unwrap());
        thread::sleep(Duration::from_millis(20));
        let quiesced = world.space.quiesce();
        let is_quiet = quiesced.is_ok();
        drop(quiesced);
        assert!(!commit.is_finished());
        drop(turn);
        assert!(is_quiet, "a verification waits for a commit, which waits for a pop");
    });
    expect(&world, true);
}

/// Commits that overlap, pops, and looks at an end of the same map: each goes on.
#[test]
fn nobody_is_kept_out_of_a_map() {
    let world = World::new();
    world.commit(&before()).unwrap();
    let until = Instant::now() + Duration::from_secs(1);
    let counted = |work: &dyn Fn(u64)| {
        let mut count = 0;
        while Instant::now() < until {
            work(count);
            count += 1;
        }
        count
    };
    let Tree::Words(first) = &world.trees[0] else { panic!("numbers") };
    let (world, counted) = (&world, &counted);
    let counts: Vec<(&str, u64)> = thread::scope(|scope| {
        let mut threads = Vec::new();
        for n in 0..3 {
            threads.push(scope.spawn(move || {
                let commit = |i| world.commit(&[(0, n, Some(i)), (1, 7 * n, Some(i))]).unwrap();
                ("commits", counted(&commit))
            }));
        }
        for _ in 0..2 {
            threads
                .push(scope.spawn(|| {
                    ("pops", counted(&|_| drop(world.open_map(0).begin_pop().unwrap())))
                }));
        }
        threads.push(scope.spawn(|| {
            ("looks at an end", counted(&|_| assert!(first.look_at_end(true).unwrap().is_some())))
        }));
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    println!("{counts:?}");
    assert!(counts.iter().all(|(_, count)| *count > 20), "{counts:?}");
}
