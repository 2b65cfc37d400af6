//! One quantity of one store in one setting, round by round.

use serde::{Deserialize, Serialize};

use crate::figures::{Latency, Median, short, threads};

/// The unit of exact counts: two runs of the same code must agree on them.
pub const EXACT_UNIT: &str = "per operation";

/// The quantity of CPU time.
pub const CPU_TIME: &str = "cpu time";
/// The quantity of the time from the common start to the end of the last thread.
pub const WALL_TIME: &str = "wall time";
/// What one operation in a thousand takes longer than.
pub const TAIL: &str = "99.9th percentile";

/// One quantity of one store in one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What it belongs to: `ycsb`, `tpcc`, `sweep scan`, `FAST & FAIR fig 8(c)`.
    pub suite: String,
    /// The workload or operation within it: `A zipfian 0.99`, `W1`, `insert`.
    pub workload: String,
    /// The store's name, as in [`StoreInfo`](crate::results::StoreInfo).
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
pub type MeasurementKey<'a> =
    (&'a str, &'a str, &'a str, usize, u64, Option<(&'a str, u64)>, &'a str);

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

    /// What it is of but for the store, in a row: `ycsb: A zipfian 0.99 (throughput, 1 thread)`.
    pub(crate) fn place(&self) -> String {
        let at = self.parameter.as_ref().map_or(String::new(), |p| {
            format!(", {} {} {}", p.name, short(p.value), p.unit).trim_end().into()
        });
        let threads = threads(self.threads);
        format!("{}: {} ({}, {threads}{at})", self.suite, self.workload, self.quantity)
    }

    /// What two runs must agree on for their measurements to be of the same thing.
    pub fn key(&self) -> MeasurementKey<'_> {
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
