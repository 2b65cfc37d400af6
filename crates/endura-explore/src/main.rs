//! The program `endura-explore`, which `endura explore` starts: random histories of small trees, crashed at every moment in every way that a
//! persistency model allows, until the time is up or something is found.

#![forbid(unsafe_code)]

mod campaign;
mod fault;
mod report;

use std::io::{Write, stdout};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use endura_sim::model;

use campaign::{Campaign, Sum};
use endura_console::outcome::{Answer, Result, exit};
use endura_console::progress;
use endura_console::text::grouped;
use report::Report;

const EXIT_CODES: &str = "\
Exit codes:
  0  nothing was found
  1  something was found
  2  usage error
  3  it did not work";

/// Crashes an index in every way the hardware allows, for as long as there is time.
#[derive(Parser)]
#[command(name = "endura-explore", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// What is crashed
    #[arg(value_enum, default_value_t = Index::FastFair)]
    index: Index,
    /// After so many seconds no further operation is crashed
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// What the hardware promises of the order in which stores become durable
    #[arg(long, value_enum, default_value_t = Model::WeakestAdr)]
    model: Model,
    /// Threads that explore
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=64))]
    threads: u64,
    /// The number of the first history; that of a failure finds it again [default: random]
    #[arg(long)]
    seed: Option<u64>,
    /// Leave this call out of the program (`tree/fast_fair/write.rs:12:34`): to see that it is missed.
    /// A place where there is none tells which there are
    #[arg(long, value_name = "PLACE")]
    without: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What can be explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Index {
    /// FAST & FAIR trees of three to eight entries a node
    FastFair,
    /// NBTrees of three to seven slots a block
    #[value(name = "nbtree", alias = "nb-tree")]
    NbTree,
}

/// The persistency models as arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Model {
    /// The least that any machine promises: order within a line after Release only
    WeakestAdr,
    /// x86: order within a line, and fences in atomic exchanges
    X86Adr,
    /// Persistent caches behind a store buffer that is lost
    Eadr,
    /// The end of the process, which the page cache survives
    PageCache,
}

impl From<Model> for model::Model {
    fn from(model: Model) -> Self {
        match model {
            Model::WeakestAdr => Self::WEAKEST_ADR,
            Model::X86Adr => Self::X86_ADR,
            Model::Eadr => Self::EADR,
            Model::PageCache => Self::PAGE_CACHE,
        }
    }
}

/// How an argument is written.
fn name(of: &impl ValueEnum) -> String {
    of.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn run(args: &Args) -> Result {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1 << 32));
    let mutant =
        args.without.as_deref().map(|place| fault::without(args.index, place)).transpose()?;
    let budget = Duration::from_secs(args.seconds);
    let campaign = Campaign::new(args.index, args.model.into(), mutant, seed, budget);
    let bar = progress::time_bar(budget);
    let sum = campaign.run(args.threads as usize, &|sum: &Sum, passed| {
        bar.set_position(passed.as_millis() as u64);
        bar.set_message(progress_text(sum, passed));
    });
    bar.finish_and_clear();
    let report = Report { args, seed, sum };
    if args.json {
        writeln!(stdout(), "{}", report.json())?;
    } else {
        report.write(&mut stdout().lock())?;
    }
    Ok(Answer::yes_if(report.is_sound()))
}

fn main() -> ExitCode {
    exit("endura-explore", run(&Args::parse()))
}

fn progress_text(sum: &Sum, passed: Duration) -> String {
    let rate = sum.tally.images as f64 / passed.as_secs_f64().max(1e-3);
    let (histories, states) = (grouped(sum.histories), grouped(sum.tally.images));
    format!("{histories} histories, {states} states, {}/s", grouped(rate as u64))
}
