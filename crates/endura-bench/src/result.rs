//! What every measurement leaves behind: one serialisable type for suites, papers, counts and floors,
//! which tables, the report and the comparison of two runs all read.
//!
//! A [`Results`] is what one command measured; a [`Measurement`] is one quantity of one store in one
//! setting, round by round. The format is JSON (`serde`); [`FORMAT`] changes when a reader must.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::summary::{Latency, Median};
use crate::{Error, Result};

/// The version of the format that this build writes and reads.
pub const FORMAT: u32 = 1;

/// The unit of exact counts: two runs of the same code must agree on them.
pub const EXACT_UNIT: &str = "per operation";

/// Everything that one command measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// The version of endura.
    pub version: String,
    /// The command line.
    pub command: String,
    /// Where it ran.
    pub machine: Machine,
    /// Where the random numbers began.
    pub seed: u64,
    /// The stores that ran, each once.
    pub stores: Vec<StoreInfo>,
    /// What was measured, in the order of measuring.
    pub measurements: Vec<Measurement>,
}

/// The machine of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// Hardware threads that this process may use.
    pub threads: usize,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// The kernel's name and release.
    pub kernel: String,
}

/// A store that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreInfo {
    /// The name that measurements have.
    pub name: String,
    /// Whose it is.
    pub role: Role,
    /// What a write that returned survives.
    pub promise: Promise,
    /// The settings that matter for a comparison, in a sentence.
    pub setting: String,
}

/// Whose a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// An index of endura.
    Ours,
    /// A store that people would use instead.
    Peer,
    /// A map in DRAM: what a persistent one can hope for.
    VolatileBound,
}

/// What a write that returned survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// Nothing.
    Volatile,
    /// SIGKILL of the process.
    Sigkill,
    /// It promises SIGKILL, and lost acknowledged operations under `endura bench kills`.
    Broken,
}

/// One quantity of one store in one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What it belongs to: `ycsb`, `tpcc`, `sweep scan`, `FAST & FAIR fig 8(c)`.
    pub suite: String,
    /// The workload or operation within it: `A zipfian 0.99`, `W1`, `insert`.
    pub workload: String,
    /// The store's name, as in [`StoreInfo`].
    pub store: String,
    /// Threads at work.
    pub threads: usize,
    /// Entries in the store when the measurement began; of a load, those that it inserts.
    pub entries: u64,
    /// What was varied, if this is a point of a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<Parameter>,
    /// What was measured: `throughput`, `space`, `reopen time`, `line flushes`.
    pub quantity: String,
    /// Its unit: `Mop/s`, `B/key`, `ms`, `per operation`.
    pub unit: String,
    /// Which way is good.
    pub better: Better,
    /// The quantity in each round.
    pub rounds: Vec<f64>,
    /// Which rounds ran on a core that somebody else used as well; none are named where none did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<bool>,
    /// Median and spread of `rounds`.
    #[serde(flatten)]
    pub median: Median,
    /// Latencies of all rounds together, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<Latency>,
}

/// What a measurement is of: suite, workload, store, threads, entries, point of a sweep, quantity.
pub type Key<'a> = (&'a str, &'a str, &'a str, usize, u64, Option<(&'a str, u64)>, &'a str);

/// A point of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// What was varied: `scan length`, `entries`, `skew`, `read latency`.
    pub name: String,
    /// Its unit, empty if it has none.
    pub unit: String,
    /// Where this point lies.
    pub value: f64,
}

/// Which way is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Throughput.
    Higher,
    /// Time, space, counts.
    Lower,
}

impl Measurement {
    /// A quantity of `store`, not part of a sweep, with median and spread of `rounds`.
    pub fn new(suite: &str, workload: &str, store: &str, quantity: Quantity) -> Self {
        let Quantity { name, unit, better, rounds } = quantity;
        Self {
            suite: suite.into(),
            workload: workload.into(),
            store: store.into(),
            threads: 1,
            entries: 0,
            parameter: None,
            quantity: name.into(),
            unit: unit.into(),
            better,
            median: Median::of(rounds.clone()),
            rounds,
            shared: Vec::new(),
            latency_ns: None,
        }
    }

    /// What two runs must agree on for their measurements to be of the same thing.
    pub fn key(&self) -> Key<'_> {
        let parameter = self.parameter.as_ref().map(|p| (p.name.as_str(), p.value.to_bits()));
        let (suite, workload, store) = (&self.suite, &self.workload, &self.store);
        (suite, workload, store, self.threads, self.entries, parameter, &self.quantity)
    }
}

