//! The n-th chunk is refused, and all after it, for all n, to a thread that makes several changes at once: a commit then fails with nothing
//! changed, or has what it needs. It never stops half done. After each refusal the process is killed.

use endura_linear::{Part, Place, PoolAnswer, PoolOp};
use endura_sim::aftermath::Aftermath;
use endura_sim::choose::Chooser;
use endura_sim::explore::{Explorer, Start};
use endura_sim::model::Model;
use endura_sim::sim::Sim;
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::LIMIT;
use endura_sim::subjects::batches::{Batches, KINDS};
use endura_sim::tally::Effort;

/// Keys of each map before.
const BEFORE: u64 = 30;
/// Commits in a row, of one new key of each map: then what a commit sets aside is just enough. So many divide a node of each
/// kind.
const COMMITS: u64 = 64;

fn put(i: u64) -> PoolOp {
    let place = [(0, i), (1, i)].map(|place: Place| (place, Part::Put(i + 1)));
    PoolOp::Batch(place.into_iter().collect())
}

fn commits() -> impl Iterator<Item = PoolOp> {
    (BEFORE..BEFORE + COMMITS).map(put)
}

/// All commits, with the `n`-th chunk refused. Returns whether one was.
fn run(subject: &Batches, start: &Start<Batches>, n: u64) -> Result<bool, Finding> {
    let aftermath = Aftermath::certain(start.image.clone());
    let sim = Sim::after(Model::PAGE_CACHE, LIMIT, &aftermath, Chooser::first());
    let mut open = subject.open(sim.clone(), 2)?;
    sim.refuse_from(n);
    let (mut model, mut is_refused) = (start.model.clone(), false);
    for op in commits() {
        match open.perform(op) {
            Ok(answer) => assert_eq!(answer, PoolAnswer::Committed(Ok(()))),
            Err(finding) if finding.starts_with("Full") && !is_refused => {
                is_refused = true;
                sim.refuse(0);
                if subject.observe(&open)? != model {
                    return Err(format!("a part of {op:?}"));
                }
                // The next process finds all that was committed, and commits it.
                drop(open);
                open = subject.open(sim.clone(), 3)?;
                open.perform(op)?;
            }
            Err(finding) => return Err(format!("{op:?}: {finding}")),
        }
        subject.specify(&mut model, &op);
    }
    if subject.observe(&open)? != model {
        return Err("something is missing at the end".to_owned());
    }
    subject.verify(&open, &model)?;
    Ok(is_refused)
}

#[test]
fn a_commit_that_lacks_a_chunk_changes_nothing() {
    let mut all = 0;
    for kinds in (0..KINDS).map(|kind| [kind, (kind + 3) % KINDS]) {
        let keys: Vec<u64> = (0..BEFORE + COMMITS).collect();
        let subject = Batches { kinds: kinds.to_vec(), keys };
        let before: Vec<PoolOp> = (0..BEFORE).map(put).collect();
        let explorer = Explorer::new(&subject, Model::PAGE_CACHE, LIMIT, Effort::EXHAUSTIVE, 1);
        let start = explorer.start(&before).unwrap_or_else(|failure| panic!("{failure}"));
        let run = |n| run(&subject, &start, n).unwrap_or_else(|e| panic!("{kinds:?}, {n}: {e}"));
        // Every second one, unless there is time.
        let step = if std::env::var_os("ENDURA_SIM_SECONDS").is_some() { 1 } else { 2 };
        let refused = (1..).step_by(step).take_while(|&n| run(n)).count();
        println!("{kinds:?}: {refused} chunks refused");
        assert!(refused > 40, "{refused}");
        all += refused;
    }
    println!("{all} chunks refused");
}
