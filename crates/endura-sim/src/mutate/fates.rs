//! What becomes of faults.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{fmt, thread};

use crate::mutant::Mutant;
use crate::site::Site;
use crate::subject::Finding;

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
pub struct Fates {
    /// Each mutant with its fate, in the order of its calls.
    pub fates: Vec<(Mutant, Fate)>,
}

/// Runs `campaign` with each mutant, on so many threads. It gives the first part that noticed, and its
/// finding.
pub fn judge(
    mutants: &[Mutant],
    threads: usize,
    campaign: impl Fn(Mutant) -> Option<(String, Finding)> + Sync,
) -> Fates {
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
    Fates { fates }
}

impl Fates {
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

impl fmt::Display for Fates {
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
