//! A campaign in parts, each of which can be run alone, and what is known of it: which part notices which
//! fault, and which faults nothing can notice.
//!
//! The tables are files beside the test: `killers.txt`, a line `part | fault` for each fault that is
//! noticed, and `listed.txt`, a line `reason | fault` for each that nothing can notice. The quick check runs
//! the recorded part with each fault, and all recorded parts without one. The long one looks for each fault
//! in all parts, the recorded one first (with an empty table: for everything anew), and prints the table.
//! For that, `ENDURA_MUTANT` chooses faults by pieces of their names, with `|` between, `ENDURA_PART` parts;
//! `ENDURA_SIM_SECONDS` is what each fault gets at most.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Calls, Fate, Report, judge, name};
use crate::mutant::Mutant;
use crate::subject::{Finding, guarded};

/// A part of a campaign. Its name is what it is found again by.
pub trait Part: Copy + fmt::Display + Send + Sync {
    /// What runs parts.
    type Runner: Runner<Part = Self>;

    /// Whether it can tell the fault from none, and no other part does so sooner.
    fn may_notice(self, _mutant: Mutant) -> bool {
        true
    }

    /// Equal for parts that make the same calls, about: a fault is looked for where its call is made.
    fn kind(self) -> String {
        self.to_string()
    }

    /// The same more narrowly: parts of the place where the call was made come first.
    fn place(self) -> String {
        self.kind()
    }

    /// Whether it is one of those that tell what all of their kind call.
    fn is_sample(self) -> bool {
        true
    }
}

/// Runs parts, all with one fault or none; keeps what they have in common.
pub trait Runner {
    /// What it runs.
    type Part;

    /// Runs parts with this fault; takes down which calls they make if it `counts`.
    fn new(mutant: Option<Mutant>, counts: bool) -> Self;

    /// Runs a part.
    ///
    /// # Errors
    ///
    /// What it noticed.
    fn run(&mut self, part: Self::Part) -> Result<(), Finding>;

    /// The calls of all parts that were run.
    fn into_calls(self) -> Calls;
}

/// The parts and the tables.
pub struct Campaign<P> {
    parts: Vec<P>,
    /// The part that notices a fault.
    killers: BTreeMap<String, String>,
    /// Why nothing notices a fault.
    listed: BTreeMap<String, String>,
    is_meant: fn(&str) -> bool,
    root: PathBuf,
}

/// The second halves of the lines, with the first.
fn read(path: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(" | "));
    pairs.map(|(by, of)| (of.to_owned(), by.to_owned())).collect()
}

/// Whether a variable of the environment chooses this name.
fn is_chosen(variable: &str, name: &str) -> bool {
    let wanted = std::env::var(variable).unwrap_or_default();
    wanted.split('|').any(|piece| name.contains(piece))
}

impl<P: Part> Campaign<P> {
    /// A campaign whose tables lie in the folder `tables` of the crate at `manifest`, two levels below the
    /// root of its workspace. Calls in sources whose path `is_meant` are faulted. `parts` are tried in their
    /// order: cheap ones first.
    pub fn new(manifest: &str, tables: &str, parts: Vec<P>, is_meant: fn(&str) -> bool) -> Self {
        let folder = Path::new(manifest).join(tables);
        let (killers, listed) =
            (read(&folder.join("killers.txt")), read(&folder.join("listed.txt")));
        Self { parts, killers, listed, is_meant, root: Path::new(manifest).join("../..") }
    }

    fn name_of(&self, mutant: Mutant) -> String {
        name(mutant, &self.root).unwrap_or_else(|error| format!("{mutant}: {error}"))
    }

