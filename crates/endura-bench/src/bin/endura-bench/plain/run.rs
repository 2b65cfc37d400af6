//! `endura bench` by itself: the plain operations of one index beside a peer, in one process run.

use std::io::{Write, stdout};

use endura_bench::probes::counts::{PerOperation, counts as count};
use endura_bench::results::{relative, speedups};
use endura_bench::suite::{self, Suite};
use endura_console::outcome::{Answer, Result};
use endura_console::progress;
use endura_console::text::{Table, grouped};
use endura_engine::cpu::vectors::Vectors;
use serde_json::json;

use super::args::Args;
use crate::suites::{show, with_progress};

pub(crate) fn run(args: &Args) -> Result {
    if args.counts {
        return counts(args);
    }
    let settings = args.settings()?;
    let mut by: Vec<Option<Vectors>> = args.vectors().into_iter().map(Some).collect();
    if by.is_empty() {
        by.push(None);
    }
    let suites = by.iter().map(|&vectors| args.suite(vectors)).collect::<Result<Vec<Suite>>>()?;
    let mut results = with_progress(settings.rounds, settings.seed, |results, observe| {
        by.iter().zip(&suites).try_for_each(|(vectors, suite)| {
            // Those that the arguments let through are there.
            vectors.inspect(|vectors| assert!(vectors.force(), "{vectors} can be forced"));
            suite::run(std::slice::from_ref(suite), &settings, results, observe)
        })
    })?;
    let (ratios, speedups) = (relative(&results, true), speedups(&results));
    results.measurements.extend(ratios.measurements.into_iter().chain(speedups));
    show(&results, args.json.json)
}

fn counts(args: &Args) -> Result {
    let counted = args.counted();
    let keys = counted.keys;
    let spinner = progress::spinner();
    let rows = count(counted);
    spinner.finish_and_clear();
    let rows = rows?;
    if args.json.json {
        writeln!(stdout(), "{}", json!({ "keys": keys, "per_operation": rows }))?;
    } else {
        write_counts(&mut stdout().lock(), keys, &rows)?;
    }
    Ok(Answer::Yes)
}

/// Exact counts.
fn write_counts(out: &mut dyn Write, keys: u64, rows: &[PerOperation]) -> Result<()> {
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
