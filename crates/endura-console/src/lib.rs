//! The common parts of the programs `endura`, `endura-bench` and `endura-explore`.
//!
//! [`outcome`] has the exit codes, [`args`] the arguments that more than one program takes, [`text`] and [`progress`]
//! numbers, tables and bars for people, [`keys`] numbers that look random and are known. [`interrupt`] handles signals; [`child`] and [`ledger`] run a process that is
//! killed, and record what it had completed.

#![forbid(unsafe_code)]
// These panic if the line cannot be written: use `outcome::tell`, and `writeln!` to standard output.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod args;
pub mod child;
pub mod interrupt;
pub mod keys;
pub mod ledger;
pub mod outcome;
pub mod progress;
pub mod text;
