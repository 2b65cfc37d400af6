//! Lazily chosen contents miss nothing: for every crash point of tiny runs, all images made beforehand
//! lead to exactly the same findings. With and without faults, under every model.

use endura_sim::eager::Comparison;
use endura_sim::explore::Explorer;
use endura_sim::model::Model;
use endura_sim::mutant::{Mutant, Use};
use endura_sim::sim::Sim;
use endura_sim::subject::Subject;
use endura_sim::subjects::{FastFair, LIMIT, MapOp};
use endura_sim::tally::Effort;

/// Most images of a point that are gone through one by one.
const MOST: usize = 2_000;

fn subject() -> FastFair<14, 14> {
    FastFair::about((1..=9).map(|i| 10 * i).collect())
}

fn compare(
    explorer: &Explorer<'_, FastFair<14, 14>>,
    before: &[MapOp],
    ops: &[MapOp],
) -> Comparison {
    let start = explorer.start(before).unwrap();
    explorer.compare_eager(&start, ops, MOST).unwrap()
}

/// Every first operation over leaves of nought to four entries: inserts with and without a shift,
/// splits, updates, removes, merges.
fn compare_all(explorer: &Explorer<'_, FastFair<14, 14>>) -> Comparison {
    let mut all = Comparison::default();
    for entries in 0..=4 {
        let before: Vec<MapOp> = (1..=entries).map(|i| MapOp::Put(20 * i, i)).collect();
        for key in [10, 20, 50, 80, 90] {
            for op in [MapOp::Put(key, 7), MapOp::Remove(key)] {
                let one = compare(explorer, &before, &[op]);
                all.points += one.points;
                all.left_out += one.left_out;
                all.images += one.images;
                all.recoveries += one.recoveries;
                all.wrong += one.wrong;
            }
        }
    }
    all
}

#[test]
fn lazy_finds_what_eager_finds() {
    let subject = subject();
    for model in [Model::WEAKEST_ADR, Model::X86_ADR, Model::EADR, Model::PAGE_CACHE] {
        // What means nothing after a crash is not folded: every content of every line.
        let effort = Effort { folds_volatile: false, ..Effort::EXHAUSTIVE };
        let all = compare_all(&Explorer::new(&subject, model, LIMIT, effort, 1));
        println!("{model}: {all:?}");
        assert!(all.points > 200 && all.left_out * 5 < all.points, "{model}: {all:?}");
        assert!(all.images >= all.recoveries, "{model}: {all:?}");
        assert_eq!(all.wrong, 0, "{model}: {all:?}");
    }
}

/// The same with each flush of an insert or a split left out, which must go wrong somewhere, and with
/// each store of it relaxed, which need not.
#[test]
fn lazy_finds_what_eager_finds_with_faults() {
    let subject = subject();
    let sim = Sim::new(Model::WEAKEST_ADR, LIMIT);
    let open = subject.create(sim.clone()).unwrap();
    sim.count_calls();
    for i in 1..=4 {
        subject.apply(&open, &MapOp::Put(20 * i, i)).unwrap();
    }
    let mut explorer = Explorer::new(&subject, Model::WEAKEST_ADR, LIMIT, Effort::EXHAUSTIVE, 1);
    let (mut planted, mut wrong) = (0, 0);
    for call in sim.calls().into_keys() {
        let mutant = match call.what {
            Use::Flush | Use::Fence | Use::Drain => Mutant::Drop(call),
            Use::Store => Mutant::Weaken(call),
            Use::Load | Use::Exchange => continue,
        };
        explorer.plant(Some(mutant));
        let before: Vec<MapOp> = (1..=3).map(|i| MapOp::Put(20 * i, i)).collect();
        for key in [10, 50] {
            let one = compare(&explorer, &before, &[MapOp::Put(key, 7)]);
            (planted, wrong) = (planted + 1, wrong + u64::from(one.wrong > 0));
        }
    }
    println!("{planted} runs with a fault, {wrong} of them with something wrong");
    assert!(planted > 20 && wrong > 5, "{wrong} of {planted}");
}
