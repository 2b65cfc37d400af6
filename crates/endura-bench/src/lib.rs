//! Measures endura beside its peers: the same operations, the same keys, one process run.
//!
//! A run has rounds. In each round every store is created empty and all operations are run on it,
//! the stores taking turns operation by operation (A, B, then B, A in the next round), so that a
//! machine that warms up or slows down does so for all of them. What is reported is the median over
//! the rounds, with the spread beside it.
//!
//! Every answer is checked while it is measured: a get that should have found a key and did not
//! ends the run with [`Error::Wrong`].
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`keys`] | which number is the i-th key |
//! | [`store`] | what is measured: the [`Store`](store::Store) trait, endura, its peers |
//! | [`contender`], [`entrant`] | who takes part, and an open store of whatever type |
//! | [`workload`] | mixes of actions on chosen keys: YCSB's, the papers', any |
//! | [`tpcc`] | TPC-C's transactions as operations on ordered maps |
//! | [`suite`] | workloads on many stores, threads, rounds: what `endura bench ycsb` runs |
//! | [`operation`], [`run`] | endura beside one peer, operation by operation |
//! | [`goals`] | how fast an index is to be beside a peer, and whether it is |
//! | [`summary`] | medians, spreads, ratios, as numbers |
//! | [`result`], [`compare`] | what a run leaves behind, as JSON, and two of them side by side |
//! | [`relative`] | ours as a multiple of the others' |
//! | [`recovery`] | a crash, and what requests see of it |
//! | [`paper`] | the figures of the papers, rerun row by row |
//! | [`plot`] | curves and bars before they are drawn |
//! | [`report`] | one page that tells all |
//! | [`counts`] | exact numbers of flushes and fences per operation |
//! | [`instructions`] | instructions per operation, counted one by one |
//! | [`floor`] | what the hardware takes for the least that an index can do; is slow memory as slow as set? |
//! | [`subject`], [`drive`] | any index over any medium, and mixed work on it |
//! | [`ablations`] | NBTrees without one of its techniques each |

#![deny(unsafe_code)]

pub mod ablations;
pub mod compare;
pub mod contender;
pub mod counts;
pub mod drive;
pub mod entrant;
pub mod floor;
pub mod goals;
pub mod instructions;
pub mod keys;
pub mod operation;
pub mod paper;
pub mod plot;
pub mod recovery;
pub mod relative;
pub mod report;
pub mod result;
pub mod run;
pub mod store;
pub mod subject;
pub mod suite;
pub mod summary;
pub mod tpcc;
pub mod workload;

mod error;
mod neighbour;
mod timing;
mod warm;

pub use error::{Error, Result};
pub use timing::Pace;
