//! With threads that write meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::World;

/// Two threads write to all maps while two others collect; kill after kill, with a leak recovery that
/// gets to its end or does not.
#[test]
fn writers_and_collectors() {
    writers_and_collectors_in(World::new(256));
}

#[test]
fn writers_and_collectors_of_records() {
    writers_and_collectors_in(World::with_records(512));
}

fn writers_and_collectors_in(mut world: World) {
    world.fill(0..1_000, 1);
    for round in 0..12_u64 {
        world = world.killed();
        let recoverer = world.recoverer(8);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for writer in 0..2 {
                let (world, stop) = (&world, &stop);
                scope.spawn(move || {
                    let mut n = round;
                    while !stop.load(Ordering::Relaxed) {
                        n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(2 * writer + 1);
                        let key = 2 * ((n >> 33) % 700) + writer;
                        match n >> 62 {
                            0 | 1 => world.fill(key..key + 1, n),
                            _ => world.empty(key..key + 1),
                        }
                    }
                });
            }
            let recoverers: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        let most = if round % 3 == 2 { 40 } else { usize::MAX };
                        for _ in 0..most {
                            if recoverer.step().unwrap() == endura_engine::space::LeakStep::Ended {
                                return;
                            }
                            thread::yield_now();
                        }
                    })
                })
                .collect();
            recoverers.into_iter().for_each(|recoverer| recoverer.join().unwrap());
            stop.store(true, Ordering::Relaxed);
        });
        let shares = world.shares();
        assert!(!world.space.is_poisoned());
        if round % 3 != 2 {
            assert!(world.space.leak_recovery().is_done());
            assert_eq!(shares.leaked, 0, "round {round}: {shares:?}");
        }
    }
}
