//! One thread stands still at a step, the others run to their end, and the power fails at every moment:
//! R14 and V12. With the flush taken away that each is about, something must be found.

use endura_sim::model::Model;
use endura_sim::mutant::{Call, Mutant, Use};
use endura_sim::mutate::Place;
use endura_sim::schedule::{Campaign, Figures, Plan, Strategy, Task, Unsound, Way};
use endura_sim::subjects::{MapOp, SPELLINGS, Spellings};
use endura_variants::roart::Tiny;

use crate::mutation::plans::barren;
use crate::threads::LIMIT;

/// Threads, of which number 0 stops at `step`, at its first, second and third visit.
struct Scenario {
    name: &'static str,
    before: Vec<u64>,
    threads: [Vec<Task>; 2],
    step: &'static str,
}

impl Scenario {
    fn run(&self, mutant: Option<Mutant>) -> Result<(Figures, Vec<Call>), Box<Unsound>> {
        let subject = Spellings::<Tiny>::first(14);
        let mut campaign = Campaign::new(subject, Model::WEAKEST_ADR, LIMIT, usize::MAX);
        campaign.plant(mutant);
        campaign.count_calls();
        for nth in 1..=3 {
            let before = self.before.iter().map(|&key| MapOp::Put(key, key)).collect();
            let strategy = Strategy::StopAt { thread: 0, step: self.step, nth };
            let threads = self.threads.to_vec();
            campaign.plan(&Plan { before, threads, strategy, seed: 1 })?;
        }
        Ok((campaign.figures.clone(), campaign.calls().made.keys().copied().collect()))
    }

    /// Passes as it is, and fails without the flushes that stand in `function` where `text` does.
    fn needs(&self, function: &'static str, text: &'static str) {
        let (figures, calls) =
            self.run(None).unwrap_or_else(|found| panic!("{}: {found}", self.name));
        assert!(figures.tally.steps.contains_key(self.step), "{}: never there", self.name);
        let is_there = Place { folder: "roart", function, text }.finder();
        let is_it = |call: &&Call| call.what == Use::Flush && is_there(call);
        let call = calls.iter().find(is_it).unwrap_or_else(|| panic!("{}: {text}", self.name));
        let found = self.run(Some(Mutant::Drop(*call)));
        assert!(found.is_err(), "{}: nothing is found without `{text}`", self.name);
    }
}

/// R14. A writer stands between its store and its flush; whoever reads the value, or its absence, is told
/// so for good. In a node, and in an array; the reader looks the key up, or scans.
#[test]
fn r14_what_a_reader_was_told_outlives_a_crash() {
    let step = "publish.dirty";
    for (name, before, act, keys) in [
        ("a new record in a node", vec![140], Task::Put(110, 901), [110, 140]),
        ("another in a node", vec![110], Task::Replace(110, 902), [110, 140]),
        ("none in a node any more", vec![110, 140], Task::Remove(110), [110, 140]),
    ] {
        let threads = [vec![act], vec![Task::Get(keys[0]), Task::Get(keys[1])]];
        let scenario = Scenario { name, before, threads, step };
        scenario.needs("candidate", "child_by_byte(");
    }
    for (name, act) in [
        ("a new record in an array", Task::Put(50, 903)),
        ("another in an array", Task::Replace(40, 904)),
        ("none in an array any more", Task::Remove(40)),
    ] {
        let threads = [vec![act], vec![Task::Get(40), Task::Get(50)]];
        let scenario = Scenario { name, before: vec![30, 40], threads, step };
        scenario.needs("candidate", "array.find_by(");
    }
    for (way, from) in [(Way::Up, 0), (Way::Down, u64::MAX)] {
        let threads = [vec![Task::Replace(40, 905)], vec![Task::Scan(way, from)]];
        let (name, before) = ("a scan over an array", vec![30, 40]);
        let scenario = Scenario { name, before, threads, step };
        scenario.needs("take", "array.load(");
    }
}

/// V12. The word that leads to a new array is visible and not durable; another writer takes a record out
/// of the array and is done. Crash: the array is gone, and the record is back. So writers, too, flush what
/// they pass.
#[test]
fn v12_a_writer_makes_the_words_durable_that_it_passes() {
    let threads = [vec![Task::Put(40, 901)], vec![Task::Remove(30)]];
    let scenario = Scenario { name: "V12", before: vec![30], threads, step: "publish.dirty" };
    scenario.needs("step", "node.child(");
}

/// A node whose keys are all gone, and of which nobody can tell the whole prefix, is taken out by who comes
/// to enter a key there: beside the last remove.
#[test]
fn what_is_barren_is_pruned_beside_its_last_remove() {
    let mut figures = Figures::default();
    for (before, cut, stands, comes) in barren() {
        let subject = Spellings::<Tiny>::first(SPELLINGS.len() as u64);
        let campaign = Campaign::new(subject, Model::WEAKEST_ADR, LIMIT, usize::MAX);
        let mut campaign = campaign.after_cut(cut);
        for nth in 1..=60 {
            let strategy = Strategy::StopAt { thread: 0, step: "", nth };
            let threads = vec![stands.clone(), comes.clone()];
            let plan = Plan { before: before.clone(), threads, strategy, seed: 1 };
            campaign.plan(&plan).unwrap_or_else(|found| panic!("{found}"));
        }
        figures.add(&campaign.figures);
    }
    for step in ["prune", "array.shrunk", "node.shrunk"] {
        assert!(figures.tally.crossed.contains_key(step), "{step} was not crossed: {figures:?}");
    }
}
