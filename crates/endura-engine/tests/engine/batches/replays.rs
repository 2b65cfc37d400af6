//! A process is killed while it applies the changes of a commit. The next open applies them, whatever allocation of it
//! fails: then the open fails, with nothing lost, and the one after it applies them, also after another crash.

use std::thread;
use std::time::Duration;

use endura_engine::Error;
use endura_engine::index::replay::replay;
use endura_engine::media::Heap;
use endura_variants::media::Stop;

use super::staged::{KEYS, Step, World};

/// The stores of the commit behind its decision after which the process is killed.
const KILLS: [u64; 4] = [1, 90, 400, 900];

/// Replaces, removes, and enough new keys for splits.
fn steps() -> Vec<Step> {
    (0..KEYS)
        .map(|key| (2 * key, if key % 5 == 0 { None } else { Some(2) }))
        .chain((0..KEYS / 2).map(|key| (2 * KEYS + key, Some(3))))
        .collect()
}

/// What a process leaves that is killed in the middle of a commit.
fn killed(stores: u64) -> Heap {
    let world = World::new();
    let before: Vec<Step> = (0..KEYS).map(|key| (key, Some(1))).collect();
    world.commit(&before).unwrap();
    let media = world.space.media();
    thread::scope(|scope| {
        let halt = media.halt("committer", Stop::at("batch.committed").before_store(stores));
        let commit = || world.commit(&steps()).unwrap();
        thread::Builder::new().name("committer".into()).spawn_scoped(scope, commit).unwrap();
        assert!(halt.reached_within(Duration::from_secs(20)), "fewer stores than {stores}");
        let image = world.image();
        halt.release();
        image
    })
}

#[test]
fn the_nth_allocation_of_a_replay_fails() {
    let changes = 7 * steps().len();
    for for_good in [false, true] {
        for kill in KILLS {
            let left = World::after_a_kill(killed(kill));
            let (mut failed, mut made) = (0, 0);
            for n in 1.. {
                let world = left.crashed();
                let media = world.space.media();
                match for_good {
                    true => media.refuse_chunks_from(n),
                    false => media.refuse_chunk(n),
                }
                let outcome = replay(&world.space, false);
                let is_over = media.refusal_pending();
                match outcome {
                    Ok(replayed) => {
                        assert_eq!(replayed, changes);
                        world.expect(true, &steps());
                        made += 1;
                    }
                    Err(Error::Full { .. } | Error::ReclaimStalled { .. }) => {
                        failed += 1;
                        let again = world.crashed();
                        assert_eq!(replay(&again.space, false).unwrap(), changes, "allocation {n}");
                        again.expect(true, &steps());
                    }
                    Err(error) => panic!("allocation {n}: {error:?}"),
                }
                if is_over {
                    break;
                }
            }
            println!("killed after {kill} stores: {failed} replays failed, {made} were made");
            assert!(made > 0 && (failed > 0 || !for_good), "{failed} failed, {made} made");
        }
    }
}
