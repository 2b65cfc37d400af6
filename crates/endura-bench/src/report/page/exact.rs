//! Counts, instructions, the floor of the hardware, and the emulator's chase.

use super::html::{escape, grid, table};
use crate::figures::grouped;
use crate::probes::counts::PerOperation;
use crate::probes::floor::RECORD_BYTES;
use crate::probes::instructions::Counter;
use crate::report::charts::Look;
use crate::report::contents::{CountTable, Report};
use crate::results::{Across, Better, Plot, Point, Series};

fn bars(title: &str, unit: &str, quantity: &str, groups: Vec<String>, series: Vec<Series>) -> Plot {
    Plot {
        title: title.into(),
        across: Across::Groups(groups),
        quantity: quantity.into(),
        unit: unit.into(),
        better: Better::Lower,
        stacked: false,
        series,
    }
}

fn point(x: usize, y: f64, spread_percent: f64) -> Point {
    Point { x: x as f64, y, spread_percent }
}

pub(super) fn counts(report: &Report) -> String {
    let adr: Vec<&CountTable> =
        report.counts.iter().filter(|table| table.domain == "ADR").collect();
    let operations: Vec<String> = adr
        .first()
        .map_or(Vec::new(), |table| table.rows.iter().map(|row| row.operation.into()).collect());
    let plot = |title: &str, quantity: &str, pick: fn(&PerOperation) -> f64| {
        let series = adr.iter().map(|table| Series {
            name: table.index.clone(),
            points: table
                .rows
                .iter()
                .enumerate()
                .map(|(x, row)| point(x, pick(row), 0.0))
                .collect(),
        });
        bars(title, "per operation", quantity, operations.clone(), series.collect())
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

fn instructions(counter: &Counter) -> String {
    let (extent, counts) = match counter {
        Counter::None(why) => {
            return format!("<h3>Instructions</h3><p>Not counted: {}.</p>", escape(why));
        }
        Counter::Stepped { extent, counts } => (extent, counts),
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
    let series = indexes.iter().map(|index| {
        let of = counts.iter().filter(|count| count.index == *index);
        let place =
            |name: &str| operations.iter().position(|operation| operation == name).unwrap_or(0);
        Series {
            name: index.clone(),
            points: of.map(|count| point(place(&count.operation), count.count, 0.0)).collect(),
        }
    });
    let plot =
        bars("Instructions", "per operation", "instructions", operations.clone(), series.collect());
    format!(
        "<h3>Instructions</h3><p>Counted one by one, the library's call included: {} operations of each kind on {} \
         keys.</p>{}",
        grouped(extent.operations),
        grouped(extent.keys),
        grid(&[plot], Look::default())
    )
}

fn floor(report: &Report) -> String {
    let floor = &report.floor;
    let (ahead, record) = floor.best_record();
    let all = [
        ("dependent load", floor.dependent_load_ns),
        ("durable store", floor.durable_store_ns),
        ("next line", floor.sequential_line_ns),
        ("next record", record),
    ];
    let points =
        all.iter().enumerate().map(|(x, (_, ns))| point(x, ns.median, ns.spread_percent)).collect();
    let groups = all.iter().map(|(name, _)| name.to_string()).collect();
    let series = vec![Series { name: "hardware".into(), points }];
    let plot = bars("The floor", "ns", "time", groups, series);
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

pub(super) fn chases(report: &Report) -> String {
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
