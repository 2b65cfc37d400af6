//! The common parts of the programs: `endura`, `endura-memcached`, `endura-bench`, `endura-explore` and `endura-disk`.
//!
//! | module | what lives there |
//! | --- | --- |
//! | [`text`], [`progress`] | numbers and tables for people, progress bars |
//! | [`outcome`] | the outcome of a command, exit codes, error messages |
//! | [`holder`] | the process that has a pool open |
//! | [`args`] | the arguments that more than one program takes |
//! | [`interrupt`] | signals, and the files that are deleted before one ends the process |
//! | [`child`], [`ledger`] | a child process that is killed, and the record of what it had completed |
//! | [`keys`] | keys that look random, and can be computed |
//!
//! This crate may use the public API of `endura`; only [`ledger`] reaches deeper, by `endura_engine`. There is no `unsafe`.
//!
//! After a change run `cargo test -p endura-console -p endura-cli`. After a change of [`child`] or [`ledger`] also run
//! `cargo run --release -- torture --rounds 20`.

#![forbid(unsafe_code)]
// These panic if the line cannot be written: use `outcome::tell`, and `writeln!` to standard output.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod args;
pub mod child;
pub mod holder;
pub mod interrupt;
pub mod keys;
pub mod ledger;
pub mod outcome;
pub mod progress;
pub mod text;
