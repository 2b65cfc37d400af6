//! The command, used as by somebody who wants to break it: nothing is destroyed or left half done, and every
//! refusal says what to do.
//!
//! | module | what it tries |
//! | --- | --- |
//! | [`columns`] | terminals of 60, 80 and 100 columns |
//! | [`counts`] | numbers of entries after `kill -9` |
//! | [`export`] | targets that are pools, pipes, devices, links; interrupted exports |
//! | [`hand_over`] | `bench` and `explore`, which are other programs |
//! | [`help`] | the examples of all pages of help |
//! | [`input`] | numbers, marks and names that are almost right |
//! | [`left_over`] | every command, with each kind of failure: what remains in the folder and in the pool |
//! | [`less`] | damage that hides entries, by every command that reads all of a pool |
//! | [`maps`] | maps that nobody asked for; dropping, renaming |
//! | [`neighbours`] | files that are not endura's: beside a pool, and where a command writes |
//! | [`numbers`] | numbers that a type does not hold, types guessed from one line, NaNs |
//! | [`output`] | standard output and standard error that take nothing |
//! | [`system`] | what the system may not give: `/proc`, files of any size |
//! | [`texts`] | what people read |
//! | [`unknown`] | maps of a newer build |
//! | [`waiting`] | several processes that want one pool |

#![allow(clippy::expect_used, reason = "a test fails by a panic")]

mod columns;
mod counts;
mod export;
mod hand_over;
mod help;
mod input;
mod left_over;
mod less;
mod maps;
mod neighbours;
mod numbers;
mod output;
#[path = "../support/mod.rs"]
mod support;
mod system;
mod texts;
mod unknown;
mod waiting;
