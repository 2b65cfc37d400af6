//! What suites measured, as tables.

use std::io::Write;

use endura_bench::figures::Median;
use endura_bench::results::{Measurement, Promise, Results};

use endura_console::outcome::Result;
use endura_console::text::{Table, bold, counted, grouped};

/// Writes the machine, the stores with their settings, and a table for each suite, number of threads
/// and quantity.
pub(super) fn write(out: &mut dyn Write, results: &Results) -> Result<()> {
    let machine = &results.machine;
    let threads = counted(machine.threads as u64, "hardware thread");
    writeln!(out, "{}, {threads}, {}", machine.processor, machine.kernel)?;
    for store in &results.stores {
        writeln!(out, "  {}, {}: {}", store.name, promise(store.promise), store.setting)?;
    }
    let (shared, all) = results.shared_rounds();
    neighbours(out, shared, all)?;
    let mut groups: Vec<Group<'_>> = Vec::new();
    for measurement in &results.measurements {
        let group = Group::of(measurement);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    for group in groups {
        let of_group = results.measurements.iter().filter(|m| Group::of(m) == group);
        let of_group = side_by_side(of_group.collect());
        let threads = counted(group.threads as u64, "thread");
        let entries = grouped(group.entries);
        let title = format!("{}, {entries} entries, {threads}: {}", group.suite, group.quantity);
        writeln!(out, "\n{}", bold(&title))?;
        table(&of_group).write(out)?;
    }
    Ok(())
}

/// Says how many rounds had not a core for themselves.
pub(super) fn neighbours(out: &mut dyn Write, shared: u64, all: u64) -> Result<()> {
    if shared > 0 {
        let (shared, all) = (grouped(shared), grouped(all));
        writeln!(out, "  {shared} of {all} rounds beside a busy neighbour on the same core")?;
    }
    Ok(())
}

/// The stores of a workload one below the other, workloads and stores in the order in which they ran.
fn side_by_side(mut measurements: Vec<&Measurement>) -> Vec<&Measurement> {
    let order: Vec<String> = measurements.iter().map(|m| label(m)).collect();
    measurements.sort_by_cached_key(|m| order.iter().position(|other| *other == label(m)));
    measurements
}

/// What has a table of its own.
#[derive(PartialEq)]
struct Group<'a> {
    suite: &'a str,
    entries: u64,
    threads: usize,
    quantity: &'a str,
}

impl<'a> Group<'a> {
    fn of(measurement: &'a Measurement) -> Self {
        Self {
            suite: &measurement.suite,
            entries: measurement.entries,
            threads: measurement.threads,
            quantity: &measurement.quantity,
        }
    }
}

/// What a write that returned survives, in a word or two.
pub(super) fn promise(promise: Promise) -> &'static str {
    match promise {
        Promise::Volatile => "volatile",
        Promise::Sigkill => "survives SIGKILL",
        Promise::Broken => "LOSES what it acknowledged",
    }
}

fn table(measurements: &[&Measurement]) -> Table {
    let timed = measurements.iter().any(|m| m.latency_ns.is_some());
    let unit = measurements.first().map_or("", |m| m.unit.as_str());
    let mut header = vec!["", "store", unit, "+-"];
    if timed {
        header.extend(["p50", "p99", "p99.9", "p99.99", "max"]);
    }
    let mut table = Table::new(2, &header);
    for measurement in measurements {
        let mut row = vec![label(measurement), measurement.store.clone()];
        row.extend([number(measurement.median.median), spread(measurement.median)]);
        if let Some(l) = measurement.latency_ns {
            row.extend([l.p50, l.p99, l.p999, l.p9999, l.max].map(short));
        }
        table.row(row);
    }
    table
}

/// The workload, and where in a sweep it stands.
pub(super) fn label(measurement: &Measurement) -> String {
    match &measurement.parameter {
        Some(p) => {
            format!("{}, {} {}{}", measurement.workload, p.name, p.value, unit_of(&p.unit))
        }
        None => measurement.workload.clone(),
    }
}

fn unit_of(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" {unit}") }
}

/// Four digits that count.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        v if v == 0.0 || v >= 1000.0 => grouped(value as u64),
        v if v >= 100.0 => format!("{value:.1}"),
        v if v >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

pub(super) fn spread(median: Median) -> String {
    format!("{:.0}%", median.spread_percent)
}

/// Nanoseconds in at most six characters.
pub(super) fn short(nanos: u64) -> String {
    match nanos {
        0..10_000 => nanos.to_string(),
        10_000..10_000_000 => format!("{}us", nanos / 1000),
        _ => format!("{}ms", nanos / 1_000_000),
    }
}
