//! The n-th allocation fails, for every n: a commit in maps of all kinds is made, or has changed nothing, and so it is
//! after a crash at that moment. None fails behind the moment at which the commit is decided.

use endura_engine::Error;
use endura_engine::index::replay::replay;

use super::staged::{KEYS, Step, World};

#[test]
fn the_nth_allocation_fails() {
    // Replaces, removes, and enough new keys for splits.
    let steps: Vec<Step> = (0..KEYS)
        .map(|key| (2 * key, if key % 5 == 0 { None } else { Some(2) }))
        .chain((0..KEYS / 2).map(|key| (2 * KEYS + key, Some(3))))
        .collect();
    let before: Vec<Step> = (0..KEYS).map(|key| (key, Some(1))).collect();
    for for_good in [false, true] {
        let (mut failed, mut made) = (0, 0);
        for n in (1..).step_by(9) {
            let world = World::new();
            world.commit(&before).unwrap();
            let media = world.space.media();
            match for_good {
                true => media.refuse_chunks_from(n),
                false => media.refuse_chunk(n),
            }
            let outcome = world.commit(&steps);
            let is_over = media.refusal_pending();
            match &outcome {
                Ok(()) => made += 1,
                Err(Error::Full { .. }) => failed += 1,
                Err(error) => panic!("allocation {n}: {error:?}"),
            }
            assert!(!world.space.is_poisoned(), "allocation {n}");
            world.expect(outcome.is_ok(), &steps);
            let after = world.crashed();
            assert_eq!(replay(&after.space, false).unwrap(), 0);
            after.expect(outcome.is_ok(), &steps);
            // The commit can be made afterwards.
            media.refuse_chunk(0);
            world.commit(&steps).unwrap();
            world.expect(true, &steps);
            if is_over {
                break;
            }
        }
        println!("{failed} commits failed, {made} were made");
        // Of one refusal a commit recovers. What was set aside is not refused.
        assert_eq!(failed > 20, for_good, "{failed} failed, {made} made");
        assert!(made > 0, "{made} made");
    }
}
