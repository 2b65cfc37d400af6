//! What must hold, and an open pool to hold it against.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use endura::pool::{Session, Space};
use endura::tree::fast_fair::{LineBinary, Tree};
use endura::tree::{Change, Index};

use crate::memory::{Blocked, Recorder, State};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Put(u64, u64),
    Remove(u64),
}

impl Op {
    pub(crate) fn key(self) -> u64 {
        match self {
            Self::Put(key, _) | Self::Remove(key) => key,
        }
    }

    fn result(self) -> Option<u64> {
        match self {
            Self::Put(_, value) => Some(value),
            Self::Remove(_) => None,
        }
    }
}

/// The keys that matter, ascending: those at odd places are in the tree at the start.
#[derive(Debug, Clone)]
pub(crate) struct Universe(Vec<u64>);

impl Universe {
    pub(crate) fn of(keys: Vec<u64>) -> Self {
        Self(keys)
    }

    pub(crate) fn new(shape: u64, present: usize) -> Self {
        let count = 2 * present as u64 + 1;
        let key = |i: u64| match shape {
            0 => 10 * (i + 1),
            1 => (1 << 63) - 10 * (count / 2) + 10 * i,
            2 => (1 << 63) + 10 * i,
            _ if i + 1 == count => u64::MAX,
            _ => i,
        };
        Self((0..count).map(key).collect())
    }

    pub(crate) fn keys(&self) -> &[u64] {
        &self.0
    }
}

#[derive(Debug)]
pub(crate) enum Outcome {
    Returned(Option<u64>),
    Failed(#[allow(dead_code)] String),
    Blocked,
}

/// A pool that is open, with one tree.
pub(crate) struct Opened<const I: usize, const L: usize> {
    space: Arc<Space<Recorder>>,
    tree: Tree<Recorder, I, L, LineBinary>,
}

fn guarded<T>(run: impl FnOnce() -> endura::Result<T>) -> Result<T, Option<String>> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(|error| Some(format!("{error:?}"))),
        Err(panic) if panic.is::<Blocked>() => Err(None),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or(panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            Err(Some(format!("panic {text:?}")))
        }
    }
}

fn text(error: Option<String>) -> String {
    error.unwrap_or_else(|| "waits for ever".to_owned())
}

impl<const I: usize, const L: usize> Opened<I, L> {
    pub(crate) fn create() -> Self {
        let recorder = Recorder::empty();
        Space::format(&recorder).unwrap();
        Self::over(recorder, 1).unwrap()
    }

    pub(crate) fn mount(state: State, generation: u64) -> Result<Self, String> {
        Self::over(Recorder::new(state), generation)
    }

    fn over(recorder: Recorder, generation: u64) -> Result<Self, String> {
        let session = Session { generation, clean: false, read_only: false };
        guarded(|| {
            let space = Arc::new(Space::mount(recorder, session)?);
            let tree = Tree::open(&space, "t")?;
            Ok(Self { space, tree })
        })
        .map_err(|e| format!("open: {}", text(e)))
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        self.space.media()
    }

    /// Lets the session take pages for its nodes now.
    pub(crate) fn prime(&self) {
        let guard = self.space.pin_mut().unwrap();
        for words in [I, L] {
            let bytes = (8 * words as u64).next_multiple_of(64);
            guard.discard(guard.alloc(bytes).unwrap(), bytes);
        }
    }

    pub(crate) fn modify(&self, op: Op) -> Outcome {
        let change = match op {
            Op::Put(_, value) => Change::Put(value),
            Op::Remove(_) => Change::Remove,
        };
        match guarded(|| self.tree.modify(op.key(), |_| change)) {
            Ok(old) => Outcome::Returned(old),
            Err(Some(error)) => Outcome::Failed(error),
            Err(None) => Outcome::Blocked,
        }
    }

