//! `endura torture`: a writer is killed at random moments, again and again, and after each kill
//! the pool must hold exactly what the writer had been told, the operations in flight whole or not
//! at all, and nothing else.

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
