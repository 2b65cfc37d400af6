//! Why a file of checkpoints cannot be read or written.

use std::io;

/// Why a file of checkpoints cannot be read or written.
#[derive(Debug)]
pub enum Failure {
    /// The system says so.
    Io(io::Error),
    /// It was written by another version of this program, with this number.
    Version(u32),
    /// What it says was never written.
    Damaged(&'static str),
    /// The pool has more pages than this file may name.
    TooLarge,
    /// The system says so of the pool that is taken back to the checkpoint.
    Pool(io::Error),
    /// It is not known what is durable: another file has to be made.
    GivenUp(io::Error),
}

impl From<io::Error> for Failure {
    /// That the file ends before what it names is no error of the system: it was cut, and another file is to be made.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Damaged("a file of checkpoints that was cut"),
            _ => Self::Io(error),
        }
    }
}
