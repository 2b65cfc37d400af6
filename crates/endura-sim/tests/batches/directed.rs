//! Schedules that are looked for: a thread stops in the middle of a step that a rule is about, and another one comes there.
//! Who reads, reads while both stand.

use endura_linear::{Deal, Part, Place, PoolOp};
use endura_sim::model::Model;
use endura_sim::schedule::{KEYS, Place as Stop, PoolCampaign, PoolPlan, Strategy};
use endura_sim::subjects::LIMIT;
use endura_sim::subjects::batches::{Batches, CLOSURE, KINDS};

const FIRST: Place = (0, 20);
const SECOND: Place = (1, 20);
/// One with another value.
const OTHER: Place = (1, 30);

fn batch(parts: &[(Place, Part)]) -> PoolOp {
    PoolOp::Batch(parts.iter().copied().collect())
}

fn put(places: &[Place], value: u64) -> PoolOp {
    PoolOp::Batch(places.iter().map(|&place| (place, Part::Put(value))).collect())
}

/// A place on the way of a thread.
fn at(step: &'static str, nth: usize, moves: u64) -> Stop {
    Stop { step, nth, moves }
}

/// Runs threads by relays, for a pair of each kind with the next one. Returns how many.
fn run(
    model: Model,
    crashes: usize,
    threads: &[&[PoolOp]],
    relays: impl Iterator<Item = Vec<(usize, Stop)>> + Clone,
) {
    let threads: Vec<Vec<PoolOp>> = threads.iter().map(|ops| ops.to_vec()).collect();
    let mut schedules = 0;
    for kinds in (0..KINDS).map(|kind| [kind, (kind + 1) % KINDS]) {
        let subject = Batches { kinds: kinds.to_vec(), keys: KEYS.to_vec() };
        let mut campaign = PoolCampaign::new(subject, model, LIMIT, crashes);
        for (seed, legs) in (0..).zip(relays.clone()) {
            let strategy = Strategy::Relay(legs);
            let plan = PoolPlan { threads: threads.clone(), strategy, seed };
            campaign.plan(&plan).unwrap_or_else(|unsound| panic!("{kinds:?}: {unsound}"));
        }
        schedules += campaign.figures.schedules;
    }
    println!("{schedules} schedules");
}

/// The key of a transaction is written behind a closure, when the transaction has compared it.
#[test]
fn a_closure_ends_beside_a_commit() {
    let swap = [PoolOp::Transact(Deal::Swap, [FIRST, SECOND])];
    for write in [PoolOp::Put(FIRST, 100), PoolOp::Fill(FIRST, 100)] {
        let reads = [PoolOp::Get(SECOND), PoolOp::Get(FIRST)];
        let relays =
            [("batch.word", 1), ("batch.committed", 1)].into_iter().flat_map(|(step, nth)| {
                [0, 12, 40].map(|moves| vec![(0, at(CLOSURE, 1, 0)), (1, at(step, nth, moves))])
            });
        run(Model::PAGE_CACHE, 4, &[&[write, PoolOp::Get(FIRST)], &swap, &reads], relays);
    }
}

/// A key comes in front of an entry while that is popped.
#[test]
fn a_commit_in_front_of_a_pop() {
    let pop = [PoolOp::PopFirst(0)];
    let front = [put(&[(0, 10), (1, 10)], 100)];
    let reads = [PoolOp::Get((0, 10)), PoolOp::Get(FIRST)];
    let relays =
        (0..30).map(|i| vec![(0, at(Stop::START, 1, 2 * i)), (1, at("batch.committed", 1, 0))]);
    run(Model::PAGE_CACHE, 0, &[&pop, &front, &reads], relays);
}

/// The key that a transaction only reads is written while it commits, and the write is seen before the transaction is.
#[test]
fn what_a_transaction_reads_stays() {
    let copy = [PoolOp::Transact(Deal::Copy, [FIRST, OTHER])];
    let write = [PoolOp::Put(FIRST, 100), PoolOp::Get(FIRST), PoolOp::Get(OTHER)];
    let reads = [PoolOp::Get(OTHER), PoolOp::Get(FIRST), PoolOp::Get(OTHER)];
    let relays = (0..6).map(|i| vec![(0, at("batch.word", 1, i))]);
    run(Model::PAGE_CACHE, 2, &[&copy, &write, &reads], relays);
}

/// A key of a commit is written when the commit is applied, before the power fails.
#[test]
fn a_write_behind_a_commit() {
    let commit = [put(&[FIRST, SECOND], 100)];
    let write = [PoolOp::Put(FIRST, 200), PoolOp::Get(FIRST)];
    let reads = [PoolOp::Get(SECOND), PoolOp::Get(FIRST)];
    let relays = (0..3).map(|i| vec![(0, at("batch.word", 2, i))]);
    run(Model::WEAKEST_ADR, 8, &[&commit, &write, &reads], relays);
}

/// A reader finds a commit that ends with nothing changed, and looks on while the next one has its flight.
#[test]
fn a_reader_beside_two_commits_of_one_flight() {
    let unmet = batch(&[(FIRST, Part::Put(100)), (SECOND, Part::Expect(Some(77)))]);
    let met = batch(&[(FIRST, Part::Put(200)), (SECOND, Part::Put(200))]);
    let reads = [PoolOp::Get(FIRST), PoolOp::Get(SECOND)];
    let relays = (0..12).flat_map(|i| {
        (0..8).map(move |j| {
            vec![
                (0, at("batch.intent", 1, 2 + 2 * i)),
                (1, at(Stop::START, 1, 1 + j)),
                (0, at("batch.committed", 1, 0)),
            ]
        })
    });
    run(Model::PAGE_CACHE, 0, &[&[unmet, met], &reads], relays);
}

/// Between two changes of a commit the first key is one that never was.
#[test]
fn an_end_beside_a_commit() {
    let commit =
        [batch(&[(FIRST, Part::Delete), ((0, 25), Part::Put(100)), (SECOND, Part::Delete)])];
    let ends = [PoolOp::First(0), PoolOp::First(1)];
    let stands = |j| (1, at(Stop::START, 1, j));
    let applies = |i: u64| (0, at("batch.committed", 1, 4 * i));
    let relays = (0..16).flat_map(|i| {
        let late = (0..4).map(move |j| vec![stands(j), applies(i)]);
        late.chain([vec![applies(i)]])
    });
    run(Model::PAGE_CACHE, 0, &[&commit, &ends], relays);
}
