//! How a command ends: exit codes that scripts can trust.

use std::io;
use std::path::Path;
use std::process::ExitCode;

/// What `--help` says of the exit codes.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  it worked, and the answer is yes
  1  the answer is no: the key is absent, check found damage, a demo, torture or
     explore run lost a key, a benchmark became slower
  2  the command line makes no sense
  3  it did not work: the pool cannot be opened, the disk is full, a line is not a number";

/// What a command that worked found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The key is there, the pool is sound, nothing was lost.
    Yes,
    /// It is not.
    No,
}

impl Answer {
    pub(crate) fn yes_if(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// Why a command did not work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments are numbers and paths, but make no sense together.
    Usage(String),
    /// Something failed; the text says what, and what to do.
    Message(String),
    /// Whoever read the output has closed it, and wants no more.
    ClosedPipe,
}

pub(crate) type Result<T = Answer, E = Failure> = std::result::Result<T, E>;

impl Failure {
    pub(crate) fn io(doing: impl std::fmt::Display, source: &io::Error) -> Self {
        Self::Message(format!("{doing}: {source}"))
    }

    /// What went wrong with the file at `path`.
    pub(crate) fn at(path: &Path, error: &endura::Error) -> Self {
        match error {
            // Says which file itself.
            endura::Error::Io { .. } => Self::Message(error.to_string()),
            _ => Self::Message(format!("{}: {error}", path.display())),
        }
    }
}

impl From<endura::Error> for Failure {
    fn from(error: endura::Error) -> Self {
        Self::Message(error.to_string())
    }
}

impl From<endura_bench::Error> for Failure {
    fn from(error: endura_bench::Error) -> Self {
        match error {
            endura_bench::Error::Config(what) => Self::Usage(what.into()),
            error @ endura_bench::Error::Shape { .. } => Self::Usage(error.to_string()),
            other => Self::Message(other.to_string()),
        }
    }
}

/// Only writing to standard output and standard error gives errors without a path.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::io("cannot write the output", &error),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}

/// Ends the process.
pub(crate) fn exit(result: Result) -> ExitCode {
    match result {
        Ok(Answer::Yes) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(Failure::Usage(text)) => complain(&text, 2),
        Err(Failure::Message(text)) => complain(&text, 3),
    }
}

fn complain(text: &str, code: u8) -> ExitCode {
    eprintln!("endura: {text}");
    ExitCode::from(code)
}
