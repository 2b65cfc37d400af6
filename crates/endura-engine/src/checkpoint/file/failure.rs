//! Why a file of checkpoints cannot be read or written.

use std::io;

/// Why a file of checkpoints cannot be read or written.
#[derive(Debug)]
pub enum Failure {
    /// An error of the system.
    Io(io::Error),
    /// The file was written by another version of this program, with this number.
    Version(u32),
    /// The contents of the file cannot have been written by a correct run.
    Damaged(&'static str),
    /// The pool has more pages than this file may name.
    TooLarge,
    /// An error of the system with the pool that is being restored.
    Pool(io::Error),
    /// What is durable in the file is not known: another file has to be made.
    GivenUp(io::Error),
}

impl From<io::Error> for Failure {
    /// A file that names something beyond its end has been cut. That is no error of the system, and another file has to
    /// be made.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Damaged("a file of checkpoints that was cut"),
            _ => Self::Io(error),
        }
    }
}
