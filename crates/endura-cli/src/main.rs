//! The `endura` command: look into pools, fill them, check them, torture them, measure them.
//!
//! One module per command; what they share stands below them: [`outcome`] (exit codes),
//! [`pool_args`] (which pool, opened how), [`entries`] and [`datum`] (maps of numbers and of byte
//! strings, as one), [`format`] (files of entries), [`text`] and [`escape`] (numbers, tables and bytes
//! for people), [`ledger`] and [`child`] (a process that is killed, and what it had been told).

#![forbid(unsafe_code)]

mod bench;
mod check;
mod child;
mod datum;
mod del;
mod demo;
mod entries;
mod escape;
mod explore;
mod export;
mod format;
mod get;
mod import;
mod info;
mod ledger;
mod outcome;
mod pool_args;
mod progress;
mod put;
mod scan;
mod text;
mod torture;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use outcome::Result;

const EXAMPLES: &str = "\
A pool is a file that holds named maps: of numbers (fast-fair, nbtree) or of byte strings (roart).
What --map does not name is the map `main`. Examples:
  endura put data.endura 7 42 && endura get data.endura 7
  endura put data.endura user:1 Ada --map people --kind roart
  endura scan data.endura --map people --prefix user: --json
  endura import data.endura people.csv --map people
  mdb_dump some.lmdb | endura import data.endura --map old --kind roart
`endura help import` tells of formats, and of how bytes that are no text are written.";

/// A persistent ordered map that you open instead of load.
#[derive(Parser)]
#[command(name = "endura", version, after_help = format!("{EXAMPLES}\n\n{}", outcome::EXIT_CODES))]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Load a million keys, kill the loader in the middle, and look for every one of them
    Demo(demo::Args),
    /// Show what is in a pool and what it takes up
    Info(info::Args),
    /// Verify every node and every byte of bookkeeping of a pool
    Check(check::Args),
    /// Print the value of a key; exit code 1 if it is absent
    Get(get::Args),
    /// Store a value under a key; makes the pool and the map if need be
    Put(put::Args),
    /// Remove a key; exit code 1 if it was absent
    Del(del::Args),
    /// Print the entries of a range of keys, or those of a prefix
    Scan(scan::Args),
    /// Read entries from a file: TSV, CSV, JSON lines, or what LMDB's mdb_dump writes
    Import(import::Args),
    /// Write all entries to a file, in the same formats
    Export(export::Args),
    /// Kill a writer at random moments, again and again, and verify what it leaves
    Torture(torture::Args),
    /// Crash an index in every way the hardware allows, for as long as there is time
    Explore(explore::Args),
    /// Measure endura's indexes beside other stores
    Bench(Box<bench::Args>),
    #[command(hide = true)]
    DemoWriter(demo::WriterArgs),
    #[command(hide = true)]
    TortureWriter(torture::WriterArgs),
    #[command(hide = true)]
    BenchLoader(bench::LoaderArgs),
}

impl Command {
    fn run(&self) -> Result {
        match self {
            Self::Demo(args) => demo::run(args),
            Self::Info(args) => info::run(args),
            Self::Check(args) => check::run(args),
            Self::Get(args) => get::run(args),
            Self::Put(args) => put::run(args),
            Self::Del(args) => del::run(args),
            Self::Scan(args) => scan::run(args),
            Self::Import(args) => import::run(args),
            Self::Export(args) => export::run(args),
            Self::Torture(args) => torture::run(args),
            Self::Explore(args) => explore::run(args),
            Self::Bench(args) => bench::run(args),
            Self::DemoWriter(args) => demo::write(args),
            Self::TortureWriter(args) => torture::write(args),
            Self::BenchLoader(args) => bench::load(args),
        }
    }
}

fn main() -> ExitCode {
    outcome::exit(Cli::parse().command.run())
}
