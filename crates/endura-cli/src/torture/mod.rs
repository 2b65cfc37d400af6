//! `endura torture`: kills a writer at random moments, again and again. After each kill the pool must have exactly the
//! operations that the writer knew to be done, those in flight whole or not at all, and nothing else.

mod keyspace;
mod place;
mod plan;
mod report;
mod round;
mod rounds;
mod strings;
mod subject;
mod target;
mod verify;
mod writer;

pub(crate) use rounds::{Args, run};
pub(crate) use writer::{WriterArgs, write};
