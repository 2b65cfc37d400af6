//! The n-th chunk is refused, and all after it, for all n, to a thread that makes several changes at once: a commit then fails with nothing
//! changed, or has what it needs. It never stops half done. After each refusal the process is killed.

use endura_linear::{MOST, Part, Place, PoolAnswer, PoolOp};
use endura_sim::aftermath::Aftermath;
use endura_sim::choose::Chooser;
use endura_sim::explore::{Explorer, Start};
use endura_sim::model::Model;
use endura_sim::sim::Sim;
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::LIMIT;
use endura_sim::subjects::batches::{Batches, KINDS};
use endura_sim::tally::Effort;

/// Commits in a row, of new keys of both maps: enough for nodes of each kind to be divided.
const COMMITS: u64 = 28;
/// New keys of each map in a commit.
const NEW: u64 = MOST as u64 / 2;

/// Key number `i` of all: neighbours do not follow each other.
fn key(i: u64) -> u64 {
    i * 37 % 1_009
}

fn commits() -> Vec<PoolOp> {
    let place = |i: u64| [(0, key(i)), (1, key(i))];
    let put = move |i| place(i).map(|place: Place| (place, Part::Put(i + 1)));
    let commit = |c| PoolOp::Batch((NEW * c..NEW * (c + 1)).flat_map(put).collect());
    (0..COMMITS).map(commit).collect()
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
        let mut keys: Vec<u64> = (0..NEW * COMMITS).map(key).collect();
        keys.sort_unstable();
        let subject = Batches { kinds: kinds.to_vec(), keys };
        let explorer = Explorer::new(&subject, Model::PAGE_CACHE, LIMIT, Effort::EXHAUSTIVE, 1);
        let start = explorer.start(&[]).unwrap_or_else(|failure| panic!("{failure}"));
        let run = |n| run(&subject, &start, n).unwrap_or_else(|e| panic!("{kinds:?}, {n}: {e}"));
        let refused = (1..).take_while(|&n| run(n)).count();
        println!("{kinds:?}: {refused} chunks refused");
        assert!(refused > 50, "{refused}");
        all += refused;
    }
    println!("{all} chunks refused");
}
