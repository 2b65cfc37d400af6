//! The program `endura-disk`: a machine with a disk that loses what was not flushed. It starts a small Linux under qemu whose disk
//! is served by this program, lets a load write to a pool on it, kills the machine at any moment, has the disk lose a random
//! part of what it was not told to keep, and starts the machine again: is the pool what it was at its last checkpoint?
//!
//! [`nbd`] serves [`disk`] to qemu, [`host`] runs the machine and judges what it says ([`lines`]), [`guest`] is the load in it.
//! `.ci/disk` makes the machine.

#![forbid(unsafe_code)]

mod disk;
mod guest;
mod host;
mod lines;
mod nbd;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use endura_console::outcome::{arguments, exit};

const EXIT_CODES: &str = "\
Exit codes:
  0  nothing was lost
  1  something was lost
  2  usage error
  3  it did not work";

/// Cuts the power of a machine with a pool on an ordinary disk.
#[derive(Parser)]
#[command(name = "endura-disk", version, after_help = EXIT_CODES)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start the machine and cut its power, again and again
    Cut(host::CutArgs),
    /// The load, which runs in the machine
    #[command(hide = true)]
    Load(guest::LoadArgs),
}

fn main() -> ExitCode {
    match arguments::<Args>("endura-disk").map(|args| args.command) {
        Ok(Command::Cut(args)) => exit("endura-disk", host::run(&args)),
        Ok(Command::Load(args)) => exit("endura-disk", guest::run(&args)),
        Err(code) => code,
    }
}
