//! Is the exploration any good? Each call of the program under test is faulted in turn, and a quick
//! campaign must notice.
//!
//! A fault that nobody notices is either a call that the program does not need, a promise that the
//! campaign does not test, or a fault that is none.

mod campaign;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{fmt, fs, io, thread};

use crate::mutant::{Call, Mutant, Use};
use crate::site::Site;
use crate::subject::Finding;

pub use campaign::{Campaign, Part, Runner};

/// The calls that a campaign makes when nothing is wrong.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    /// How often each was made.
    pub made: BTreeMap<Call, u64>,
    /// Stores that come after everything before them in their line.
    pub releases: BTreeSet<Call>,
}

impl Calls {
    /// Takes others in.
    pub fn add(&mut self, other: Self) {
        for (call, count) in other.made {
            *self.made.entry(call).or_default() += count;
        }
        self.releases.extend(other.releases);
    }

    /// The faults of those calls that one thread can notice: every flush, fence, drain, store and
    /// exchange left out, and every `Release` relaxed.
    pub fn mutants(&self) -> impl Iterator<Item = Mutant> + '_ {
        let dropped = self.made.keys().filter(|call| call.what != Use::Load);
        let dropped = dropped.map(|&call| Mutant::Drop(call));
        dropped.chain(self.releases.iter().map(|&call| Mutant::Weaken(call)))
    }

    /// The faults that take another thread to be noticed: every load that gives what was known.
    pub fn stale(&self) -> impl Iterator<Item = Mutant> + '_ {
        let loads = self.made.keys().filter(|call| call.what == Use::Load);
        loads.map(|&call| Mutant::Stale(call))
    }
}

/// What became of a mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// This part of the campaign noticed it, by this finding.
    Killed {
        /// The part.
        by: String,
        /// What it found.
        finding: Finding,
    },
    /// Nobody noticed.
    Survived,
}

/// What became of all.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Each mutant with its fate, in the order of its calls.
    pub fates: Vec<(Mutant, Fate)>,
}

/// Runs `campaign` with each mutant, on so many threads. It gives the first part that noticed, and its
/// finding.
pub fn judge(
    mutants: &[Mutant],
    threads: usize,
    campaign: impl Fn(Mutant) -> Option<(String, Finding)> + Sync,
) -> Report {
    let (next, fates) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        // Relaxed: the counter alone is shared; the fates have a lock.
        while let Some(&mutant) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
            let fate = match campaign(mutant) {
                Some((by, finding)) => Fate::Killed { by, finding },
                None => Fate::Survived,
            };
            fates.lock().unwrap_or_else(PoisonError::into_inner).push((mutant, fate));
        }
    };
    thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(work)));
    let mut fates = fates.into_inner().unwrap_or_else(PoisonError::into_inner);
    fates.sort_by_key(|(mutant, _)| *mutant);
    Report { fates }
}

/// The mutant's name, which stays what it is when lines move: the file, the function, the source line of
/// the call, and which of those it is if the function has several that read the same. `root` is the directory that the compiler's paths start from.
///
/// # Errors
///
/// Where the source cannot be read.
pub fn name(mutant: Mutant, root: &Path) -> io::Result<String> {
    let site = mutant.call().site;
    let source = fs::read_to_string(root.join(site.file()))?;
    let before: Vec<&str> = source.lines().take(site.line() as usize).collect();
    let function = before.iter().rev().find_map(|line| function_of(line)).unwrap_or_default();
    let what = match mutant {
        Mutant::Drop(_) => "without",
        Mutant::Weaken(_) => "relaxed",
        Mutant::Stale(_) => "stale",
    };
    let file = Path::new(site.file()).file_name().unwrap_or_default().display().to_string();
    let line = before.last().map_or("", |line| line.trim());
    let in_function = before.iter().rev().take_while(|line| function_of(line).is_none());
    let nth = match in_function.filter(|other| other.trim() == line).count() {
        0 | 1 => String::new(),
        nth => format!(" (number {nth})"),
    };
    Ok(format!("{what} {:?} in {file}, {function}: {line}{nth}", mutant.call().what))
}

/// The function that begins on a source line.
fn function_of(line: &str) -> Option<&str> {
    let is_comment = line.trim_start().starts_with("//");
    let (_, rest) = line.split_once("fn ").filter(|_| !is_comment)?;
    rest.split(['(', '<']).next()
}

impl Report {
    /// The mutants that nobody noticed.
    pub fn survivors(&self) -> impl Iterator<Item = Mutant> + '_ {
        let survived = self.fates.iter().filter(|(_, fate)| *fate == Fate::Survived);
        survived.map(|(mutant, _)| *mutant)
    }

    /// The calls that were faulted.
    pub fn sites(&self) -> BTreeSet<Site> {
        self.fates.iter().map(|(mutant, _)| mutant.call().site).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (mutant, fate) in &self.fates {
            match fate {
                Fate::Killed { by, finding } => {
                    let short: String = finding.chars().take(80).collect();
                    writeln!(f, "killed    {mutant} by {by}: {short}")?;
                }
                Fate::Survived => writeln!(f, "SURVIVED  {mutant}")?,
            }
        }
        let (all, alive) = (self.fates.len(), self.survivors().count());
        let sites = self.sites().len();
        writeln!(f, "{all} mutants at {sites} sites: {} killed, {alive} survived", all - alive)
    }
}
