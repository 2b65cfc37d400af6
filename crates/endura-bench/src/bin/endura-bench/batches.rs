//! `endura bench batches`: several changes at once.

use std::io::{Write, stdout};

use endura_bench::figures::Median;
use endura_bench::probes::batches::{Figures, Plan, SIZES, measure};
use endura_console::outcome::{Answer, Result};
use endura_console::progress;
use endura_console::text::{Table, bold, grouped, parse_number};
use serde_json::json;

use crate::args::flags;

const ABOUT: &str = "\
A cell has the nanoseconds of one entry, of the thread's own processor time, and behind them how many times as long that is as
one entry by itself in the same store and round: medians of the rounds; --json has their spreads too. Keys and values are
words. \"beside\" is how many times as long a single entry takes beside a thread that commits a batch each millisecond;
\"two threads\" how many batches of ten two of them commit, by the clock, in the time in which one commits one.";

#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub(crate) struct Args {
    /// How many entries are loaded
    #[arg(long, value_parser = parse_number, default_value = "2_000_000")]
    entries: u64,
    /// How many entries are then stored in each way
    #[arg(long, value_parser = parse_number, default_value = "100_000")]
    stored: u64,
    /// Write back and fence every store, as on persistent memory whose caches are lost with the power: ours alone
    #[arg(long)]
    adr: bool,
    /// How often everything is repeated; medians are shown
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    #[command(flatten)]
    dir: flags::Dir,
    #[command(flatten)]
    json: flags::Json,
}

pub(crate) fn run(args: &Args) -> Result {
    let plan = Plan { entries: args.entries, stored: args.stored as usize, is_adr: args.adr };
    let (spinner, mut turn) = (progress::spinner(), 0);
    let figures = measure(plan, &args.dir.path(), args.rounds, |contestant| {
        turn += 1;
        spinner.set_message(format!("turn {turn}: {}", contestant.name()));
    })?;
    spinner.finish_and_clear();
    if args.json.json {
        writeln!(stdout(), "{}", json!({ "sizes": SIZES, "measured": figures }))?;
    } else {
        write(plan, &figures)?;
    }
    Ok(Answer::Yes)
}

fn write(plan: Plan, figures: &[Figures]) -> Result<()> {
    let out = &mut stdout().lock();
    writeln!(out, "{}", bold(&format!("{} entries", grouped(plan.entries))))?;
    let mut header = vec![String::new()];
    for keys in ["present", "new"] {
        header.extend(SIZES.map(|size| format!("{keys}, {}", grouped(size as u64))));
    }
    header.extend(["beside", "two threads"].map(String::from));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = Table::new(1, &header);
    for of in figures {
        let cell = |(nanos, ratio): (&Median, &Median)| {
            format!("{:.0} ({:.2})", nanos.median, ratio.median)
        };
        let present = of.present.iter().zip(&of.present_ratios).map(cell);
        let new = of.new.iter().zip(&of.new_ratios).map(cell);
        let beside = of.beside.map_or(String::new(), |beside| format!("{:.2}", beside.median));
        let threads = format!("{:.2}", of.two_threads.median);
        let name = of.contestant.name().to_string();
        table.row([name].into_iter().chain(present).chain(new).chain([beside, threads]));
    }
    Ok(table.write(out)?)
}
