//! The outcome of a command, with exit codes for scripts: 0 for a positive result, 1 for a negative one, 2 for a usage
//! error, 3 for a failure.

use std::io::{self, Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

use clap::{Command, Parser};

use crate::holder;
use crate::text::printable;

/// The result of a command that worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Positive result: the key is present, the pool is sound, nothing was lost.
    Yes,
    /// Negative result: the key is absent, the pool is damaged, or something was lost.
    No,
}

impl Answer {
    /// The answer to a question.
    pub fn yes_if(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// A usage error: the arguments are valid one by one, but not together.
    Usage(String),
    /// A failure; the text says what failed, and what to do.
    Message(String),
    /// A failure of the library.
    Pool {
        /// Its [`Error::code`](endura::Error::code).
        code: &'static str,
        /// Its text.
        text: String,
    },
    /// A failure, and a sentence about what it leaves or what to do.
    Noted {
        /// What failed.
        failure: Box<Failure>,
        /// The sentence: a separate line in text, part of the message in JSON.
        note: String,
    },
    /// The reader of the output has closed it, and wants no more.
    ClosedPipe,
}

/// The outcome of a command.
pub type Result<T = Answer, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A failure of the operating system that concerns no path of the user's.
    pub fn io(doing: impl std::fmt::Display, source: &io::Error) -> Self {
        Self::Message(format!("{doing}: {source}{}", act_on_space(source.kind())))
    }

    /// A failure of the operating system at a path that the user gave, or in a folder that the user gave.
    pub fn at_path(doing: &str, path: &Path, source: &io::Error) -> Self {
        let act = act_on_path(source.kind());
        Self::Message(format!("{doing} {}: {source}{act}", path.display()))
    }

    /// A failure of the library that concerns the file at `path`.
    pub fn at(path: &Path, error: &endura::Error) -> Self {
        let is_locked = matches!(error, endura::Error::Locked);
        let text = match is_locked.then(|| holder::of(path)).flatten() {
            Some(holder) => error.to_string().replacen("elsewhere", &format!("in {holder}"), 1),
            None => error.to_string(),
        };
        let path = path.display().to_string();
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

    /// Whether a command with this failure has done its work: its reader left before the end of the output.
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

    /// A code for programs: one of the library, or `usage`, or `failed`.
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

/// Advice if the system refuses a file of the user's.
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

/// Advice if the system has no space.
fn act_on_space(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free space there",
        io::ErrorKind::FileTooLarge => "; raise the limit on the size of files (`ulimit -f`)",
        _ => "",
    }
}

/// Whether a text about the file at `path` names it. (A search for the path alone would not do: many pools are called
/// `pool`.)
pub fn says_where(text: &str, path: &str) -> bool {
    // The last two prefixes are those of errors of the system.
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

/// Only writes to standard output and standard error give errors without a path.
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

/// Prints a line on standard error. If the line cannot be written (a full disk, a closed terminal), the command
/// continues as if it had been, because there is no other place to report it.
pub fn tell(line: impl std::fmt::Display) {
    let _ = writeln!(stderr(), "{line}");
}

/// The arguments of this process, or an exit code if they request a page of help, or are invalid.
///
/// # Errors
///
/// 0 after the help or the version, 2 after a usage error, 3 if standard output does not take the help.
pub fn arguments<P: Parser>(program: &str) -> std::result::Result<P, ExitCode> {
    arguments_of(program, P::command())
}

/// Like [`arguments`], with other pages of help: those of `command`.
///
/// # Errors
///
/// As [`arguments`].
pub fn arguments_of<P: Parser>(
    program: &str,
    mut command: Command,
) -> std::result::Result<P, ExitCode> {
    let parsed = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = parsed.and_then(|mut found| {
        P::from_arg_matches_mut(&mut found).map_err(|error| error.format(&mut command))
    });
    parsed.map_err(|error| {
        let printed = error.print();
        if error.use_stderr() {
            return ExitCode::from(2);
        }
        exit(program, printed.map(|()| Answer::Yes).map_err(Failure::from))
    })
}

/// The exit code of `program`, after a message on standard error if it failed.
pub fn exit(program: &str, result: Result) -> ExitCode {
    exit_with(program, result, false)
}

/// Like [`exit`]. If `json`, a failure is reported as `{"error":{"code":C,"message":M}}`.
pub fn exit_with(program: &str, result: Result, json: bool) -> ExitCode {
    // Buffered output would be lost silently when the process ends.
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
        // Names and lines of files may contain what a terminal takes for a command.
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
