//! Threads whose chunks are refused now and then: what fails has changed nothing, what was interrupted is completed, and in
//! the end every chunk has one owner.

use std::thread;

use endura_engine::Error;
use endura_variants::random::mix;

use crate::byte_world::ByteContents;
use crate::sessions::World;
use crate::world::{Small, Ties, Whole};

const THREADS: u64 = 3;
const STEPS: u64 = 12_000;

/// Keys of all threads lie in the same leaves. Some fences need a record beside their blocks, for which no space is in
/// reserve.
fn key(n: u64) -> Vec<u8> {
    match n % 4 {
        0 => n.to_be_bytes()[5..].to_vec(),
        1 => [vec![b's'; 60], format!("{n:04}").into_bytes()].concat(),
        2 => [vec![b's'; 60], vec![0; n as usize % 90]].concat(),
        _ => [vec![b't'; 400], n.to_be_bytes()[6..].to_vec()].concat(),
    }
}

/// The result of a write that may have run out of space.
fn unless_full<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Error::Full { .. } | Error::ReclaimStalled { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

fn own_keys<C: ByteContents>(world: &World<C>) {
    world.stage().poison_chunks();
    let mut keys: Vec<Vec<u8>> = (0..400).map(key).collect();
    keys.sort();
    keys.dedup();
    thread::scope(|scope| {
        for own in 0..THREADS {
            let keys = &keys;
            scope.spawn(move || {
                let map = world.map();
                let mine: Vec<_> =
                    keys.iter().skip(own as usize).step_by(THREADS as usize).collect();
                let mut values: Vec<Option<Vec<u8>>> = vec![None; mine.len()];
                for step in 0..STEPS {
                    let random = mix(step * THREADS + own);
                    let i = (random >> 32) as usize % mine.len();
                    let new = step.to_le_bytes()[..random as usize % 8].to_vec();
                    if random >> 8 & 7 == 0 {
                        world.stage().refuse_chunk(1 + (random >> 12) % 12);
                    }
                    // Most entries go and come in waves, so that leaves merge and split.
                    let grows = step / 500 % 2 == 0;
                    match random >> 16 & 7 {
                        0 => assert_eq!(map.get(mine[i]).unwrap(), values[i]),
                        1..=5 if grows => {
                            if let Some(old) = unless_full(map.insert(mine[i], &new)) {
                                assert_eq!(old, values[i].replace(new));
                            }
                        }
                        1..=6 => {
                            if let Some(old) = unless_full(map.remove(mine[i])) {
                                assert_eq!(old, values[i].take());
                            }
                        }
                        _ => {
                            if let Some(old) = unless_full(map.update(mine[i], &new)) {
                                assert_eq!(old, values[i]);
                                values[i] = old.map(|_| new);
                            }
                        }
                    }
                }
                for (key, value) in mine.iter().zip(&values) {
                    assert_eq!(map.get(key).unwrap(), *value);
                }
            });
        }
    });
    world.stage().refuse_chunk(0);
    world.verify_tidy();
    assert!(world.entries().len() < keys.len());
    world.map().clear().unwrap();
    assert_eq!(world.verify_tidy().entries, 0);
}

#[test]
fn threads_that_are_refused_chunks_lose_nothing() {
    own_keys(&World::<Small>::new());
    own_keys(&World::<Ties>::adr());
    own_keys(&World::<Whole>::new());
}
