//! The faults of a program: what its calls are, when nothing is wrong, and what they are called.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::name::{Name, Names};
use super::part::Runner;
use super::{Area, Calls, Part};
use crate::mutant::Mutant;
use crate::subject::{Finding, guarded};

/// What each of these parts calls in the areas.
///
/// # Errors
///
/// What a part finds without a fault.
pub(super) fn sound<P: Part>(parts: &[P], areas: &[Area]) -> Result<Vec<(P, Calls)>, Finding> {
    let (next, all) = (Mutex::new(parts.iter().enumerate()), Mutex::new(BTreeMap::new()));
    let failed = Mutex::new(None);
    let is_meant = |file: &str| areas.iter().any(|area| area.holds(file));
    let work = || {
        while let Some((nth, &part)) =
            { next.lock().unwrap_or_else(PoisonError::into_inner).next() }
        {
            let mut runner = Runner::new(None, true);
            if let Err(finding) = guarded(|| runner.run(part)) {
                let finding = format!("{part}, without a fault: {finding}");
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(finding);
                return;
            }
            let mut calls = runner.harness.into_calls();
            calls.made.retain(|call, _| is_meant(call.site.file()));
            calls.releases.retain(|call| is_meant(call.site.file()));
            all.lock().unwrap_or_else(PoisonError::into_inner).insert(nth, (part, calls));
        }
    };
    thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(work)));
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(finding) => Err(finding),
        None => {
            Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect())
        }
    }
}

/// All faults by their names.
pub(super) struct Faults {
    pub(super) by_name: BTreeMap<Name, Mutant>,
    pub(super) names: BTreeMap<Mutant, Name>,
    /// Why nothing can notice them, as comments at the calls say.
    pub(super) excused: BTreeMap<Mutant, String>,
}

impl Faults {
    /// The faults of what the parts call.
    ///
    /// # Errors
    ///
    /// Too few of an area, two of one name, and comments that are about none.
    pub(super) fn of<P>(
        made: &[(P, Calls)],
        names: &Names,
        areas: &[Area],
    ) -> Result<Self, Finding> {
        let mutants: BTreeSet<Mutant> =
            made.iter().flat_map(|(_, calls)| calls.mutants()).collect();
        let mutants: Vec<Mutant> = mutants.into_iter().collect();
        let mut faults = Self {
            by_name: BTreeMap::new(),
            names: BTreeMap::new(),
            excused: names.excused(&mutants)?,
        };
        for &mutant in &mutants {
            let name = names.name(mutant)?;
            if let Some(other) = faults.by_name.insert(name.clone(), mutant) {
                return Err(format!("{other} and {mutant} are both called {name}"));
            }
            faults.names.insert(mutant, name);
        }
        names.all_are_made(made.iter().flat_map(|(_, calls)| calls.made.keys()))?;
        for Area { folder, least } in areas {
            let count = faults.by_name.keys().filter(|name| name.folder == *folder).count();
            if count < *least {
                return Err(format!("{count} faults in {folder}, and at least {least} are known"));
            }
        }
        let (all, listed) = (mutants.len(), faults.excused.len());
        if 10 * listed > all {
            return Err(format!("{listed} faults of {all} are excused, more than a tenth"));
        }
        Ok(faults)
    }
}
