//! `endura bench paper`: the papers, row by row.

use std::io::{Write, stdout};
use std::path::PathBuf;

use endura_bench::paper::{PaperRow, PaperScale, Rerun, Verdict, rows};
use endura_bench::results::Results;

use crate::args::flags::{self, command_line};
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::progress;
use endura_console::text::{bold, parse_number, verdict};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only rows whose name has this in it, for example `nbtree` or `fig 6`
    #[arg(long)]
    only: Vec<String>,
    /// Small scales: seconds a row
    #[arg(long)]
    quick: bool,
    /// Keys that are loaded [default: 1000000, 100000 with --quick]
    #[arg(short = 'n', long, value_parser = parse_number)]
    keys: Option<u64>,
    /// Operations of a point [default: 300000, 50000 with --quick]
    #[arg(short = 'p', long, value_parser = parse_number)]
    operations: Option<u64>,
    /// Numbers of threads in sweeps [default: 1,2,4,8, up to 4 with --quick]
    #[arg(short, long, value_delimiter = ',')]
    threads: Vec<usize>,
    /// How often a time is measured; medians are shown
    #[arg(long)]
    rounds: Option<u32>,
    /// List the rows
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    dir: flags::Dir,
    #[command(flatten)]
    json: flags::Json,
    /// Write the figures as `bench compare` reads them to this file as well
    #[arg(long)]
    out: Option<PathBuf>,
}

impl Args {
    fn scale(&self) -> PaperScale {
        let dir = self.dir.path();
        let usual = if self.quick { PaperScale::quick(dir) } else { PaperScale::full(dir) };
        let threads =
            if self.threads.is_empty() { usual.threads.clone() } else { self.threads.clone() };
        PaperScale {
            keys: self.keys.unwrap_or(usual.keys),
            operations: self.operations.unwrap_or(usual.operations),
            rounds: self.rounds.unwrap_or(usual.rounds),
            threads,
            ..usual
        }
    }

    fn rows(&self) -> Result<Vec<&'static PaperRow>> {
        let is_wanted = |row: &&PaperRow| {
            let name = row.name().to_lowercase();
            self.only.is_empty() || self.only.iter().any(|part| name.contains(&part.to_lowercase()))
        };
        let rows: Vec<_> = rows().filter(is_wanted).collect();
        match rows.is_empty() {
            true => Err(Failure::Usage("no row has such a name: --list shows all".into())),
            false => Ok(rows),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result {
    let (rows, scale) = (args.rows()?, args.scale());
    if args.list {
        for row in rows {
            writeln!(stdout(), "{}: {}", row.name(), row.title)?;
        }
        return Ok(Answer::Yes);
    }
    let bar = progress::bar(rows.len() as u64, "rows");
    let (mut outcomes, mut results) = (Vec::new(), Results::new(command_line(), scale.seed));
    for row in rows {
        bar.set_message(row.name());
        let outcome = row.run(&scale)?;
        bar.inc(1);
        outcome.add_to(&mut results, &scale);
        if !args.json.json {
            bar.suspend(|| write(&outcome))?;
        }
        outcomes.push(outcome);
    }
    bar.finish_and_clear();
    if let Some(path) = &args.out {
        results.write(path)?;
    }
    if args.json.json {
        writeln!(stdout(), "{}", serde_json::to_string(&outcomes)?)?;
    }
    let fails = |outcome: &Rerun| matches!(outcome.verdict, Verdict::DoesNotHold | Verdict::Partly);
    Ok(Answer::yes_if(!outcomes.iter().any(fails)))
}

fn write(row: &Rerun) -> Result<()> {
    let out = &mut stdout().lock();
    let good = matches!(row.verdict, Verdict::Holds | Verdict::CannotTell);
    let name = bold(&format!("{} {}: {}", row.paper, row.figure, row.title));
    writeln!(out, "{name}  [{}]", verdict(row.verdict.text(), good))?;
    writeln!(out, "  paper: {}", row.claim)?;
    writeln!(out, "  here:  {}", row.finding.setup)?;
    for check in &row.finding.checks {
        let sign = match check.holds {
            Some(true) => "+",
            Some(false) => "-",
            None => "?",
        };
        writeln!(out, "  {sign} {}: {}", check.claim, check.ours)?;
        if !check.why.is_empty() {
            writeln!(out, "      why: {}", check.why)?;
        }
    }
    if !row.missing.is_empty() {
        writeln!(out, "  missing: {}", row.missing.join(", "))?;
    }
    Ok(writeln!(out)?)
}
