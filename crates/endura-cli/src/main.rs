//! The `endura` command: inspects pools, fills them, checks them, tortures them.
//!
//! | folder | what lives there |
//! | --- | --- |
//! | [`values`] | keys and values as text |
//! | [`format`] | files of entries |
//! | [`pool`] | the pool of a command, how it is opened, and what a failing command removes |
//! | [`commands`] | a file for each command, except for the next two |
//! | [`demo`], [`torture`] | the commands of these names |
//! | [`help`] | the groups of commands, and their examples |
//! | [`words`] | the library's errors in the words of the command |
//!
//! This crate may use `endura_console`, which has what the lab's programs need too (exit codes, texts, children and
//! their ledgers), the public API of `endura`, and `endura::dynamic`. Only the demo of a power loss and the age of a
//! checkpoint reach deeper, by `endura_engine`. [`hand_over`] starts the lab's programs. There is no `unsafe`.
//!
//! | after a change of | run |
//! | --- | --- |
//! | anything here | `cargo test -p endura-cli` |
//! | how a key or a value is written | `cargo test -p endura-cli --bin endura values`; `cargo test -p endura-tests --test map dynamic` |
//! | `demo` | `cargo run --release -- demo`; `cargo run --release -- demo --power-loss` |
//! | `torture` | `cargo run --release -- torture --rounds 20`, for each `--kind` |

#![forbid(unsafe_code)]
// These panic if the line cannot be written: use `outcome::tell`, and `writeln!` to standard output.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;
mod demo;
mod format;
mod hand_over;
mod help;
mod pool;
mod torture;
mod values;
mod words;

use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{CommandFactory, Parser, Subcommand};
use commands::copies::{backup, checkpoint, compact, restore};
use commands::entries::{batch, del, export, get, import, put, scan};
use commands::pools::{check, count, drop, info, rename};
use commands::shell;
use endura_console::interrupt;
use endura_console::outcome::{Result, arguments_of, exit_with};

const ABOUT: &str = "\
A pool is a file of named maps. Each map has one type of keys and one of values: those of its first entry, or of \
--keys and --values. A command that writes takes the map `main` if --map names no other one; a command that reads \
takes `main` as well, or else the only map of the pool. `endura help import` describes formats, types and escapes.

explore and bench are separate programs, endura-explore and endura-bench: build and install them as this one.

Exit codes:
  0  success
  1  negative result: the key is absent, a condition of a batch is not met, check found damage, a demo or torture run \
lost a key
  2  usage error
  3  failure: the pool cannot be opened, the disk is full, a line of the input is wrong, entries are missing, standard \
output takes nothing. Nothing new is left behind; what `import` and `check --accept` did to an existing pool stays

Examples:
  endura put data.endura user:1 Ada
  endura get data.endura user:1
  endura import data.endura people.csv --map people
  endura help put";

/// The version of the program, and of the files that it reads and writes.
static VERSION: LazyLock<String> =
    LazyLock::new(|| format!("{} (file format {})", env!("CARGO_PKG_VERSION"), endura::FORMAT));

