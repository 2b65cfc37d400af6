//! What the programs `endura`, `endura-bench` and `endura-explore` share.
//!
//! [`outcome`] has the exit codes, [`args`] the arguments that more than one program takes, [`text`] and
//! [`progress`] numbers, tables and bars for people, [`interrupt`] what a signal does, [`child`] and [`ledger`] a process that is killed,
//! and what it had been told.

#![forbid(unsafe_code)]
// They panic where the line cannot be written: `outcome::tell`, and `writeln!` to standard output.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod args;
pub mod child;
pub mod interrupt;
pub mod ledger;
pub mod outcome;
pub mod progress;
pub mod text;
