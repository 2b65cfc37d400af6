//! `endura bench which`: which index for which keys and values.

use std::io::{Write, stdout};

use endura_bench::figures::Median;
use endura_bench::probes::which::{Case, Figures, KeySet, Medium, OPERATIONS, measure};
use endura_console::outcome::{Answer, Result};
use endura_console::progress;
use endura_console::text::{Table, bold, grouped, parse_number};
use serde_json::json;

use crate::args::{flags, one_of};
use crate::stranger;

const ABOUT: &str = "\
A cell has the nanoseconds of one operation, of the thread's own processor time, and behind them how many times as fast that
is as the first row: medians of the rounds; --json has their spreads too. Scans read every key and every value: \"lent\" ones
are looked at by a closure, \"owned\" ones are kept, \"down\" goes towards smaller keys, \"prefix\" shows keys that begin alike.";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    /// Sets of keys
    #[arg(long, value_parser = one_of(KeySet::ALL, KeySet::name), value_delimiter = ',',
        default_values = KeySet::ALL.map(KeySet::name))]
    keys: Vec<KeySet>,
    /// Bytes of a value
    #[arg(long, value_delimiter = ',', default_value = "100",
        value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    values: Vec<u32>,
    /// How many entries are loaded
    #[arg(long, value_parser = parse_number, value_delimiter = ',', default_value = "100000")]
    entries: Vec<u64>,
    /// What the pools lie on
    #[arg(long, value_parser = one_of(Medium::ALL, Medium::name), value_delimiter = ',',
        default_value = "page-cache")]
    media: Vec<Medium>,
    /// How often everything is repeated; medians are shown
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Measure with a program outside of this repository, in Cargo's default release profile
    #[arg(long)]
    stranger: bool,
    #[command(flatten)]
    dir: flags::Dir,
    #[command(flatten)]
    json: flags::Json,
}

pub(crate) fn run(args: &Args) -> Result {
    if args.stranger {
        let others = std::env::args_os().skip(1).filter(|argument| argument != "--stranger");
        return stranger::build_and_run(&stranger::generate(None)?, others);
    }
    let mut all = Vec::new();
    for &medium in &args.media {
        for &entries in &args.entries {
            for &value_bytes in &args.values {
                let cases = args.keys.iter().map(|&set| Case {
                    set,
                    value_bytes: value_bytes as usize,
                    entries,
                    medium,
                });
                all.extend(cases);
            }
        }
    }
    let spinner = progress::spinner();
    let (mut measured, count) = (Vec::new(), all.len());
    for (at, case) in all.into_iter().enumerate() {
        let figures = measure(case, &args.dir.path(), args.rounds, |candidate| {
            let case = title(case);
            spinner.set_message(format!("{} of {count}: {}, {case}", at + 1, candidate.name()));
        })?;
        if !args.json.json {
            spinner.suspend(|| write(case, &figures))?;
        }
        measured.push(json!({ "case": case, "figures": figures }));
    }
    spinner.finish_and_clear();
    if args.json.json {
        writeln!(stdout(), "{}", json!({ "operations": OPERATIONS, "measured": measured }))?;
    }
    Ok(Answer::Yes)
}

fn title(case: Case) -> String {
    let Case { set, value_bytes, entries, medium } = case;
    let (set, medium, entries) = (set.name(), medium.name(), grouped(entries));
    format!("{set}, values of {value_bytes} bytes, {entries} entries, {medium}")
}

fn write(case: Case, figures: &[Figures]) -> Result<()> {
    let out = &mut stdout().lock();
    writeln!(out, "{}", bold(&title(case)))?;
    let mut header = vec![""];
    header.extend(OPERATIONS);
    header.extend(["B in use", "in the file"]);
    let mut table = Table::new(1, &header);
    for (row, figures) in figures.iter().enumerate() {
        let cell = |(nanos, ratio): (&Median, &Median)| match row {
            0 => format!("{:.0}", nanos.median),
            _ => format!("{:.0} ({:.2})", nanos.median, ratio.median),
        };
        let cells = figures.nanos.iter().zip(&figures.ratios).map(cell);
        let bytes = [figures.used_bytes, figures.file_bytes].map(|bytes| format!("{bytes:.0}"));
        table.row([figures.candidate.name().to_string()].into_iter().chain(cells).chain(bytes));
    }
    table.write(out)?;
    Ok(writeln!(out)?)
}
