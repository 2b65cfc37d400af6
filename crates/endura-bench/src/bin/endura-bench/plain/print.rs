//! The figures as tables of at most 80 columns.

use std::io::Write;

use endura_bench::figures::Median;
use endura_bench::head_to_head::{Config, ENDURA, Figure, Outcome, figures};
use endura_bench::probes::counts::PerOperation;

use crate::table::{neighbours, short, spread};
use endura_console::outcome::Result;
use endura_console::text::{Table, bold, bytes, counted, grouped};

pub(crate) fn write(out: &mut dyn Write, config: &Config, outcome: &Outcome) -> Result<()> {
    let (keys, dir) = (grouped(config.sizes.keys), config.dir.display());
    let rounds = counted(config.rounds.into(), "round");
    writeln!(
        out,
        "{keys} uniform keys of {} bytes, values of {} bytes, in {dir}; medians of {rounds}",
        config.shape.key_bytes, config.shape.value_bytes
    )?;
    for (store, settings) in &outcome.settings {
        writeln!(out, "  {store}: {settings}")?;
    }
    let shared = outcome.samples.iter().filter(|sample| sample.shared).count();
    neighbours(out, shared as u64, outcome.samples.len() as u64)?;
    let all = figures(outcome);
    let peer = outcome.settings.iter().map(|&(store, _)| store).find(|&store| store != ENDURA);
    let peer = peer.unwrap_or("-");
    let with = |threads| all.iter().filter(move |figure| figure.threads == threads).collect();
    for &threads in &config.threads {
        let figures: Vec<_> = with(threads);
        let (measure, table) = match threads {
            1 => ("CPU second", throughput(&figures, peer)),
            _ => ("second of wall time", wall_throughput(&figures, peer)),
        };
        let threads = counted(threads as u64, "thread");
        let title = format!("{threads}: million operations per {measure}");
        writeln!(out, "\n{}", bold(&title))?;
        table.write(out)?;
    }
    for &threads in &config.threads {
        let threads_text = counted(threads as u64, "thread");
        let title = format!("{threads_text}: latency in ns (get_many: 16 keys, scan: 100 entries)");
        writeln!(out, "\n{}", bold(&title))?;
        latencies(&with(threads), peer).write(out)?;
    }
    writeln!(out, "\n{}", bold("Space after the load"))?;
    space(outcome).write(out)?;
    Ok(())
}

/// Exact counts.
pub(crate) fn write_counts(out: &mut dyn Write, keys: u64, rows: &[PerOperation]) -> Result<()> {
    writeln!(out, "{} uniform keys, one thread, exact averages per operation", grouped(keys))?;
    let header = ["on ADR", "flushes", "fences", "lines w", "lines r", "stores", "loads", "chunks"];
    let mut table = Table::new(1, &header);
    for row in rows {
        let (lines, words) = ([row.lines_written, row.lines_read], [row.stores, row.loads]);
        let numbers =
            [row.line_flushes, row.fences, lines[0], lines[1], words[0], words[1], row.allocations];
        let numbers = numbers.map(|number| format!("{number:.2}"));
        table.row([row.operation.to_string()].into_iter().chain(numbers));
    }
    Ok(table.write(out)?)
}

fn of<'a>(figures: &[&'a Figure], like: &Figure, store: &str) -> Option<&'a Figure> {
    figures.iter().find(|f| f.operation == like.operation && f.store == store).copied()
}

fn number(median: Median) -> String {
    format!("{:.3}", median.median)
}

fn ratio(median: Option<Median>) -> [String; 2] {
    match median {
        Some(ratio) => [format!("{:.2}x", ratio.median), spread(ratio)],
        None => ["-".into(), String::new()],
    }
}

/// CPU throughput of both, their ratio, endura's wall throughput.
fn throughput(figures: &[&Figure], peer: &str) -> Table {
    let header = ["", ENDURA, "+-", peer, "+-", "ratio", "+-", "wall"];
    let mut table = Table::new(1, &header);
    for ours in figures.iter().filter(|figure| figure.store == ENDURA) {
        let mut row = vec![ours.operation.name().to_string()];
        row.extend([number(ours.mops_cpu), spread(ours.mops_cpu)]);
        let theirs = of(figures, ours, peer).map(|theirs| theirs.mops_cpu);
        row.extend([theirs.map_or("-".into(), number), theirs.map_or("".into(), spread)]);
        row.extend(ratio(ours.ratio_to_peer));
        row.push(number(ours.mops_wall));
        table.row(row);
    }
    table
}

/// Wall throughput of both, their ratio, and how much faster each is than with fewer threads.
fn wall_throughput(figures: &[&Figure], peer: &str) -> Table {
    let header = ["", ENDURA, "+-", "speedup", peer, "+-", "speedup", "ratio", "+-"];
    let mut table = Table::new(1, &header);
    let cells = |figure: Option<&Figure>| match figure {
        Some(figure) => {
            let speedup = figure.speedup.map_or("-".into(), |speedup| format!("{speedup:.2}x"));
            [number(figure.mops_wall), spread(figure.mops_wall), speedup]
        }
        None => ["-", "", ""].map(str::to_string),
    };
    for ours in figures.iter().filter(|figure| figure.store == ENDURA) {
        let mut row = vec![ours.operation.name().to_string()];
        row.extend(cells(Some(ours)));
        row.extend(cells(of(figures, ours, peer)));
        row.extend(ratio(ours.wall_ratio_to_peer));
        table.row(row);
    }
    table
}

fn latencies(figures: &[&Figure], peer: &str) -> Table {
    let mut table =
        Table::new(1, &["latency", ENDURA, "p99", "p99.9", "max", peer, "p99", "p99.9", "max"]);
    let cells = |figure: Option<&Figure>| match figure {
        Some(figure) => {
            let l = figure.latency_ns;
            [l.p50, l.p99, l.p999, l.max].map(short)
        }
        None => ["-", "-", "-", "-"].map(str::to_string),
    };
    for ours in figures.iter().filter(|figure| figure.store == ENDURA) {
        let name = [ours.operation.name().to_string()];
        let theirs = cells(of(figures, ours, peer));
        table.row(name.into_iter().chain(cells(Some(ours))).chain(theirs));
    }
    table
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