/// A persistent ordered map that you open instead of load.
#[derive(Parser)]
#[command(name = "endura", version = VERSION.as_str(), max_term_width = help::WIDEST, after_help = ABOUT)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Load a million keys, kill the loader in the middle, and look for every one of them
    Demo(demo::Args),
    /// Show the maps of a pool, its sizes and its warnings
    Info(info::Args),
    /// Verify every node of a pool, and all its metadata
    Check(check::Args),
    /// Print the value of a key; exit code 1 if it is absent
    Get(get::Args),
    /// Store a value under a key; creates the pool and the map if they are missing
    Put(put::Args),
    /// Remove a key; exit code 1 if it was absent
    Del(del::Args),
    /// Change entries of several maps at once, all or nothing; exit code 1 if a condition is not met
    Batch(batch::Args),
    /// Print the entries of a range of keys, or those of a prefix
    Scan(scan::Args),
    /// Read entries from a file: TSV, CSV, JSON lines, or what LMDB's mdb_dump writes
    Import(import::Args),
    /// Write all entries to a file, in the same formats
    Export(export::Args),
    /// Print the number of entries of each map; recounts them after an unclean end
    Count(count::Args),
    /// Remove a map and all its entries
    Drop(drop::Args),
    /// Give a map another name
    Rename(rename::Args),
    /// Make a checkpoint of a pool now: the state to which a power loss takes it back
    Checkpoint(checkpoint::Args),
    /// Take a pool back to its last checkpoint
    Restore(restore::Args),
    /// Copy a pool; of one that is in use, its last checkpoint
    Backup(backup::Args),
    /// Copy all maps into a new pool, without what is free in the old one
    Compact(compact::Args),
    /// Kill a writer at random moments, again and again, and verify what it leaves
    Torture(torture::Args),
    /// Print the script that completes arguments in a shell
    Completions(shell::Args),
    /// Print the manual page
    Man,
    /// Crash an index in every way that the hardware allows: the separate program `endura-explore`
    #[command(disable_help_flag = true)]
    Explore(hand_over::Args),
    /// Measure endura's indexes beside other stores: the separate program `endura-bench`
    #[command(disable_help_flag = true)]
    Bench(hand_over::Args),
    #[command(hide = true)]
    DemoWriter(demo::WriterArgs),
    #[command(hide = true)]
    DemoPowerWriter(demo::PowerWriterArgs),
    #[command(hide = true)]
    TortureWriter(torture::WriterArgs),
}

impl Command {
    /// Whether failures are reported as JSON too.
    fn wants_json(&self) -> bool {
        match self {
            Self::Info(args) => args.json,
            Self::Check(args) => args.json,
            Self::Get(args) => args.json,
            Self::Put(args) => args.json,
            Self::Del(args) => args.json,
            Self::Batch(args) => args.json,
            Self::Scan(args) => args.json,
            Self::Import(args) => args.json,
            Self::Count(args) => args.json,
            Self::Checkpoint(args) => args.json,
            Self::Restore(args) => args.json,
            Self::Backup(args) => args.json,
            Self::Compact(args) => args.json,
            Self::Torture(args) => args.json,
            Self::Demo(_) | Self::Export(_) | Self::Drop(_) | Self::Rename(_) => false,
            Self::Completions(_) | Self::Man | Self::Explore(_) | Self::Bench(_) => false,
            Self::DemoWriter(_) | Self::DemoPowerWriter(_) | Self::TortureWriter(_) => false,
        }
    }

    fn run(&self) -> Result {
        match self {
            Self::Demo(args) => demo::run(args),
            Self::Info(args) => info::run(args),
            Self::Check(args) => check::run(args),
            Self::Get(args) => get::run(args),
            Self::Put(args) => put::run(args),
            Self::Del(args) => del::run(args),
            Self::Batch(args) => batch::run(args),
            Self::Scan(args) => scan::run(args),
            Self::Import(args) => import::run(args),
            Self::Export(args) => export::run(args),
            Self::Count(args) => count::run(args),
            Self::Drop(args) => drop::run(args),
            Self::Rename(args) => rename::run(args),
            Self::Checkpoint(args) => checkpoint::run(args),
            Self::Restore(args) => restore::run(args),
            Self::Backup(args) => backup::run(args),
            Self::Compact(args) => compact::run(args),
            Self::Torture(args) => torture::run(args),
            Self::Completions(args) => shell::completions(args, help::dressed(Cli::command())),
            Self::Man => shell::manual(help::dressed(Cli::command())),
            Self::Explore(args) => hand_over::run("endura-explore", args),
            Self::Bench(args) => hand_over::run("endura-bench", args),
            Self::DemoWriter(args) => demo::write(args),
            Self::DemoPowerWriter(args) => demo::write_and_lose_power(args),
            Self::TortureWriter(args) => torture::write(args),
        }
    }
}

fn main() -> ExitCode {
    interrupt::watch();
    match arguments_of::<Cli>("endura", help::dressed(Cli::command())) {
        Ok(Cli { command }) => {
            exit_with("endura", command.run().map_err(words::own), command.wants_json())
        }
        Err(code) => code,
    }
}
