//! The plain operations that are measured one by one, as workloads.

use super::{Action, BATCH, Choice, Workload, Zipf};

/// What is measured, in the order in which it is run: each finds what the ones before it left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Inserts all keys into the empty map, in random order.
    Load,
    /// Inserts further keys into the loaded map.
    Insert,
    /// Looks up keys that are there, uniformly.
    Get,
    /// Looks up keys that are not there.
    Miss,
    /// Looks up 16 keys that are there at a time; counted in keys.
    GetMany,
    /// Reads 100 entries from a random key on; counted in scans.
    Scan,
    /// Replaces values, uniformly.
    Update,
    /// Half lookups, half replacements, of keys chosen by a Zipf law of 0.99.
    Zipf,
    /// Removes keys, those first that were loaded first; after `Insert`, so that enough are there.
    Remove,
}

impl Operation {
    /// All of them, in order.
    pub const ALL: [Self; 9] = [
        Self::Load,
        Self::Insert,
        Self::Get,
        Self::Miss,
        Self::GetMany,
        Self::Scan,
        Self::Update,
        Self::Zipf,
        Self::Remove,
    ];

    /// What is done.
    pub fn workload(self) -> Workload {
        match self {
            Self::Load => Workload::load(),
            Self::Insert => Workload::only(self.name(), Action::Insert),
            Self::Get => Workload::only(self.name(), Action::Read),
            Self::Miss => Workload::only(self.name(), Action::Miss),
            Self::GetMany => Workload::only(self.name(), Action::ReadMany),
            Self::Scan => Workload::only(self.name(), Action::Scan),
            Self::Update => Workload::only(self.name(), Action::Update),
            Self::Zipf => {
                let halves = [(Action::Read, 1), (Action::Update, 1)];
                Workload::new(self.name(), &halves).with_choice(Choice::Zipf(Zipf::YCSB))
            }
            Self::Remove => Workload::only(self.name(), Action::Remove),
        }
    }

    /// The name on a command line.
    pub fn argument(self) -> &'static str {
        match self {
            Self::GetMany => "get-many",
            _ => self.name().split(' ').next().unwrap_or_default(),
        }
    }

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Insert => "insert",
            Self::Get => "get",
            Self::Miss => "miss",
            Self::GetMany => "get_many 16",
            Self::Scan => "scan 100",
            Self::Update => "update",
            Self::Zipf => "zipf 50/50",
            Self::Remove => "remove",
        }
    }
}

/// How much of everything.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Sizes {
    /// Keys that a load inserts.
    pub keys: u64,
    /// Operations of each kind but load and scan.
    pub operations: u64,
}

impl Sizes {
    /// How many operations of this kind are run, all threads together.
    pub fn of(self, operation: Operation) -> u64 {
        match operation {
            Operation::Load => self.keys,
            Operation::Scan => (self.operations / 10).max(1),
            Operation::GetMany => (self.operations / BATCH as u64).max(1) * BATCH as u64,
            _ => self.operations,
        }
    }
}
