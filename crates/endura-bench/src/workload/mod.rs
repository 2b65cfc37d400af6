//! What is done with a store: a mix of actions, a choice of keys, a length of scans.
//!
//! Every workload, YCSB's, the papers', a sweep's, and each of the plain operations, is a
//! [`Workload`]; [`run()`] runs it on any [`Store`](crate::store::Store) with threads that start
//! together. What a thread does is drawn before the clock starts. Every answer is checked: the
//! [`Population`] says which keys must be there whatever the other threads do.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`plain`], [`ycsb`], [`papers`] | the operations one by one, the workloads of YCSB and of the three papers |
//! | [`Choice`], [`Zipf`] | which keys the actions fall on |
//! | [`Population`] | which keys are there |

pub mod papers;
pub mod plain;
pub mod ycsb;

mod choice;
mod definition;
mod population;
mod request;
mod run;
mod share;
mod timing;
mod verify;
mod warm;
mod zipf;

pub use choice::Choice;
pub(crate) use choice::Sampler;
pub use definition::{Action, BATCH, Order, ScanLength, Workload};
pub use population::{MOST_KEYS, Population};
pub use run::{Plan, run};
pub use timing::Timing;
pub(crate) use timing::{Part, on_threads};
pub use verify::verify;
pub(crate) use warm::{warm_bytes, warm_memory};
pub use zipf::Zipf;
