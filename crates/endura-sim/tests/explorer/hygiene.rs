//! What is acknowledged is durable, word by word; what is flushed for nothing is known.

use endura_sim::choose::Random;
use endura_sim::explore::Explorer;
use endura_sim::hygiene::{Hygiene, examine};
use endura_sim::model::Model;
use endura_sim::mutant::{Mutant, Use};
use endura_sim::sim::Sim;
use endura_sim::site::Site;
use endura_sim::subject::Subject;
use endura_sim::subjects::{FastFair, LIMIT, MapOp};
use endura_sim::tally::Effort;

/// Long random runs: every step of every protocol, splits, merges and changes of the root.
fn run(model: Model, seeds: std::ops::Range<u64>) -> Hygiene {
    let subject = FastFair::<14, 14>::about((1..=40).collect());
    let explorer = Explorer::new(&subject, model, LIMIT, Effort::EXHAUSTIVE, 1);
    let mut hygiene = Hygiene::default();
    for seed in seeds {
        let mut random = Random::new(seed);
        let mut ops = |count: usize, removes: u64| -> Vec<MapOp> {
            let mut op = || match random.below(10) < removes {
                true => MapOp::Remove(1 + random.below(40)),
                false => MapOp::Put(1 + random.below(40), random.below(1_000)),
            };
            (0..count).map(|_| op()).collect()
        };
        let all = [ops(60, 2), ops(60, 5), ops(100, 9)].concat();
        let trace = explorer.trace(&explorer.start(&[]).unwrap(), &all).unwrap();
        hygiene.add(examine(model, &trace, &|at, line| subject.is_volatile(at, line)));
    }
    hygiene
}

#[test]
fn what_is_acknowledged_is_durable() {
    for model in [Model::WEAKEST_ADR, Model::X86_ADR] {
        let hygiene = run(model, 0..20);
        assert_eq!(hygiene.operations, 20 * 220);
        let first = hygiene.unflushed.first();
        assert_eq!(first, None, "{model}: {} words", hygiene.unflushed.len());
    }
}

/// No line is flushed that has nothing to write back. One fence has nothing to wait for now and then:
/// that of a merge whose right node is empty and whose left node is full. The walks of a leak recovery and
/// the open are left out: what they flush is what a killed process may have left, and here is none.
#[test]
fn nearly_nothing_is_flushed_for_nothing() {
    let hygiene = run(Model::WEAKEST_ADR, 0..20);
    for (what, counts) in [("flushes", &hygiene.flushes), ("fences", &hygiene.fences)] {
        for (site, count) in counts {
            println!("{what} {site}: {} of {} redundant", count.redundant, count.all);
        }
    }
    let is_in = |site: &Site, files: &[&str]| files.iter().any(|file| site.file().ends_with(file));
    let walks = |site: &Site| {
        is_in(site, &["space/leak_recovery/recoverer.rs", "fast_fair/upkeep/mark.rs"])
    };
    // So does an open, of the directory and of the headers of pages and spans.
    let opens = ["space/directory/registry.rs", "space/alloc/survey.rs"];
    let waits = |site: &Site| walks(site) || is_in(site, &opens);
    let flushes = hygiene.flushes.iter().filter(|(site, _)| !waits(site));
    assert_eq!(flushes.map(|(_, count)| count.redundant).sum::<u64>(), 0);
    let fences = hygiene.fences.iter().filter(|(site, count)| count.redundant > 0 && !waits(site));
    for (site, count) in fences {
        assert!(site.file().ends_with("fast_fair/write/merge.rs"), "{site}");
        assert!(count.redundant * 20 < count.all, "{site}: {count:?}");
    }
}

/// A missing flush is found without any crash.
#[test]
fn a_missing_flush_is_an_error() {
    let subject = FastFair::<14, 14>::about(vec![10]);
    let mut explorer = Explorer::new(&subject, Model::WEAKEST_ADR, LIMIT, Effort::EXHAUSTIVE, 1);
    let sim = Sim::new(Model::WEAKEST_ADR, LIMIT);
    let open = subject.create(sim.clone()).unwrap();
    sim.count_calls();
    subject.apply(&open, &MapOp::Put(10, 7)).unwrap();
    let mut flushes = sim.calls().into_keys().filter(|call| call.what == Use::Flush);
    let flush =
        flushes.find(|call| call.site.file().ends_with("fast_fair/nodes/shift.rs")).unwrap();
    let start = explorer.start(&[]).unwrap();
    explorer.plant(Some(Mutant::Drop(flush)));
    let trace = explorer.trace(&start, &[MapOp::Put(10, 7)]).unwrap();
    let is_volatile = |at, line: &[u64; 8]| subject.is_volatile(at, line);
    let hygiene = examine(Model::WEAKEST_ADR, &trace, &is_volatile);
    let values: Vec<u64> = hygiene.unflushed.iter().map(|word| word.value).collect();
    assert_eq!(values, [10, 7], "{:?}", hygiene.unflushed);
}
