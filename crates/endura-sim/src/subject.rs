//! What is tested: a structure on a medium, and what it promises.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::choose::Random;
use crate::sim::{Blocked, ENDLESS, Endless, Sim};

/// Why something was found wanting.
pub type Finding = String;

/// A structure that lives on a medium, seen by an explorer: how to make it, open it after a crash,
/// use it and read it, and a sequential specification of what it holds.
///
/// Values of this type are plans: several structures of one kind differ in them (node sizes, keys
/// that matter).
pub trait Subject {
    /// The structure, open.
    type Open;
    /// An operation.
    type Op: Clone + Debug;
    /// What an operation returns.
    type Answer: Clone + PartialEq + Debug;
    /// What the structure holds, in the specification.
    type Model: Clone + Eq + Hash + Debug;

    /// Makes an empty structure on a medium of zeros.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being made.
    fn create(&self, medium: Sim) -> Result<Self::Open, Finding>;

    /// Opens the structure that a medium holds, for the `session`-th time, counted from 1; `create`
    /// was the first.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being opened: always a finding.
    fn open(&self, medium: Sim, session: u64) -> Result<Self::Open, Finding>;

    /// What a new structure holds.
    fn empty(&self) -> Self::Model;

    /// Does one operation.
    ///
    /// # Errors
    ///
    /// Whatever went wrong: always a finding.
    fn apply(&self, open: &Self::Open, op: &Self::Op) -> Result<Self::Answer, Finding>;

    /// What the specification says of the operation.
    fn specify(&self, model: &mut Self::Model, op: &Self::Op) -> Self::Answer;

    /// Reads everything, in every way there is; the ways must agree.
    ///
    /// # Errors
    ///
    /// What could not be read, or two ways that do not agree.
    fn observe(&self, open: &Self::Open) -> Result<Self::Model, Finding>;

    /// Checks the structure from inside: shape, ownership of space, counts.
    ///
    /// # Errors
    ///
    /// The first claim that does not hold.
    fn verify(&self, open: &Self::Open, model: &Self::Model) -> Result<(), Finding> {
        let _ = (open, model);
        Ok(())
    }

    /// Operations with which a recovered structure is put to use.
    fn continuation(&self, model: &Self::Model, random: &mut Random) -> Vec<Self::Op> {
        let _ = (model, random);
        Vec::new()
    }

    /// What is wrong if `found` was there and one of `expected` should be: the first wrong key, where
    /// there are keys.
    fn difference(&self, found: &Self::Model, expected: &[Self::Model]) -> String {
        format!("found {found:?}, expected {expected:?}")
    }

    /// Whether a numbered step belongs to a change of the structure's shape (a split, a merge, a new
    /// root): campaigns tell how many of their crashes were inside one.
    fn is_structural(&self, step: &str) -> bool {
        let _ = step;
        false
    }

    /// Whether a word of a line means nothing after a crash (a lock, a hint): it need not be flushed.
    fn is_volatile(&self, at: u64, line: &[u64; 8]) -> bool {
        let _ = (at, line);
        false
    }
}

/// [`Subject::difference`] for maps.
pub fn first_wrong_key<K: Ord + Debug, V: PartialEq + Debug>(
    found: &BTreeMap<K, V>,
    expected: &[BTreeMap<K, V>],
) -> String {
    let keys: BTreeSet<&K> = expected.iter().chain([found]).flat_map(BTreeMap::keys).collect();
    let is_wrong = |key: &&K| expected.iter().all(|map| map.get(*key) != found.get(*key));
    // If each key alone is as it may be, it is the combination that is not.
    let Some(key) = keys.into_iter().find(is_wrong) else {
        return format!("found {found:?}, expected {expected:?}");
    };
    let values: Vec<Option<&V>> = expected.iter().map(|map| map.get(key)).collect();
    let of = found.get(key);
    format!("key {key:?}: found {of:?}, expected {values:?}; all of it: {found:?}")
}

/// Runs a part of a subject; a panic, or going on or waiting for ever, is a finding.
pub fn guarded<T>(run: impl FnOnce() -> Result<T, Finding>) -> Result<T, Finding> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result,
        Err(panic) if panic.is::<Blocked>() => Err("waits for ever".to_owned()),
        Err(panic) if panic.is::<Endless>() => Err(format!("no end after {ENDLESS} accesses")),
        Err(panic) => Err(format!("panics: {}", panic_text(&*panic))),
    }
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or(panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use endura_engine::media::{Media, Ordering, Region};

    use super::*;
    use crate::model::Model;

    fn two_words() -> Sim {
        let sim = Sim::new(Model::WEAKEST_ADR, 64);
        sim.grow(64).expect("it is within the limit");
        sim
    }

    #[test]
    fn waiting_for_what_nobody_does_is_a_finding() {
        let sim = two_words();
        let words = Region::new(&sim, 0, 2).expect("it is there");
        let waits = || loop {
            if words.load(0, Ordering::Acquire) == 1 {
                return Ok(());
            }
        };
        assert_eq!(guarded(waits), Err("waits for ever".to_owned()));
    }

    /// Two words in turn, so that it does not look like waiting for one.
    #[test]
    fn an_exchange_that_cannot_succeed_is_a_finding() {
        let sim = two_words();
        let words = Region::new(&sim, 0, 2).expect("it is there");
        let tries = || loop {
            let sum = words.load(0, Ordering::Acquire) + words.load(1, Ordering::Acquire);
            if words.compare_exchange(0, 1 + sum, 2).is_ok() {
                return Ok(());
            }
        };
        assert_eq!(guarded(tries), Err(format!("no end after {ENDLESS} accesses")));
        // What was noted since begins a new count.
        sim.note(crate::event::Action::Begin(1));
        assert_eq!(guarded(|| Ok(words.load(0, Ordering::Acquire))), Ok(0));
    }
}
