//! A failure is told as shortly as it can be, and comes again from what is printed.

use endura_sim::explore::Explorer;
use endura_sim::failure::{Failure, Fate};
use endura_sim::model::Model;
use endura_sim::mutant::{Call, Mutant, Use};
use endura_sim::sim::Sim;
use endura_sim::subject::Subject;
use endura_sim::subjects::{FastFair, LIMIT, MapOp};
use endura_sim::tally::Effort;

type Subjects = FastFair<14, 14>;

/// The flush that ends an insert into a leaf with room.
fn last_flush_of_an_insert(subject: &Subjects) -> Call {
    let sim = Sim::new(Model::WEAKEST_ADR, LIMIT);
    let open = subject.create(sim.clone()).unwrap();
    sim.count_calls();
    subject.apply(&open, &MapOp::Put(1, 1)).unwrap();
    let mut flushes = sim.calls().into_keys().filter(|call| call.what == Use::Flush);
    flushes.find(|call| call.site.file().ends_with("fast_fair/nodes/shift.rs")).unwrap()
}

fn fail(explorer: &mut Explorer<'_, Subjects>) -> Failure<MapOp> {
    let before: Vec<MapOp> = (1..=9).map(|i| MapOp::Put(10 * i, i)).collect();
    let ops = [MapOp::Remove(20), MapOp::Put(35, 1), MapOp::Put(30, 2), MapOp::Remove(10)];
    explorer.explore(&explorer.start(&before).unwrap(), &ops, 0).unwrap_err()
}

#[test]
fn a_missing_flush_is_told_in_one_operation() {
    let subject = Subjects::about((1..=19).map(|i| 5 * i).collect());
    let effort = Effort { depth: 1, ..Effort::EXHAUSTIVE };
    let mut explorer = Explorer::new(&subject, Model::WEAKEST_ADR, LIMIT, effort, 7);
    let call = last_flush_of_an_insert(&subject);
    explorer.plant(Some(Mutant::Drop(call)));
    let long = fail(&mut explorer);
    let short = explorer.shrink(long.clone());
    println!("{long}\n{short}");
    assert_eq!((short.before.len(), short.ops.len()), (0, 1), "{short}");
    let [crash] = &short.crashes[..] else { panic!("{short}") };
    let lost = crash.stores.iter().filter(|(_, fate)| *fate == Fate::Lost);
    assert!(lost.clone().count() > 0, "{short}");
    assert!(lost.clone().all(|(store, _)| store.site.file().contains("fast_fair")), "{short}");
    let text = short.to_string();
    for part in ["key ", "lost ", "shift.rs:", "planted  without Flush", "WEAKEST_ADR", ", 7)"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let again = explorer.attempt(&short.before, &short.ops, short.origin.from).unwrap();
    assert_eq!(again.to_string(), text);
}
