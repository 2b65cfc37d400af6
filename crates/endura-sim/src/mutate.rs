//! Is the exploration any good? Each call of the program under test is faulted in turn, and a quick
//! campaign must notice.
//!
//! A fault that nobody notices is either a call that the program does not need, a promise that the
//! campaign does not test, or a fault that is none.
//!
//! # What is known of a campaign
//!
//! Why nothing can notice a fault stands at its call, in the source of the program:
//! `// equivalent mutant, without Flush: …`. Which part notices a fault stands in a table beside the test,
//! `killers.txt`, a line `fault | part` each. The table is no more than a cache. Where it is not current
//! (the source was edited, and a fault has no row, a row no fault, or a part does not notice any more what
//! it noticed), other parts that make the call are tried, those first that are recorded for what is gone
//! and for the same function; only what they do not notice either fails the check.
//!
//! | variable | effect |
//! | --- | --- |
//! | `ENDURA_MUTANTS=strict` | the check fails if the table is not current |
//! | `ENDURA_MUTANTS=write` | looks in all parts for what is open, and writes the table |
//! | `ENDURA_MUTANT=absorb` | only faults with this in their names (several: `\|` between) |
//! | `ENDURA_PART=Duel` | the long run uses only parts with this in theirs |
//! | `ENDURA_SIM_SECONDS=60` | what each fault gets at most when all parts are tried |

mod campaign;
mod faults;
mod name;
mod part;
mod place;
mod source;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{fmt, thread};

use crate::mutant::{Call, Mutant, Use};
use crate::site::Site;
use crate::subject::Finding;

pub use campaign::Campaign;
pub use name::{Area, Name, Names};
pub use part::{Part, Runner};
pub use place::Place;

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
