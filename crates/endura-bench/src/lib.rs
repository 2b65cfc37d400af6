//! Measures endura beside its peers: the same operations, the same keys, one process run.
//!
//! A run has rounds. In each round every store is created empty and all operations are run on it, the stores
//! taking turns (A, B, then B, A in the next round), so that a machine that warms up or slows down does so for
//! all of them. What is reported is the median over the rounds, with the spread beside it.
//!
//! Every answer is checked while it is measured: a get that should have found a key and did not
//! ends the run with [`Error::Wrong`].
//!
//! Each module uses only those above it:
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`keys`] | which number is the i-th key |
//! | [`figures`] | medians, percentiles, clocks, figures as text |
//! | [`results`] | what a run leaves behind, as JSON, and two of them side by side; plots before they are drawn |
//! | [`store`] | what is measured: the [`Store`](store::Store) trait, endura, its peers |
//! | [`workload`] | mixes of actions on chosen keys: YCSB's, the papers', any |
//! | [`tpcc`] | TPC-C's transactions as operations on ordered maps |
//! | [`contender`] | who takes part, and an open store of whatever type |
//! | [`suite`] | workloads on many stores, threads, rounds: what `endura bench ycsb` runs |
//! | [`experiment`] | any index over any medium, and mixed work on it |
//! | [`probes`] | exact counts of flushes and instructions, the floor of the hardware, a crash, checkpoints |
//! | [`paper`] | the figures of the papers, rerun row by row |
//! | [`goals`] | how fast an index is to be beside a peer, and whether it is |
//! | [`report`] | one page that tells all |
//! | [`readme`] | the tables of the README |

#![deny(unsafe_code)]

pub mod contender;
pub mod experiment;
pub mod figures;
pub mod goals;
pub use endura_console::keys;
pub mod paper;
pub mod probes;
pub mod readme;
pub mod report;
pub mod results;
pub mod store;
pub mod suite;
pub mod tpcc;
pub mod workload;

mod error;

pub use error::{Error, Result};