/// What was measured and how to read it.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// See [`Measurement::quantity`].
    pub name: &'static str,
    /// See [`Measurement::unit`].
    pub unit: &'static str,
    /// See [`Measurement::better`].
    pub better: Better,
    /// See [`Measurement::rounds`].
    pub rounds: Vec<f64>,
}

impl Quantity {
    /// Million operations per second, as [`Timing::mops`](crate::workload::Timing::mops) has it; higher is
    /// better.
    pub fn throughput(rounds: Vec<f64>) -> Self {
        Self { name: "throughput", unit: "Mop/s", better: Better::Higher, rounds }
    }

    /// A quantity of which less is better.
    pub fn cost(name: &'static str, unit: &'static str, rounds: Vec<f64>) -> Self {
        Self { name, unit, better: Better::Lower, rounds }
    }
}

impl Results {
    /// Nothing yet, of this machine and build.
    pub fn new(command: String, seed: u64) -> Self {
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            command,
            machine: Machine::this(),
            seed,
            stores: Vec::new(),
            measurements: Vec::new(),
        }
    }

    /// Adds what another command of the same machine measured. A store that is known stays as it is.
    pub fn merge(&mut self, other: Self) {
        for store in other.stores {
            if !self.stores.iter().any(|known| known.name == store.name) {
                self.stores.push(store);
            }
        }
        self.measurements.extend(other.measurements);
    }

    /// How many rounds ran on a core that somebody else used as well, of how many that were timed.
    pub fn shared_rounds(&self) -> (u64, u64) {
        let timed = || self.measurements.iter().filter(|m| m.quantity == "throughput");
        let shared = timed().flat_map(|m| &m.shared).filter(|&&shared| shared).count();
        (shared as u64, timed().map(|m| m.rounds.len() as u64).sum())
    }

    /// Reads a file of JSON.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if it cannot be read or is not such a file, [`Error::Config`] if its
    /// [`FORMAT`] is another.
    pub fn read(path: &Path) -> Result<Self> {
        let failure =
            |source| Error::Io { doing: format!("cannot read {}", path.display()), source };
        let text = std::fs::read(path).map_err(failure)?;
        let results: Self =
            serde_json::from_slice(&text).map_err(|error| failure(io::Error::from(error)))?;
        if results.format != FORMAT {
            return Err(Error::Config("the file is of another version of the results' format"));
        }
        Ok(results)
    }

    /// Writes a file of JSON.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let failure =
            |source| Error::Io { doing: format!("cannot write {}", path.display()), source };
        let text =
            serde_json::to_vec_pretty(self).map_err(|error| failure(io::Error::from(error)))?;
        std::fs::write(path, text).map_err(failure)
    }
}

impl Machine {
    /// What Linux says of this one; what it does not say stays empty.
    pub fn this() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_string())
        };
        let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
        let kib: u64 = memory.trim_end_matches(" kB").parse().unwrap_or(0);
        Self {
            processor: field(&read("/proc/cpuinfo"), "model name").unwrap_or_default(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: kib * 1024,
            kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Results {
        let mut results = Results::new("endura bench ycsb".into(), 7);
        let rounds = Quantity::throughput(vec![1.0, 3.0, 2.0]);
        let mut measurement = Measurement::new("ycsb", "A", "fast-fair", rounds);
        measurement.parameter =
            Some(Parameter { name: "skew".into(), unit: String::new(), value: 0.99 });
        results.measurements.push(measurement);
        results
    }

    #[test]
    fn a_file_gives_back_what_was_written() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (path, results) = (dir.path().join("results.json"), results());
        results.write(&path).expect("a file");
        let read = Results::read(&path).expect("the same file");
        assert_eq!(read, results);
        assert_eq!(read.measurements[0].median.median, 2.0);
        assert!(read.machine.threads > 0 && read.machine.memory_bytes > 0);
    }

    #[test]
    fn another_format_is_refused() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("results.json");
        Results { format: FORMAT + 1, ..results() }.write(&path).expect("a file");
        assert!(matches!(Results::read(&path), Err(Error::Config(_))));
        std::fs::write(&path, "{").expect("a file");
        assert!(matches!(Results::read(&path), Err(Error::Io { .. })));
    }

    #[test]
    fn a_merge_keeps_each_store_once() {
        let store = |setting: &str| StoreInfo {
            name: "LMDB".into(),
            role: Role::Peer,
            promise: Promise::Sigkill,
            setting: setting.into(),
        };
        let (mut a, mut b) = (results(), results());
        a.stores.push(store("first"));
        b.stores.push(store("second"));
        a.merge(b);
        assert_eq!((a.stores.len(), a.measurements.len()), (1, 2));
        assert_eq!(a.stores[0].setting, "first");
    }
}
