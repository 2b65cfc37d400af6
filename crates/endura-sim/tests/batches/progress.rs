//! Who waits for whom: in these schedules a thread would wait for ever, or begin again for ever.

use endura_linear::{Part, Place, PoolOp};
use endura_sim::model::Model;
use endura_sim::schedule::{KEYS, PoolCampaign, PoolPlan, Strategy};
use endura_sim::subjects::LIMIT;
use endura_sim::subjects::batches::{Batches, KINDS};

fn put(places: &[Place], value: u64) -> PoolOp {
    PoolOp::Batch(places.iter().map(|&place| (place, Part::Put(value))).collect())
}

fn run(kinds: [usize; 2], plan: &PoolPlan) {
    let subject = Batches { kinds: kinds.to_vec(), keys: KEYS.to_vec() };
    let mut campaign = PoolCampaign::new(subject, Model::PAGE_CACHE, LIMIT, 2);
    campaign.plan(plan).unwrap_or_else(|unsound| panic!("{kinds:?}: {unsound}"));
}

/// Another thread commits whenever the reader has looked at a key: it is kept out in the end.
#[test]
fn a_read_beside_many_commits() {
    let places = [20, 30, 40, 50].into_iter().flat_map(|key| [(0, key), (1, key)]);
    let places: Vec<Place> = places.collect();
    for kinds in (0..KINDS).map(|kind| [kind, (kind + 1) % KINDS]) {
        let commits = |first: u64| (first..first + 300).map(|i| put(&places, i)).collect();
        let read = vec![PoolOp::Read(places.iter().copied().collect()); 2];
        let strategy = Strategy::Random { steps: 1_024, moves: 0 };
        let threads = vec![read, commits(1_000), commits(2_000)];
        run(kinds, &PoolPlan { threads, strategy, seed: 1 });
    }
}

/// Writers of one key come while a commit waits for the first of them: the claim of one that waits for the commit is not
/// waited for.
#[test]
fn writers_that_wait_for_a_commit_have_no_claim() {
    for kinds in (0..KINDS).map(|kind| [kind, (kind + 1) % KINDS]) {
        for seed in 0..24 {
            let single =
                |i: u64| vec![PoolOp::Put((0, 20), 100 + i), PoolOp::Put((0, 20), 200 + i)];
            let threads = vec![
                vec![put(&[(1, 50)], 7), put(&[(0, 20), (1, 20)], 8)],
                single(0),
                single(1),
                vec![PoolOp::Get((0, 20)), PoolOp::Get((1, 20)), PoolOp::Get((0, 20))],
            ];
            let strategy = Strategy::Random { steps: 256, moves: 16 << (seed % 4) };
            run(kinds, &PoolPlan { threads, strategy, seed });
        }
    }
}
