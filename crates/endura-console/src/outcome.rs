//! How a command ends: exit codes that scripts can trust. 0 is yes, 1 is no, 2 a usage error, 3 a failure.

use std::io::{self, Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use crate::text::printable;

/// What a command that worked found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The key is there, the pool is sound, nothing was lost.
    Yes,
    /// It is not.
    No,
}

impl Answer {
    /// An answer to a question.
    pub fn yes_if(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// Why a command did not work.
#[derive(Debug)]
pub enum Failure {
    /// The arguments are numbers and paths, but make no sense together.
    Usage(String),
    /// Something failed; the text says what, and what to do.
    Message(String),
    /// The same, of the library.
    Pool {
        /// What [`Error::code`](endura::Error::code) says of it.
        code: &'static str,
        /// Its text.
        text: String,
    },
    /// A failure, and a sentence about what it leaves or what helps.
    Noted {
        /// What failed.
        failure: Box<Failure>,
        /// The sentence: a line of its own in text, part of the message in JSON.
        note: String,
    },
    /// Whoever read the output has closed it, and wants no more.
    ClosedPipe,
}

/// How a command ends.
pub type Result<T = Answer, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// What the operating system refused, of its own.
    pub fn io(doing: impl std::fmt::Display, source: &io::Error) -> Self {
        Self::Message(format!("{doing}: {source}{}", act_on_space(source.kind())))
    }

    /// What it refused at a path that the user gave, or in a folder that the user gave.
    pub fn at_path(doing: &str, path: &Path, source: &io::Error) -> Self {
        let act = act_on_path(source.kind());
        Self::Message(format!("{doing} {}: {source}{act}", path.display()))
    }

    /// What went wrong with the file at `path`.
    pub fn at(path: &Path, error: &endura::Error) -> Self {
        let (text, path) = (error.to_string(), path.display().to_string());
        let text = if says_where(&text, &path) { text } else { format!("{path}: {text}") };
        Self::Pool { code: error.code(), text }
    }

    /// The same failure in other words.
    pub fn reworded(self, reword: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Usage(text) => Self::Usage(text),
            Self::Message(text) => Self::Message(reword(text)),
            Self::Pool { code, text } => Self::Pool { code, text: reword(text) },
            Self::Noted { failure, note } => {
                Self::Noted { failure: Box::new(failure.reworded(reword)), note }
            }
            Self::ClosedPipe => Self::ClosedPipe,
        }
    }

    /// The same failure with one more sentence; an empty one adds nothing.
    #[must_use]
    pub fn noted(self, note: impl Into<String>) -> Self {
        let note = note.into();
        if note.is_empty() {
            return self;
        }
        Self::Noted { failure: Box::new(self), note }
    }

    /// Whether a command that fails like this has done its work: its reader left before the end of the output.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::ClosedPipe)
    }

    /// The sentences, the first of which says what failed; none for a closed pipe.
    fn sentences(&self) -> Vec<&str> {
        match self {
            Self::Usage(text) | Self::Message(text) | Self::Pool { text, .. } => vec![text],
            Self::Noted { failure, note } => {
                let mut all = failure.sentences();
                all.push(note);
                all
            }
            Self::ClosedPipe => Vec::new(),
        }
    }

    /// What programs may go by: a code of the library, or `usage`, or `failed`.
    fn code(&self) -> &'static str {
        match self {
            Self::Usage(_) => "usage",
            Self::Message(_) => "failed",
            Self::Pool { code, .. } => code,
            Self::Noted { failure, .. } => failure.code(),
            Self::ClosedPipe => "closed_pipe",
        }
    }
}

/// What helps where the system refuses a file of the user's.
fn act_on_path(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::NotFound => "; check the path",
        io::ErrorKind::IsADirectory => "; name a file in it",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; check who may read and write there"
        }
        other => act_on_space(other),
    }
}

/// What helps where it has no space, whatever for.
fn act_on_space(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free space there",
        io::ErrorKind::FileTooLarge => "; raise the limit on the size of files (`ulimit -f`)",
        _ => "",
    }
}

/// Whether a text about the file at `path` says so. (Not whether the path is in it: many a pool is called `pool`.)
pub fn says_where(text: &str, path: &str) -> bool {
    // The latter are errors of the system.
    ["", "opening ", "creating "].iter().any(|doing| {
        let rest = text.strip_prefix(doing).and_then(|rest| rest.strip_prefix(path));
        rest.is_some_and(|rest| rest.starts_with(": "))
    })
}

impl From<endura::Error> for Failure {
    fn from(error: endura::Error) -> Self {
        Self::Pool { code: error.code(), text: error.to_string() }
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

/// Prints a line on standard error. That it cannot be written (a full disk, a closed terminal) changes nothing about how
/// the command ends: nobody could be told of it.
pub fn tell(line: impl std::fmt::Display) {
    let _ = writeln!(stderr(), "{line}");
}

/// The arguments of this process, or the exit code if they ask for a page of help, or are none that the program takes.
///
/// # Errors
///
/// 0 after the help or the version, 2 after a usage error, 3 if standard output does not take the help.
pub fn arguments<P: Parser>(program: &str) -> std::result::Result<P, ExitCode> {
    P::try_parse().map_err(|error| {
        let printed = error.print();
        if error.use_stderr() {
            return ExitCode::from(2);
        }
        exit(program, printed.map(|()| Answer::Yes).map_err(Failure::from))
    })
}

/// The exit code of `program`, after a word on standard error if it failed.
pub fn exit(program: &str, result: Result) -> ExitCode {
    exit_with(program, result, false)
}

/// The same; `json`: what failed is told as `{"error":{"code":C,"message":M}}`.
pub fn exit_with(program: &str, result: Result, json: bool) -> ExitCode {
    // What is still buffered would be lost without a word when the process ends.
    let flushed = |answer| match stdout().flush().map_err(Failure::from) {
        Ok(()) | Err(Failure::ClosedPipe) => Ok(answer),
        Err(failure) => Err(failure),
    };
    let failure = match result.and_then(flushed) {
        Ok(Answer::Yes) | Err(Failure::ClosedPipe) => return ExitCode::SUCCESS,
        Ok(Answer::No) => return ExitCode::from(1),
        Err(failure) => failure,
    };
    let (code, sentences) = (failure.code(), failure.sentences());
    if json {
        let message = sentences.join("; ");
        tell(serde_json::json!({ "error": { "code": code, "message": message } }));
    } else {
        // Names and lines of files may hold what a terminal takes for a command.
        sentences
            .iter()
            .for_each(|text| tell(format_args!("{program}: {}", printable(text, true))));
    }
    ExitCode::from(if code == "usage" { 2 } else { 3 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_one_more_sentence() {
        let failure = Failure::Usage("a".into()).noted("").noted("b");
        assert_eq!((failure.code(), failure.sentences()), ("usage", vec!["a", "b"]));
        let failure = failure.noted("c").reworded(|text| text + "!");
        assert_eq!(failure.sentences(), ["a", "b", "c"]);
        let failure = Failure::Message("a".into()).noted("b").reworded(|text| text + "!");
        assert_eq!((failure.code(), failure.sentences()), ("failed", vec!["a!", "b"]));
    }
}