    /// Runs parts without a fault: what each of them calls.
    fn sound(&self, parts: &[P]) -> Result<Vec<(P, Calls)>, Finding> {
        let (next, all) = (Mutex::new(parts.iter()), Mutex::new(Vec::new()));
        let failed = Mutex::new(None);
        let work = || {
            while let Some(&part) = { next.lock().unwrap_or_else(PoisonError::into_inner).next() } {
                let mut runner = P::Runner::new(None, true);
                if let Err(finding) = guarded(|| runner.run(part)) {
                    let finding = format!("{part}, without a fault: {finding}");
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(finding);
                    return;
                }
                let mut calls = runner.into_calls();
                calls.made.retain(|call, _| (self.is_meant)(call.site.file()));
                calls.releases.retain(|call| (self.is_meant)(call.site.file()));
                all.lock().unwrap_or_else(PoisonError::into_inner).push((part, calls));
            }
        };
        thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(work)));
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(finding) => Err(finding),
            None => Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Each fault is noticed by the part that the table names, or listed; at most `most_open` are neither.
    /// Prints all of them.
    ///
    /// # Errors
    ///
    /// What is not as the tables say.
    pub fn check(&self, most_open: usize) -> Result<(), Finding> {
        let by_name: HashMap<String, P> =
            self.parts.iter().map(|&part| (part.to_string(), part)).collect();
        let mut used = Vec::new();
        for by in self.killers.values().collect::<BTreeSet<_>>() {
            used.push(*by_name.get(by).ok_or_else(|| format!("there is no part {by}"))?);
        }
        let mut calls = Calls::default();
        self.sound(&used)?.into_iter().for_each(|(_, of)| calls.add(of));
        let all: Vec<(Mutant, String)> =
            calls.mutants().map(|mutant| (mutant, self.name_of(mutant))).collect();
        let (listed, others): (Vec<_>, Vec<_>) =
            all.iter().partition(|(_, name)| self.listed.contains_key(name));
        let (tried, open): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|(_, name)| self.killers.contains_key(name));
        let tried: Vec<Mutant> = tried.into_iter().map(|(mutant, _)| *mutant).collect();
        let report = judge(&tried, 2, |mutant| {
            let part = *by_name.get(self.killers.get(&self.name_of(mutant))?)?;
            self.noticed(&mut P::Runner::new(Some(mutant), false), part)
        });
        println!("{report}of {}: {} listed, {} open", all.len(), listed.len(), open.len());
        listed.iter().for_each(|(_, name)| println!("listed    {name} ({})", self.listed[name]));
        open.iter().for_each(|(_, name)| println!("open      {name}"));
        let there: BTreeSet<&String> = all.iter().map(|(_, name)| name).collect();
        let known = self.killers.keys().chain(self.listed.keys());
        let mut wrong: Vec<String> = known
            .filter(|name| !there.contains(name))
            .map(|name| format!("in a table and not there: {name}"))
            .collect();
        let alive = report.survivors().map(|mutant| self.name_of(mutant));
        wrong.extend(alive.map(|name| format!("not noticed where it should be: {name}")));
        if 10 * listed.len() > all.len() {
            wrong.push("more than a tenth is listed".to_owned());
        }
        if open.len() > most_open {
            wrong.push(format!("{} that nothing is known to notice", open.len()));
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }

    fn noticed(&self, runner: &mut P::Runner, part: P) -> Option<(String, Finding)> {
        guarded(|| runner.run(part)).err().map(|finding| (part.to_string(), finding))
    }

    /// Looks for each fault in all parts that may notice it, and prints the table.
    ///
    /// # Errors
    ///
    /// Which faults nothing notices, or are listed and noticed after all.
    pub fn look_for_all(&self) -> Result<(), Finding> {
        let parts: Vec<P> = self
            .parts
            .iter()
            .copied()
            .filter(|part| is_chosen("ENDURA_PART", &part.to_string()))
            .collect();
        let samples: Vec<P> = parts.iter().copied().filter(|part| part.is_sample()).collect();
        let (mut calls, mut made) = (Calls::default(), HashMap::<String, Calls>::new());
        for (part, of) in self.sound(&samples)? {
            calls.add(of.clone());
            for name in BTreeSet::from([part.kind(), part.place()]) {
                made.entry(name).or_default().add(of.clone());
            }
        }
        let is_wanted = |mutant: &Mutant| is_chosen("ENDURA_MUTANT", &self.name_of(*mutant));
        let mutants: Vec<Mutant> = calls.mutants().filter(is_wanted).collect();
        println!("{} mutants, {} parts", mutants.len(), parts.len());
        let report = judge(&mutants, 2, |mutant| self.look_for(mutant, &parts, &made));
        self.sum_up(&report)
    }

    fn look_for(
        &self,
        mutant: Mutant,
        parts: &[P],
        made: &HashMap<String, Calls>,
    ) -> Option<(String, Finding)> {
        let given = std::env::var("ENDURA_SIM_SECONDS").ok().and_then(|text| text.parse().ok());
        let (begin, most) = (Instant::now(), Duration::from_secs(given.unwrap_or(600)));
        let makes = |name: &String| {
            made.get(name).is_none_or(|calls| calls.made.contains_key(&mutant.call()))
        };
        let name = self.name_of(mutant);
        let before = self.killers.get(&name);
        let known = before.and_then(|by| parts.iter().find(|part| part.to_string() == *by));
        let (near, far): (Vec<&P>, Vec<&P>) = parts
            .iter()
            .filter(|part| part.may_notice(mutant) && makes(&part.kind()))
            .partition(|part| makes(&part.place()));
        let mut runner = P::Runner::new(Some(mutant), false);
        let found = known
            .into_iter()
            .chain(near)
            .chain(far)
            .take_while(|_| begin.elapsed() < most)
            .find_map(|&part| self.noticed(&mut runner, part));
        println!("{} | {name}", found.as_ref().map_or("NOBODY", |(by, _)| by));
        found
    }

    fn sum_up(&self, report: &Report) -> Result<(), Finding> {
        let (mut table, mut wrong) = (Vec::new(), Vec::new());
        for (mutant, fate) in &report.fates {
            let name = self.name_of(*mutant);
            match (fate, self.listed.contains_key(&name)) {
                (Fate::Killed { .. }, true) => wrong.push(format!("listed and noticed: {name}")),
                (Fate::Killed { by, .. }, false) => table.push((name, by.clone())),
                (Fate::Survived, false) => wrong.push(format!("nobody notices: {name}")),
                (Fate::Survived, true) => {}
            }
        }
        table.sort();
        println!("{report}---");
        table.iter().for_each(|(of, by)| println!("{by} | {of}"));
        println!("---");
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }
}
