//! The sentences of the library, for clients of the server and for its log. They name the options of the module in place
//! of methods of Rust and options of the command.

use endura::{Error, SpaceLimit};

/// Parts of the library's sentences, with the words that replace them. An option that the module does not have is left
/// out.
const WORDS: [(&str, &str); 20] = [
    (" (`lock_timeout`)", ""),
    (" (`must_exist`)", ""),
    (" (`accept_unclean`, or `endura check --accept`)", " (`endura check --accept`)"),
    (" (`Checkpoints::in_file`)", " (`checkpoint-file`)"),
    (" (`Checkpoints::in_file`, `Checkpoints::beside_pool`)", " (`checkpoint-file`)"),
    (" (`from`)", ""),
    (" (`Pool::restore`)", ""),
    (" (`Pool::backup`)", ""),
    (", or insist with `allow_any_filesystem(true)`", ""),
    ("; choose another medium (`Auto` finds the best one)", ""),
    ("; choose another medium", ""),
    (
        " (no room, or an error of the disk: see the event)",
        " (`checkpoint_failure` in EN.INFO says why)",
    ),
    (": see `limbo_bytes`", ""),
    (
        ": see `sizes`. Where it is needed for others, write the maps to a new pool",
        ": a replica that starts with a new pool has no such space",
    ),
    ("`max_bytes` says", "`max_bytes` in EN.INFO says"),
    ("`max_size`", "`max-size`"),
    (
        "open it with `checkpoints` among its options",
        "load the module with `checkpoint-every` or `checkpoint-file`",
    ),
    (" of `on_event`", ""),
    ("this build", "this module"),
    (
        "nor 0 (checkpoints on demand and at the close only)",
        "nor 0 (a checkpoint at EN.CHECKPOINT and when the server stops only); `no-checkpoints` is the option for none",
    ),
];

/// A sentence of the library, such as a warning, in the words of the module.
pub(crate) fn in_words(text: &str) -> String {
    WORDS.iter().fold(text.to_owned(), |text, (old, new)| text.replace(old, new))
}

/// The sentence for an error: what happened, and what to do.
pub(crate) fn sentence(error: &Error) -> String {
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
            "the pool has format {found}, and this module reads format {want}: load the module of the version that wrote it"
        ),
        Error::UnknownFeatures { bits } => format!(
            "the pool has features that this module does not know ({bits:#x}): load the module of the version that wrote it"
        ),
        Error::UnknownNodes { name } => format!(
            "this module does not know the kind of the map `{name}`: load the module of the version that made it"
        ),
        Error::ValueTooLong { len, max } => format!(
            "a value of {len} bytes is longer than the {max} that a field takes: divide it among fields"
        ),
        Error::WrongTypes { name, .. }
        | Error::WrongKind { name, .. }
        | Error::OtherNodes { name } => format!(
            "the map `{name}` of the pool was not made by this module: give the module a path of its own"
        ),
        Error::NoSuchMap { name } | Error::MapExists { name } => format!(
            "another program has changed the map `{name}` of the pool: give the module a path of its own"
        ),
        Error::Decode { source, .. } | Error::Encode { source, .. } => {
            format!("an entry of the pool was not written by this module ({source})")
        }
        Error::Poisoned => {
            "an earlier failure, which the log names, left the pool in doubt: restart the server"
                .into()
        }
        Error::Closed { .. } | Error::Dropped => "the pool is closed: restart the server".into(),
        Error::RecursiveUpdate { .. }
        | Error::InsideOperation
        | Error::WritersStay { .. }
        | Error::Unmet { .. }
        | Error::Contended { .. } => {
            "other commands write to the pool all the time: try again".into()
        }
        // The caller names the pool.
        Error::NotAPool { what, checkpoint, .. } => {
            let checkpoint = checkpoint.clone();
            in_words(&Error::NotAPool { pool: None, what, checkpoint }.to_string())
        }
        Error::Displaced { path, now } => displaced(path, now.as_deref()),
        _ => in_words(&error.to_string()),
    }
}

/// The sentence for a pool without space for `need` bytes.
fn full(need: u64, limit: SpaceLimit) -> String {
    let (what, act) = match limit {
        SpaceLimit::MaxSize => {
            ("the pool has reached its largest size", "delete keys, or raise `max-size`")
        }
        SpaceLimit::DiskFull => ("the disk of the pool is full", "free space there"),
        SpaceLimit::Quota => ("the quota of the disk is used up", "raise it"),
        SpaceLimit::FileSizeLimit => (
            "the pool has reached the limit on the size of files",
            "raise it (`LimitFSIZE=`, `ulimit -f`)",
        ),
        _ => ("the pool cannot grow", "delete keys"),
    };
    format!("{what} and needs {need} bytes more: {act}")
}

fn displaced(path: &std::path::Path, now: Option<&std::path::Path>) -> String {
    let path = path.display();
    let advice = match now {
        Some(now) => format!("it is {} now: move it back", now.display()),
        None => "find it, and move it back".to_owned(),
    };
    format!("the pool was closed, but it is not at {path} any more: {advice}")
}

#[cfg(test)]
mod tests;
