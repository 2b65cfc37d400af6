//! The figures as tables of at most 80 columns.

use std::io::Write;

use endura_bench::counts::PerOperation;
use endura_bench::run::{Config, Outcome};
use endura_bench::store::{EnduraStore, Lmdb, Store};
use endura_bench::summary::{Figure, Median, figures};

use crate::outcome::Result;
use crate::text::{Table, bold, bytes, counted, grouped};

const ENDURA: &str = EnduraStore::NAME;
const LMDB: &str = Lmdb::NAME;

pub(crate) fn write(out: &mut dyn Write, config: &Config, outcome: &Outcome) -> Result<()> {
    let (keys, dir) = (grouped(config.sizes.keys), config.dir.display());
    let rounds = counted(config.rounds.into(), "round");
    writeln!(
        out,
        "{keys} uniform keys of 8 bytes, values of 8 bytes, in {dir}; medians of {rounds}"
    )?;
    for (store, settings) in &outcome.settings {
        writeln!(out, "  {store}: {settings}")?;
    }
    let all = figures(outcome);
    for &threads in &config.threads {
        let figures: Vec<_> = all.iter().filter(|figure| figure.threads == threads).collect();
        let title = format!("{}: million operations per second", counted(threads as u64, "thread"));
        writeln!(out, "\n{}", bold(&title))?;
        throughput(&figures, config.threads.len() > 1).write(out)?;
    }
    for &threads in &config.threads {
        let figures: Vec<_> = all.iter().filter(|figure| figure.threads == threads).collect();
        let title =
            format!("{}: nanoseconds, every 64th operation", counted(threads as u64, "thread"));
        writeln!(out, "\n{}", bold(&title))?;
        latencies(&figures).write(out)?;
    }
    writeln!(out, "\n{}", bold("Space after the load"))?;
    space(outcome).write(out)?;
    Ok(())
}

/// Exact counts.
pub(crate) fn write_counts(out: &mut dyn Write, keys: u64, rows: &[PerOperation]) -> Result<()> {
    writeln!(out, "{} uniform keys, one thread, exact averages per operation", grouped(keys))?;
    let mut table =
        Table::new(1, &["on persistent memory (ADR)", "line flushes", "fences", "stores", "loads"]);
    for row in rows {
        let numbers = [row.line_flushes, row.fences, row.stores, row.loads];
        let numbers = numbers.map(|number| format!("{number:.2}"));
        table.row([row.operation.to_string()].into_iter().chain(numbers));
    }
    Ok(table.write(out)?)
}

fn of<'a>(figures: &[&'a Figure], like: &Figure, store: &str) -> Option<&'a Figure> {
    figures.iter().find(|f| f.operation == like.operation && f.store == store).copied()
}

fn spread(median: Median) -> String {
    format!("{:.0}%", median.spread_percent)
}

/// CPU throughput of both, their ratio, endura's wall throughput.
fn throughput(figures: &[&Figure], several: bool) -> Table {
    let mut header = vec!["per CPU second", ENDURA, "+-", LMDB, "+-", "ratio", "+-", "wall"];
    if several {
        header.push("speedup");
    }
    let mut table = Table::new(1, &header);
    let number = |median: Median| format!("{:.3}", median.median);
    for ours in figures.iter().filter(|figure| figure.store == ENDURA) {
        let mut row = vec![ours.operation.name().to_string()];
        row.extend([number(ours.mops_cpu), spread(ours.mops_cpu)]);
        match of(figures, ours, LMDB) {
            Some(theirs) => row.extend([number(theirs.mops_cpu), spread(theirs.mops_cpu)]),
            None => row.extend(["-".into(), String::new()]),
        }
        match ours.ratio_to_lmdb {
            Some(ratio) => row.extend([format!("{:.2}x", ratio.median), spread(ratio)]),
            None => row.extend(["-".into(), String::new()]),
        }
        row.push(number(ours.mops_wall));
        if let Some(speedup) = ours.speedup {
            row.push(format!("{speedup:.2}x"));
        }
        table.row(row);
    }
    table
}

fn latencies(figures: &[&Figure]) -> Table {
    let mut table =
        Table::new(1, &["latency", ENDURA, "p99", "p99.9", "max", LMDB, "p99", "p99.9", "max"]);
    let cells = |figure: Option<&Figure>| match figure {
        Some(figure) => {
            let l = figure.latency_ns;
            [l.p50, l.p99, l.p999, l.max].map(short)
        }
        None => ["-", "-", "-", "-"].map(str::to_string),
    };
    for ours in figures.iter().filter(|figure| figure.store == ENDURA) {
        let name = [ours.operation.name().to_string()];
        let theirs = cells(of(figures, ours, LMDB));
        table.row(name.into_iter().chain(cells(Some(ours))).chain(theirs));
    }
    table
}

/// Nanoseconds in at most six characters.
fn short(nanos: u64) -> String {
    match nanos {
        0..10_000 => nanos.to_string(),
        10_000..10_000_000 => format!("{}us", nanos / 1000),
        _ => format!("{}ms", nanos / 1_000_000),
    }
}

fn space(outcome: &Outcome) -> Table {
    let mut table = Table::new(1, &["store", "pages in use", "per key", "file", "per key"]);
    for space in &outcome.space {
        let per_key = |n: u64| format!("{:.1} B", n as f64 / space.keys as f64);
        let (used, file) = (space.footprint.used_bytes, space.footprint.file_bytes);
        table.row([
            space.store.to_string(),
            bytes(used),
            per_key(used),
            bytes(file),
            per_key(file),
        ]);
    }
    table
}