    fn scan(&self, up: bool) -> Result<Vec<(u64, u64)>, String> {
        guarded(|| {
            let mut cursor = Default::default();
            let mut next = Some(if up { 0 } else { u64::MAX });
            let mut all = Vec::new();
            while let Some(key) = next {
                let found = match up {
                    true => self.tree.scan_up(&mut cursor, key)?,
                    false => self.tree.scan_down(&mut cursor, key)?,
                };
                let Some(entry) = found else { break };
                all.push(entry);
                next = if up { entry.0.checked_add(1) } else { entry.0.checked_sub(1) };
            }
            Ok(all)
        })
        .map_err(text)
    }
}

/// Contents: certain, and open between values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expect {
    pub(crate) sure: BTreeMap<u64, u64>,
    pub(crate) open: BTreeMap<u64, Vec<Option<u64>>>,
}

impl Expect {
    fn allows(&self, key: u64) -> Vec<Option<u64>> {
        self.open.get(&key).cloned().unwrap_or_else(|| vec![self.sure.get(&key).copied()])
    }

    fn set(&mut self, key: u64, value: Option<u64>) {
        self.open.remove(&key);
        match value {
            Some(value) => self.sure.insert(key, value),
            None => self.sure.remove(&key),
        };
    }

    /// The operation may or may not happen.
    pub(crate) fn begin(&mut self, op: Op) {
        let mut values = self.allows(op.key());
        values.push(op.result());
        values.dedup();
        self.open.insert(op.key(), values);
    }

    /// The operation happened and found `old`.
    pub(crate) fn returned(&mut self, op: Op, old: Option<u64>) -> Result<(), String> {
        self.saw(op.key(), old)?;
        self.set(op.key(), op.result());
        Ok(())
    }

    /// Somebody was told this value; it can no more be another one.
    fn saw(&mut self, key: u64, value: Option<u64>) -> Result<(), String> {
        let allowed = self.allows(key);
        if !allowed.contains(&value) {
            return Err(format!("key {key} has {value:?}, not one of {allowed:?}"));
        }
        self.set(key, value);
        Ok(())
    }

    /// Reads everything, in one of four ways.
    pub(crate) fn look<const I: usize, const L: usize>(
        &mut self,
        pool: &Opened<I, L>,
        universe: &Universe,
        way: u64,
    ) -> Result<(), String> {
        let keys = universe.keys();
        match way {
            0 => {
                for &key in keys {
                    let value = guarded(|| pool.tree.get(key)).map_err(text)?;
                    self.saw(key, value).map_err(|e| format!("get: {e}"))?;
                }
            }
            1 => {
                let values = guarded(|| pool.tree.get_many(keys)).map_err(text)?;
                for (&key, value) in keys.iter().zip(values) {
                    self.saw(key, value).map_err(|e| format!("get_many: {e}"))?;
                }
            }
            _ => {
                let (up, way) = if way == 2 { (true, "up") } else { (false, "down") };
                let mut entries = pool.scan(up)?;
                if !up {
                    entries.reverse();
                }
                if !entries.is_sorted_by_key(|entry| entry.0) {
                    return Err(format!("scan {way} out of order: {entries:?}"));
                }
                let found: BTreeMap<u64, u64> = entries.iter().copied().collect();
                if found.len() != entries.len() {
                    return Err(format!("scan {way} gives a key twice: {entries:?}"));
                }
                let mut all: Vec<u64> = found.keys().chain(keys).copied().collect();
                all.extend(self.sure.keys());
                for key in all {
                    self.saw(key, found.get(&key).copied())
                        .map_err(|e| format!("scan {way}: {e}"))?;
                }
            }
        }
        Ok(())
    }

    /// Reads everything in every way, and walks the tree.
    pub(crate) fn check<const I: usize, const L: usize>(
        &mut self,
        pool: &Opened<I, L>,
        universe: &Universe,
    ) -> Result<(), String> {
        for way in 0..4 {
            self.look(pool, universe, way)?;
        }
        let mut nodes = Vec::new();
        let survey = guarded(|| pool.tree.survey(&mut |at, _| nodes.push(at))).map_err(text)?;
        nodes.sort_unstable();
        if nodes.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("a node in two places".to_owned());
        }
        if survey.entries != self.sure.len() as u64 {
            return Err(format!("{survey:?} for {} entries", self.sure.len()));
        }
        Ok(())
    }
}
