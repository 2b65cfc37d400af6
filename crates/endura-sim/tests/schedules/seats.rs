//! Scans of NBTrees beside splits and merges. While nobody writes to its leaf a scan goes on from a seat
//! without a pin: what it reads counts only if the leaf is found unchanged afterwards.

use endura_sim::model::Model;
use endura_sim::mutant::{Call, Mutant, Use};
use endura_sim::mutate::Place;
use endura_sim::schedule::{Campaign, Plan, Strategy, Task, Unsound, Way};
use endura_sim::subjects::{LIMIT, MapOp, NbTree, NumberTree, Numbers};

use Task::{Put, Remove, Replace, Scan, Scribble};

/// Three slots in a block: a scan takes a new seat at every other entry.
type Slots3 = NbTree<8, 4>;
/// Seven: most entries are read from a seat.
type Slots7 = NbTree<16, 4>;

fn keys() -> Vec<u64> {
    let mut keys: Vec<u64> = (1..=12).map(|i| 10 * i).chain([11, 12, 13, 14, 35, 36, 61]).collect();
    keys.sort_unstable();
    keys
}

fn before() -> Vec<MapOp> {
    (1..=8).map(|i| MapOp::Put(10 * i, i)).collect()
}

/// What happens to the leaves that a scan goes through.
fn others() -> [Vec<Task>; 7] {
    [
        // Splits before, at and behind the seat.
        vec![Put(11, 1), Put(12, 1), Put(13, 1), Put(14, 1), Put(35, 1), Put(36, 1)],
        // What comes next goes, and comes again in another slot.
        vec![Remove(20), Put(20, 9), Remove(30), Put(30, 9), Replace(40, 9)],
        // Nothing that the leaf's control word tells of.
        vec![Remove(20), Replace(30, 9), Remove(50)],
        // Merges: of what is behind the scan, and of what is before it.
        vec![Remove(60), Remove(50), Remove(40), Remove(80), Remove(70), Put(20, 9)],
        vec![Remove(20), Remove(30), Remove(40), Remove(50), Put(61, 1)],
        // Merges and splits, and blocks and leaves that are used again.
        [
            vec![Remove(60), Remove(50), Remove(40), Remove(80), Remove(70), Scribble, Scribble],
            vec![Put(11, 1), Put(12, 1), Put(13, 1), Put(14, 1), Put(35, 1), Put(36, 1), Scribble],
        ]
        .concat(),
        vec![Replace(20, 8), Replace(30, 8), Remove(60), Put(60, 8), Replace(50, 8)],
    ]
}

const SCANS: [Task; 2] = [Scan(Way::Up, 0), Scan(Way::Down, u64::MAX)];

fn plan(threads: Vec<Vec<Task>>, strategy: Strategy) -> Plan {
    Plan { before: before(), threads, strategy, seed: 1 }
}

/// A scan stopped before each of its moves in turn, until the others have ended.
fn scans_that_stop<T: NumberTree>(
    campaign: &mut Campaign<Numbers<T>>,
    every: usize,
) -> Result<(), Box<Unsound>> {
    for scan in SCANS {
        for other in others() {
            let alone = plan(vec![vec![scan]], Strategy::Preempt(Vec::new()));
            let moves = campaign.plan(&alone)?.moves as usize;
            for nth in (1..=moves).step_by(every) {
                let strategy = Strategy::StopAt { thread: 0, step: "", nth };
                campaign.plan(&plan(vec![vec![scan], other.clone()], strategy))?;
            }
        }
    }
    Ok(())
}

/// A writer stands at each step of a change; a scan comes by, makes so many moves, and waits until the
/// writer has ended.
fn writers_that_stop<T: NumberTree>(campaign: &mut Campaign<Numbers<T>>, every: usize) {
    const STEPS: [&str; 9] = [
        "change.S0",
        "change.S1",
        "change.S4",
        "settle.S5",
        "settle.S6",
        "settle.S7",
        "merge.M1",
        "merge.M2",
        "alter.durable",
    ];
    for step in STEPS {
        for scan in SCANS {
            for other in others() {
                for moves in (1..90).step_by(every) {
                    let strategy = Strategy::Within { step, nth: 1, moves };
                    let threads = vec![other.clone(), vec![scan]];
                    campaign
                        .plan(&plan(threads, strategy))
                        .unwrap_or_else(|found| panic!("{found}"));
                }
            }
        }
    }
}

/// One in so many places.
fn clean(model: Model, every: usize) {
    let mut small = Campaign::new(Slots3::about(keys()), model, LIMIT, 2);
    let mut wide = Campaign::new(Slots7::about(keys()), model, LIMIT, 2);
    scans_that_stop(&mut small, every).unwrap_or_else(|found| panic!("{found}"));
    scans_that_stop(&mut wide, every).unwrap_or_else(|found| panic!("{found}"));
    writers_that_stop(&mut small, 5 * every);
    writers_that_stop(&mut wide, 5 * every);
    for steps in ["merge.M2", "settle.S8", "settle.S5", "change.S4"] {
        let met =
            |campaign: &endura_sim::schedule::Figures| campaign.tally.steps.contains_key(steps);
        assert!(met(&small.figures) && met(&wide.figures), "{steps}");
    }
    assert!(small.figures.traces > 200 && wide.figures.traces > 200, "{:?}", wide.figures);
}

#[test]
fn a_scan_from_a_seat_fits_into_one_order_whatever_happens_to_its_leaf() {
    clean(Model::WEAKEST_ADR, 3);
}

#[test]
#[ignore = "by itself: cargo test --release -p endura-sim --test schedules -- --ignored seat"]
fn a_scan_from_a_seat_fits_into_one_order_whatever_the_domain() {
    clean(Model::WEAKEST_ADR, 1);
    clean(Model::EADR, 1);
    clean(Model::PAGE_CACHE, 1);
}

/// The sweep can fail: a seat whose slot is not read again gives what was removed.
#[test]
fn a_seat_that_does_not_look_again_is_noticed() {
    let mut campaign = Campaign::new(Slots7::about(keys()), Model::WEAKEST_ADR, LIMIT, 0);
    campaign.count_calls();
    scans_that_stop(&mut campaign, 1).unwrap_or_else(|found| panic!("{found}"));
    let text = "(block.word(slot), block.value(slot))";
    let is_there = Place { folder: "nbtree", function: "read_seat", text }.finder();
    let is_it = |call: &&Call| call.what == Use::Load && is_there(call);
    let calls = campaign.calls();
    // The word first, then the value: by column.
    let stale = Mutant::Stale(*calls.made.keys().find(is_it).expect("a seat was read"));
    campaign.plant(Some(stale));
    let found = scans_that_stop(&mut campaign, 1);
    assert!(found.is_err(), "{stale} is not noticed");
}
