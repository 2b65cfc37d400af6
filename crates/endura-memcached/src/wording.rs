//! The sentences of the library, for clients and for the operator. They name the options of this program in place of
//! methods of Rust and options of the command.

use std::path::Path;

use endura::{Error, SpaceLimit};

/// Parts of the library's sentences, with the words that replace them. An option that the program does not have is left
/// out.
const WORDS: [(&str, &str); 21] = [
    (" (`lock_timeout`)", ""),
    (" (`must_exist`)", ""),
    (" (`accept_unclean`, or `endura check --accept`)", " (`endura check --accept`)"),
    (" (`Checkpoints::in_file`)", " (`--checkpoint-file`)"),
    (" (`Checkpoints::in_file`, `Checkpoints::beside_pool`)", " (`--checkpoint-file`)"),
    (" (`from`)", ""),
    (" (`Pool::restore`)", ""),
    (" (`Pool::backup`)", ""),
    (", or insist with `allow_any_filesystem(true)`", ""),
    ("; choose another medium (`Auto` finds the best one)", ""),
    ("; choose another medium", ""),
    (
        " (no room, or an error of the disk: see the event)",
        " (`checkpoint_failure` in `stats` says why)",
    ),
    (": see `limbo_bytes`", ""),
    (". Where it is needed for others, write the maps to a new pool", ""),
    (": see `sizes`", ""),
    ("`max_bytes` says", "`limit_maxbytes` in `stats` says"),
    ("`max_size`", "`--memory`"),
    ("open it with `checkpoints` among its options", "start the server with `--checkpoint-every`"),
    (" of `on_event`", ""),
    ("this build", "this program"),
    (
        "nor 0 (checkpoints on demand and at the close only)",
        "nor 0 (a checkpoint when the server stops only), nor `off` (none)",
    ),
];

/// A sentence of the library, such as a warning, in the words of the program.
pub fn in_words(text: &str) -> String {
    WORDS.iter().fold(text.to_owned(), |text, (old, new)| text.replace(old, new))
}

/// The sentence for an error: what happened, and what to do.
pub fn sentence(error: &Error) -> String {
    match error {
        Error::Full { need, limit, .. } => full(*need, *limit),
        Error::ReclaimStalled { waiting } => format!(
            "the pool is full, and the {waiting} bytes that were freed last are in use by a command that is not done: try again \
             when it is"
        ),
        Error::Corrupt { offset, what } => format!(
            "the pool is damaged at byte {offset} ({what}): restart the server, which then takes the pool back to its checkpoint; if it \
             does not start, move the pool file away and start it again"
        ),
        Error::Locked => {
            "another process has the pool open, and one server has a pool at a time: stop that process, or give this server \
             another path"
                .into()
        }
        Error::NeedsRecovery | Error::ReadOnly => {
            "the pool may only be read here: let the user of the server write to it".into()
        }
        Error::Version { found, want } => format!(
            "the pool has format {found}, and this program reads format {want}: use the version that wrote it"
        ),
        Error::UnknownFeatures { bits } => format!(
            "the pool has features that this program does not know ({bits:#x}): use the version that wrote it"
        ),
        Error::UnknownNodes { name } => format!(
            "this program does not know the kind of the map `{name}`: use the version that made it"
        ),
        Error::WrongTypes { name, .. }
        | Error::WrongKind { name, .. }
        | Error::OtherNodes { name }
        | Error::NoSuchMap { name }
        | Error::MapExists { name } => format!(
            "the map `{name}` of the pool was made or changed by another program: give this server a path of its own"
        ),
        Error::Decode { source, .. } | Error::Encode { source, .. } => {
            format!("an entry of the pool was not written by this program ({source})")
        }
        Error::Poisoned => "an earlier failure left the pool in doubt: restart the server".into(),
        Error::Closed { .. } | Error::Dropped => "the pool is closed: restart the server".into(),
        Error::RecursiveUpdate { .. }
        | Error::InsideOperation
        | Error::WritersStay { .. }
        | Error::Unmet { .. }
        | Error::Contended { .. } => {
            "other commands write to the pool all the time: try again".into()
        }
        Error::Displaced { path, now } => displaced(path, now.as_deref()),
        _ => in_words(&error.to_string()),
    }
}

/// The sentence for a pool without space for `need` bytes.
fn full(need: u64, limit: SpaceLimit) -> String {
    let (what, act) = match limit {
        SpaceLimit::MaxSize => ("the pool has reached its largest size", "raise `--memory`"),
        SpaceLimit::DiskFull => ("the disk of the pool is full", "free space there"),
        SpaceLimit::Quota => ("the quota of the disk is used up", "raise it"),
        SpaceLimit::FileSizeLimit => (
            "the pool has reached the limit on the size of files",
            "raise it (`LimitFSIZE=`, `ulimit -f`)",
        ),
        _ => ("the pool cannot grow", "remove items"),
    };
    format!("{what} and needs {need} bytes more: {act}")
}

fn displaced(path: &Path, now: Option<&Path>) -> String {
    let path = path.display();
    let advice = match now {
        Some(now) => format!("it is {} now: move it back", now.display()),
        None => "find it, and move it back".to_owned(),
    };
    format!("the pool was closed, but it is not at {path} any more: {advice}")
}

#[cfg(test)]
mod tests;
