//! The program `endura-bench`, which `endura bench` starts: endura's indexes beside other stores, in one
//! process run.
//!
//! Without a subcommand it measures the plain operations of one index beside one peer ([`plain`]).
//! Each suite makes a [`Results`](endura_bench::results::Results), which is printed as tables or as
//! JSON; [`compare`] reads two of them.

#![forbid(unsafe_code)]

mod args;
mod batches;
mod checkpoints;
mod compare;
mod floor;
mod goals;
mod instructions;
mod kill;
mod paper;
mod plain;
mod readme;
mod report;
mod stranger;
mod suites;
mod table;
mod which;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use endura_console::outcome::{Result, arguments, exit};
use suites::{after_kill, mixes, pibench, sweep, tpcc, ycsb};

const EXIT_CODES: &str = "\
Exit codes:
  0  it worked, and the answer is yes
  1  the answer is no: a claim does not hold, a store lost a key, something became slower
  2  usage error
  3  it did not work: no space for the files, a store that is not in this build";

/// Measures endura's indexes beside other stores.
#[derive(Parser)]
#[command(name = "endura-bench", version, after_help = EXIT_CODES)]
#[command(args_conflicts_with_subcommands = true)]
struct Cli {
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
    /// The tables of the README, measured by a program in the default profile
    Readme(readme::Args),
    /// What the hardware takes for the least that an index can do; is emulated memory as slow as set?
    Floor(floor::Args),
    /// What we have set ourselves: how fast each index is to be beside a peer; exit code 1 if it is not
    Goals(goals::Args),
    /// Instructions of each operation of our indexes, counted one by one
    Instructions(instructions::Args),
    /// Which index for which keys and values: every operation on words, names, addresses and paths, beside LMDB
    Which(which::Args),
    /// Several changes at once: batches of ten and of a thousand, beside the same changes one by one, and other stores
    Batches(batches::Args),
    /// Time from SIGKILL to the first successful lookup
    Reopen(after_kill::Args),
    /// Kill writers at random moments, and look for what the store had acknowledged
    Kills(kill::Args),
    /// What checkpoints cost on a disk: holds, the longest update, throughput, the way back after a power loss
    Checkpoints(checkpoints::Args),
    /// Two runs side by side; exit code 1 if something became worse
    Compare(compare::Args),
    #[command(hide = true)]
    InstructionsChild(instructions::ChildArgs),
    #[command(hide = true)]
    Loader(kill::LoaderArgs),
    #[command(hide = true)]
    KillsWriter(kill::WriterArgs),
}

fn run(cli: &Cli) -> Result {
    match &cli.suite {
        None => plain::run(&cli.plain),
        Some(Suite::Ycsb(args)) => ycsb::run(args),
        Some(Suite::Mixes(args)) => mixes::run(args),
        Some(Suite::Tpcc(args)) => tpcc::run(args),
        Some(Suite::Sweep(args)) => sweep::run(args),
        Some(Suite::Pibench(args)) => pibench::run(args),
        Some(Suite::Paper(args)) => paper::run(args),
        Some(Suite::Report(args)) => report::run(args),
        Some(Suite::Readme(args)) => readme::run(args),
        Some(Suite::Floor(args)) => floor::run(args),
        Some(Suite::Goals(args)) => goals::run(args),
        Some(Suite::Instructions(args)) => instructions::run(args),
        Some(Suite::Which(args)) => which::run(args),
        Some(Suite::Batches(args)) => batches::run(args),
        Some(Suite::Reopen(args)) => after_kill::run(args),
        Some(Suite::Kills(args)) => kill::run(args),
        Some(Suite::Checkpoints(args)) => checkpoints::run(args),
        Some(Suite::Compare(args)) => compare::run(args),
        Some(Suite::InstructionsChild(args)) => instructions::work_stepwise(args),
        Some(Suite::Loader(args)) => kill::load(args),
        Some(Suite::KillsWriter(args)) => kill::write(args),
    }
}

fn main() -> ExitCode {
    endura_console::interrupt::limit_files_by_errors();
    match arguments::<Cli>("endura-bench") {
        Ok(cli) => exit("endura-bench", run(&cli)),
        Err(code) => code,
    }
}
