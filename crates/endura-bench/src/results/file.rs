//! What one command measured, and the file that keeps it.
//!
//! The format is JSON (`serde`); [`FORMAT`] changes when a reader must.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use super::measurement::Measurement;
use super::store_info::StoreInfo;
use crate::{Error, Result};

/// The version of the format that this build writes and reads.
pub const FORMAT: u32 = 1;

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
    pub fn write(&self, path: &Path) -> Result<()> {
        let failure =
            |source| Error::Io { doing: format!("cannot write {}", path.display()), source };
        let text =
            serde_json::to_vec_pretty(self).map_err(|error| failure(io::Error::from(error)))?;
        std::fs::write(path, text).map_err(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Parameter, Promise, Quantity, Role};

    fn results() -> Results {
        let mut results = Results::new("endura bench ycsb".into(), 7);
        let rounds = Quantity::throughput(vec![1.0, 3.0, 2.0]);
        let mut measurement = Measurement::new("ycsb", "A", "FastFair", rounds);
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
