//! What is done with a store: a mix of actions, a choice of keys, a length of scans.

use serde::{Deserialize, Serialize};

use super::choice::Choice;
use crate::{Error, Result};

/// Keys that one [`Action::ReadMany`] looks up.
pub const BATCH: usize = 16;

/// What can be done with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Looks up a key that is there.
    Read,
    /// Looks up a key that is not there.
    Miss,
    /// Looks up [`BATCH`] keys that are there at once; counted in keys.
    ReadMany,
    /// Replaces the value of a key that is there.
    Update,
    /// Inserts a new key.
    Insert,
    /// Reads entries from a key that is there on; counted in scans.
    Scan,
    /// Reads the value of a key that is there, and replaces it.
    Modify,
    /// Removes the key that the thread inserted the longest ago.
    Remove,
}

/// In which order the actions come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Each drawn by itself.
    Drawn,
    /// As listed, each as often as its weight says, again and again.
    InTurn,
}

/// How many entries a scan reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanLength {
    /// Always so many.
    Fixed(u16),
    /// One to so many, all alike.
    UpTo(u16),
}

/// What is done with a store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The name in tables.
    pub name: String,
    /// The actions with their weights.
    pub mix: Vec<(Action, u32)>,
    /// In which order they come.
    pub order: Order,
    /// Which keys they fall on.
    pub choice: Choice,
    /// How many entries a scan reads.
    pub scan: ScanLength,
}

impl Workload {
    /// Actions drawn with these weights, on keys chosen uniformly, scans of 100 entries.
    pub fn new(name: impl Into<String>, mix: &[(Action, u32)]) -> Self {
        Self {
            name: name.into(),
            mix: mix.to_vec(),
            order: Order::Drawn,
            choice: Choice::Uniform,
            scan: ScanLength::Fixed(100),
        }
    }

    /// One action, over and over.
    pub fn only(name: impl Into<String>, action: Action) -> Self {
        Self::new(name, &[(action, 1)])
    }

    /// The insertion of all keys into an empty store, in random order.
    pub fn load() -> Self {
        Self::only("load", Action::Insert)
    }

    /// The same with another choice of keys.
    #[must_use]
    pub fn with_choice(self, choice: Choice) -> Self {
        Self { choice, ..self }
    }

    /// The same with another length of scans.
    #[must_use]
    pub fn with_scan(self, scan: ScanLength) -> Self {
        Self { scan, ..self }
    }

    /// Whether `action` occurs.
    pub fn has(&self, action: Action) -> bool {
        self.weight(action) > 0
    }

    /// The weight of an action.
    pub fn weight(&self, action: Action) -> u32 {
        self.mix.iter().filter(|&&(other, _)| other == action).map(|&(_, weight)| weight).sum()
    }

    /// Whether it can be run.
    pub fn check(&self) -> Result<()> {
        let sum: u64 = self.mix.iter().map(|&(_, weight)| u64::from(weight)).sum();
        if sum == 0 || sum > 1 << 20 {
            return Err(Error::Config("a workload has actions, of weights between 1 and 1048576"));
        }
        if matches!(self.scan, ScanLength::Fixed(0) | ScanLength::UpTo(0)) {
            return Err(Error::Config("a scan reads at least one entry"));
        }
        self.choice.check()
    }
}
