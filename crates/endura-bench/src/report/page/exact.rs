//! Counts, instructions, the floor of the hardware, and the emulator's chase.

use super::html::{escape, grid, table};
use crate::figures::grouped;
use crate::probes::counts::PerOperation;
use crate::probes::floor::RECORD_BYTES;
use crate::probes::instructions::InstructionCounts;
use crate::report::charts::Look;
use crate::report::contents::{BenchReport, CountTable};
use crate::results::plotting::{costs, exact, groups, series};

pub(super) fn counts(report: &BenchReport) -> String {
    let adr: Vec<&CountTable> =
        report.counts.iter().filter(|table| table.domain == "ADR").collect();
    let operations: Vec<String> = adr
        .first()
        .map_or(Vec::new(), |table| table.rows.iter().map(|row| row.operation.into()).collect());
    let plot = |title: &str, quantity: &str, pick: fn(&PerOperation) -> f64| {
        let of = |table: &&CountTable| {
            let rows = table.rows.iter().enumerate();
            series(&table.index, rows.map(|(x, row)| (x as f64, exact(pick(row)))))
        };
        let bars = adr.iter().map(of).collect();
        costs(title, groups(operations.clone()), quantity, "per operation", bars)
    };
    let plots = [
        plot("Lines flushed, ADR", "line flushes", |row| row.line_flushes),
        plot("Fences, ADR", "fences", |row| row.fences),
        plot("Lines written, ADR", "lines written", |row| row.lines_written),
        plot("Lines read", "lines read", |row| row.lines_read),
    ];
    format!(
        "<p>One thread, keys in a fixed order: counted, not timed, and the same on every run. On eADR only the fence at \
         the end of an operation is left, on the page cache none.</p>{}<details><summary>all counts, every index and \
         medium</summary>{}</details>{}{}",
        grid(&plots, Look::default()),
        all(&report.counts),
        instructions(&report.instructions),
        floor(report)
    )
}

fn all(tables: &[CountTable]) -> String {
    let head = [
        "index",
        "~medium",
        "~operation",
        "flushes",
        "fences",
        "lines written",
        "lines read",
        "stores",
        "loads",
        "chunks",
    ];
    let rows = tables.iter().flat_map(|table| {
        table.rows.iter().map(|row| {
            let figures = [
                row.line_flushes,
                row.fences,
                row.lines_written,
                row.lines_read,
                row.stores,
                row.loads,
                row.allocations,
            ];
            let mut cells =
                vec![table.index.clone(), table.domain.clone(), row.operation.to_string()];
            cells.extend(figures.map(|figure| format!("{figure:.3}")));
            cells
        })
    });
    table(&head, &rows.collect::<Vec<_>>())
}

fn instructions(counter: &InstructionCounts) -> String {
    let (sizes, counts) = match counter {
        InstructionCounts::None(why) => {
            return format!("<h3>Instructions</h3><p>Not counted: {}.</p>", escape(why));
        }
        InstructionCounts::Stepped { extent, counts } => (extent, counts),
    };
    let (mut indexes, mut operations): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for count in counts {
        if !indexes.contains(&count.index) {
            indexes.push(count.index.clone());
        }
        if !operations.contains(&count.operation) {
            operations.push(count.operation.clone());
        }
    }
    let place = |name: &str| operations.iter().position(|one| one == name).unwrap_or(0) as f64;
    let of = |index: &String| {
        let of = counts.iter().filter(|count| count.index == *index);
        series(index, of.map(|count| (place(&count.operation), exact(count.count))))
    };
    let bars = indexes.iter().map(of).collect();
    let across = groups(operations.clone());
    let plot = costs("Instructions", across, "instructions", "per operation", bars);
    format!(
        "<h3>Instructions</h3><p>Counted one by one, the library's call included: {} operations of each kind on {} \
         keys.</p>{}",
        grouped(sizes.operations),
        grouped(sizes.keys),
        grid(&[plot], Look::default())
    )
}

fn floor(report: &BenchReport) -> String {
    let floor = &report.floor;
    let (ahead, record) = floor.best_record();
    let all = [
        ("dependent load", floor.dependent_load_ns),
        ("durable store", floor.durable_store_ns),
        ("next line", floor.sequential_line_ns),
        ("next record", record),
    ];
    let points = all.iter().enumerate().map(|(x, &(_, ns))| (x as f64, ns));
    let bars = vec![series("hardware", points)];
    let plot = costs("The floor", groups(all.map(|(name, _)| name)), "time", "ns", bars);
    format!(
        "<h3>The floor</h3><p>What the hardware takes for the least that an index can do, over {} MiB in this run: a \
         lookup in a tree of that size waits for at least one dependent load of a random line per level that no cache \
         holds; a durable write for at least one store to a random line with its write-back and fence; a scan takes at \
         least the next line of a pass over all per line, and where records of {} bytes lie at random places the next \
         record, best asked for {ahead} ahead here.</p>{}",
        grouped(floor.bytes >> 20),
        RECORD_BYTES,
        grid(&[plot], Look::default())
    )
}

pub(super) fn chases(report: &BenchReport) -> String {
    let off = |ns: f64, set: u64| format!("{:+.1} %", (ns / set as f64 - 1.0) * 100.0);
    let rows: Vec<Vec<String>> = report
        .chases
        .iter()
        .map(|chase| {
            let within = (chase.wall_ns.median / chase.set_ns as f64 - 1.0).abs() <= 0.10;
            vec![
                format!("{} ns", chase.set_ns),
                format!("{:.0} ns ±{:.0}%", chase.wall_ns.median, chase.wall_ns.spread_percent),
                off(chase.wall_ns.median, chase.set_ns),
                format!("{:.0} ns", chase.charged_ns),
                off(chase.charged_ns, chase.set_ns),
                if within { "yes" } else { "no: the machine was busy, or its clock is coarse" }
                    .into(),
            ]
        })
        .collect();
    let head = ["set", "by the clock", "off", "charged", "off", "~within 10 %"];
    format!(
        "<p>A chase of pointers through lines of which the emulated cache holds a sixteenth: each step must take the \
         latency that was set. By the clock, the model's own work and whatever else ran on the machine included; and \
         as the model charges it, which is the same on every run.</p>{}",
        table(&head, &rows)
    )
}
