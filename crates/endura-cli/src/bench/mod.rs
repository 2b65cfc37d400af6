//! `endura bench`: endura's indexes beside other stores, in one process run.
//!
//! Without a subcommand it measures the plain operations of one index beside one peer ([`plain`]).
//! Each suite makes a [`Results`](endura_bench::result::Results), which is printed as tables or as
//! JSON; [`compare`] reads two of them.

mod after_kill;
mod compare;
mod contenders;
mod floor;
mod goals;
mod instructions;
mod kills;
mod mixes;
mod paper;
mod pibench;
mod place;
mod plain;
mod print;
mod reopen;
mod report;
mod suite_args;
mod sweep;
mod table;
mod tpcc;
mod ycsb;

use clap::Subcommand;

use crate::outcome::Result;

pub(crate) use after_kill::{LoaderArgs, load};
pub(crate) use contenders::contender;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    suite: Option<Suite>,
    #[command(flatten)]
    plain: plain::Args,
}

#[derive(Subcommand)]
enum Suite {
    /// The core workloads of YCSB, A to F
    Ycsb(ycsb::Args),
    /// The mixes of the FAST & FAIR, NBTree and ROART papers
    Mixes(mixes::Args),
    /// TPC-C's transactions on eleven maps, in FAST & FAIR's four mixes
    Tpcc(tpcc::Args),
    /// One thing varied: length of scans, size, threads, skew, share of writes
    Sweep(sweep::Args),
    /// Any mix of operations, with the parameters of PiBench
    #[command(visible_alias = "mix")]
    Pibench(pibench::Args),
    /// The figures of the papers, rerun row by row; exit code 1 if a claim does not hold
    Paper(paper::Args),
    /// One page with everything: workloads, counts, the papers, where endura is behind
    Report(report::Args),
    /// What the hardware takes for the least that an index can do; is emulated memory as slow as set?
    Floor(floor::Args),
    /// What we have set ourselves: how fast each index is to be beside a peer; exit code 1 if it is not
    Goals(goals::Args),
    /// Instructions of each operation of our indexes, counted one by one
    Instructions(instructions::Args),
    #[command(hide = true)]
    InstructionsChild(instructions::ChildArgs),
    /// How long a store takes to answer again after SIGKILL
    Reopen(after_kill::Args),
    /// Two runs side by side; exit code 1 if something became worse
    Compare(compare::Args),
}

pub(crate) fn run(args: &Args) -> Result {
    match &args.suite {
        None => plain::run(&args.plain),
        Some(Suite::Ycsb(args)) => ycsb::run(args),
        Some(Suite::Mixes(args)) => mixes::run(args),
        Some(Suite::Tpcc(args)) => tpcc::run(args),
        Some(Suite::Sweep(args)) => sweep::run(args),
        Some(Suite::Pibench(args)) => pibench::run(args),
        Some(Suite::Paper(args)) => paper::run(args),
        Some(Suite::Report(args)) => report::run(args),
        Some(Suite::Floor(args)) => floor::run(args),
        Some(Suite::Goals(args)) => goals::run(args),
        Some(Suite::Instructions(args)) => instructions::run(args),
        Some(Suite::InstructionsChild(args)) => instructions::work_stepwise(args),
        Some(Suite::Reopen(args)) => after_kill::run(args),
        Some(Suite::Compare(args)) => compare::run(args),
    }
}
