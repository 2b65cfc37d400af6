//! `endura bench compare`: two runs side by side.

use std::io::{Write, stdout};
use std::path::PathBuf;

use endura_bench::results::Results;
use endura_bench::results::relative;
use endura_bench::results::{Change, Compared, Comparison, compare};

use crate::args::flags;
use crate::table::{label, number, spread};
use endura_console::outcome::{Answer, Failure, Result};
use endura_console::text::{Table, bold, counted, verdict};

const ABOUT: &str = "\
Both files are what a suite wrote with --json or --out. A change counts if it is greater than
--tolerance and than the spreads of both runs together; of an exact count, any change does. The ratio
says how much better the second run is: below 1 it is worse. Exit code 0 if nothing became worse, 1 if
something did.";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    /// The run before
    before: PathBuf,
    /// The run after
    after: PathBuf,
    /// Changes up to so many percent are noise
    #[arg(long, default_value_t = 10.0)]
    tolerance: f64,
    /// Compare how many times as good as the others ours are: for runs of two machines, or of a busy one
    #[arg(long)]
    ratios: bool,
    /// Show what stayed the same as well
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    json: flags::Json,
}

pub(crate) fn run(args: &Args) -> Result {
    let (mut before, mut after) = (Results::read(&args.before)?, Results::read(&args.after)?);
    if args.ratios {
        (before, after) = (relative(&before, false), relative(&after, false));
    }
    let comparison = compare(&before, &after, args.tolerance);
    if comparison.rows.is_empty() {
        return Err(Failure::Usage("the two runs have no measurement in common".into()));
    }
    let mut out = stdout().lock();
    if args.json.json {
        writeln!(out, "{}", serde_json::to_string(&comparison)?)?;
    } else {
        if before.machine != after.machine && !args.ratios {
            writeln!(
                out,
                "The runs are of different machines: only what --ratios compares says much."
            )?;
        }
        write(&mut out, &comparison, args.all)?;
    }
    Ok(Answer::yes_if(comparison.worse() == 0))
}

fn write(out: &mut dyn Write, comparison: &Comparison, all: bool) -> Result<()> {
    let shown = |row: &&Compared| all || row.verdict != Change::Same;
    let rows: Vec<&Compared> = comparison.rows.iter().filter(shown).collect();
    if !rows.is_empty() {
        let header = [
            "", "store", "threads", "quantity", "before", "+-", "after", "+-", "ratio", "noise", "",
        ];
        let mut table = Table::new(2, &header);
        rows.iter().for_each(|row| table.row(cells(row)));
        table.write(out)?;
        writeln!(out)?;
    }
    let count = |verdict| comparison.rows.iter().filter(|row| row.verdict == verdict).count();
    let (better, same) = (count(Change::Better), count(Change::Same));
    writeln!(
        out,
        "{} in common: {better} better, {same} the same within the noise.",
        counted(comparison.rows.len() as u64, "measurement")
    )?;
    if let Some([middle, most, all]) = comparison.changes_percent() {
        let text = format!("Half changed by at most {middle:.1} %, nine in ten by {most:.1} %");
        writeln!(out, "{text}, the farthest by {all:.1} %.")?;
    }
    if comparison.missing + comparison.new > 0 {
        let (missing, new) = (comparison.missing, comparison.new);
        writeln!(out, "Only in the run before: {missing}; only in the run after: {new}.")?;
    }
    let text = match comparison.worse() {
        0 => "Nothing became worse.".to_string(),
        worse => format!("{} became worse.", counted(worse as u64, "measurement")),
    };
    writeln!(out, "{}", bold(&verdict(&text, comparison.worse() == 0)))?;
    Ok(())
}

fn cells(row: &Compared) -> Vec<String> {
    let m = &row.measurement;
    let word = match row.verdict {
        Change::Better => "better",
        Change::Same => "",
        Change::Worse => "WORSE",
    };
    vec![
        format!("{}: {}", m.suite, label(m)),
        m.store.clone(),
        m.threads.to_string(),
        format!("{}, {}", m.quantity, m.unit),
        number(row.before.median),
        spread(row.before),
        number(m.median.median),
        spread(m.median),
        format!("{:.2}x", row.ratio),
        format!("{:.0}%", row.noise_percent),
        word.into(),
    ]
}
