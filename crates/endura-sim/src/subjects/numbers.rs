//! Maps of numbers in tiny trees: one subject for all kinds of trees.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use endura_engine::space::{LeakWalk, Space};
use endura_engine::tree::{Index, Len};

use super::leak_recovery::Recovery;
use super::maps;
use super::op::MapOp;
use crate::choose::Random;
use crate::sim::Sim;
use crate::subject::{Finding, Subject, first_wrong_key};

/// A tree that can be explored as a map of numbers.
pub trait NumberTree: Index + Sized + Send + Sync + 'static {
    /// How the names of those steps begin in which nodes are made, replaced or taken out.
    const STRUCTURAL: &'static [&'static str];

    /// Numbered steps at which a writer may stop for long.
    const STEPS: &'static [&'static str];

    /// Bytes of the chunks in which what was in a tiny tree is found again.
    const CHUNKS: &'static [u64];

    /// Whether a scan notes entries ahead, and shows what an earlier step of it has noted: a key that came
    /// in between since the scan began may then be passed over.
    const NOTES_AHEAD: bool = false;

    /// Whether each chunk is reached or free when all threads of a session that began with an empty medium
    /// have ended; else some wait.
    const LEAVES_NOTHING: bool = true;

    /// The tree `t` of a pool; made if there is none.
    ///
    /// # Errors
    ///
    /// What the pool says; so for the others.
    fn open(space: &Arc<Space<Sim>>) -> endura_engine::Result<Self>;

    /// What a leak recovery walks.
    fn walks(&self) -> Vec<Box<dyn LeakWalk<Sim>>>;

    /// Checks all of it, tells of each chunk, and gives the number of entries.
    fn check(&self, visit: &mut dyn FnMut(u64, u64)) -> endura_engine::Result<u64>;

    /// Whether the word at `at`, in this line, may be lost by a crash.
    fn is_volatile(at: u64, line: &[u64; 8]) -> bool {
        let _ = (at, line);
        false
    }

    /// Counts the entries, if nobody else does.
    fn count(&self) -> endura_engine::Result<()>;

    /// How many were counted.
    fn counted(&self) -> endura_engine::Result<Len> {
        self.len()
    }

    /// Shows all entries from a key on, to larger ones or to smaller ones, in one call, where the index can.
    fn show(
        &self,
        up: bool,
        from: u64,
        see: impl FnMut(u64, u64),
    ) -> Option<endura_engine::Result<()>> {
        let _ = (up, from, see);
        None
    }
}

/// Bytes of a node of so many words: whole lines.
pub(super) const fn node_bytes(words: usize) -> u64 {
    (8 * words as u64).next_multiple_of(64)
}

/// A map of numbers in a tree of this type.
pub struct Numbers<T> {
    /// The keys that operations are about, ascending; all are looked up after a crash.
    pub keys: Vec<u64>,
    tree: PhantomData<fn() -> T>,
}

impl<T> Numbers<T> {
    /// A map about these keys, ascending.
    pub fn about(keys: Vec<u64>) -> Self {
        Self { keys, tree: PhantomData }
    }
}

impl<T> Clone for Numbers<T> {
    fn clone(&self) -> Self {
        Self::about(self.keys.clone())
    }
}

impl<T> fmt::Debug for Numbers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Numbers").field("keys", &self.keys).finish_non_exhaustive()
    }
}

/// An open pool with one tree.
pub struct OpenNumbers<T> {
    /// Its pool.
    pub space: Arc<Space<Sim>>,
    /// The tree.
    pub tree: T,
    /// What is found of what the last crash stranded.
    pub leak_recovery: Recovery,
}

impl<T: NumberTree> OpenNumbers<T> {
    fn over(medium: Sim, session: u64) -> Result<Self, Finding> {
        let space = maps::mounted(medium, session)?;
        let tree: T = maps::told(T::open(&space))?;
        let leak_recovery = Recovery::of(&space, tree.walks());
        Ok(Self { space, tree, leak_recovery })
    }
}

impl<T: NumberTree> Subject for Numbers<T> {
    type Open = OpenNumbers<T>;
    type Op = MapOp;
    type Answer = Option<(u64, u64)>;
    type Model = BTreeMap<u64, u64>;

    fn create(&self, medium: Sim) -> Result<Self::Open, Finding> {
        maps::told(Space::format(&medium))?;
        OpenNumbers::over(medium, 1)
    }

    fn open(&self, medium: Sim, session: u64) -> Result<Self::Open, Finding> {
        OpenNumbers::over(medium, session)
    }

    fn empty(&self) -> Self::Model {
        BTreeMap::new()
    }

    fn apply(&self, open: &Self::Open, op: &MapOp) -> Result<Self::Answer, Finding> {
        open.leak_recovery.around(|| maps::apply(&open.tree, op))
    }

    fn specify(&self, model: &mut Self::Model, op: &MapOp) -> Self::Answer {
        op.specify(model, |value| value)
    }

    fn observe(&self, open: &Self::Open) -> Result<Self::Model, Finding> {
        maps::observe(&open.tree, &self.keys)
    }

    fn verify(&self, open: &Self::Open, model: &Self::Model) -> Result<(), Finding> {
        let check = |visit: &mut dyn FnMut(u64, u64)| open.tree.check(visit);
        maps::verify(&open.space, &open.leak_recovery, check, model.len())
    }

    fn continuation(&self, model: &Self::Model, random: &mut Random) -> Vec<MapOp> {
        maps::continuation(&self.keys, model, random, |key| key % 100)
    }

    fn is_structural(&self, step: &str) -> bool {
        T::STRUCTURAL.iter().any(|part| step.starts_with(part))
    }

    fn difference(&self, found: &Self::Model, expected: &[Self::Model]) -> String {
        first_wrong_key(found, expected)
    }

    fn is_volatile(&self, at: u64, line: &[u64; 8]) -> bool {
        T::is_volatile(at, line)
    }
}
