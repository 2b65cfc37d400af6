//! The parts of errors' texts that depend on the error's fields.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::limit::SpaceLimit;
use crate::kind::Kind;
use crate::types::Types;

/// The bytes by which the longest value is shorter than the free piece that it takes.
const RESERVE: u64 = 8192;

/// What [`Error::NotAPool`](crate::Error::NotAPool) says of a folder.
pub(crate) const A_FOLDER: &str = "it is a folder";

/// The beginning of the text of an error that names its pool.
pub(super) fn of(pool: Option<&Path>) -> String {
    pool.map(|path| format!("{}: ", path.display())).unwrap_or_default()
}

/// The text of [`Error::Full`](crate::Error::Full).
pub(super) fn full(need: u64, free: u64, limit: SpaceLimit) -> String {
    let (what, act) = (limit.what(), limit.act());
    match free.saturating_sub(RESERVE) {
        0 => format!("{what}, and the pool needs {need} bytes more: {act}"),
        most => format!(
            "{what}, and the pool needs {need} bytes more (a value of {most} bytes still fits): {act}"
        ),
    }
}

/// The advice for a file that is not a pool, if it has no checkpoint beside it.
pub(super) fn not_a_pool(what: &str) -> &'static str {
    match what == A_FOLDER {
        true => "name a file in it",
        false => "give the path of a pool (a new one begins where there is no file)",
    }
}

/// The advice for a pool that is no longer at its path.
pub(super) fn open_now(now: Option<&Path>) -> String {
    match now {
        Some(now) => format!("open it as {}, or move it back", now.display()),
        None => "if the file has another name, open it by that; else restore a backup".to_owned(),
    }
}

/// The path as an error shows it. A dangling symbolic link is shown with its target, and a file that this process may
/// not open with its owner.
pub(super) fn named(path: &Path, source: &io::Error) -> String {
    let shown = path.display();
    match fs::read_link(path) {
        Ok(to) if !path.exists() => format!(
            "{shown}, a symbolic link to {} where there is no file (no pool is made through a link)",
            to.display()
        ),
        _ => match strangers(path).filter(|_| source.kind() == io::ErrorKind::PermissionDenied) {
            Some((owner, own)) => format!("{shown}{BELONGS}{owner}, this process runs as {own}"),
            None => shown.to_string(),
        },
    }
}

/// The owner of the file and the user of this process, if they differ.
fn strangers(path: &Path) -> Option<(String, String)> {
    let (owner, own) = (fs::metadata(path).ok()?.uid(), fs::metadata("/proc/self").ok()?.uid());
    let user = |id: u32| if id == 0 { "root".to_owned() } else { format!("user {id}") };
    (owner != own).then(|| (user(owner), user(own)))
}

/// Stands between a path and the owner of the file there.
const BELONGS: &str = ", which belongs to ";

/// The beginnings of [`Error::Io`](crate::Error::Io)'s `doing` that concern a path of the caller.
pub(super) const OPENING: &str = "opening ";
pub(super) const CREATING: &str = "creating ";
/// Stands between the path of a pool that is missing and that of its checkpoint.
pub(super) const HAS_CHECKPOINT: &str = ", which is missing but has the checkpoint ";
pub(super) const OPENING_CHECKPOINT: &str = "opening the checkpoint ";

/// The advice for an I/O error. It concerns a path only if the caller gave that path, because the caller has not chosen
/// other paths.
pub(super) fn act(doing: &str, source: &io::Error) -> &'static str {
    let is_callers_path = [OPENING, CREATING].iter().any(|begin| doing.starts_with(begin));
    match source.kind() {
        io::ErrorKind::NotFound if doing.starts_with(OPENING_CHECKPOINT) => {
            "; give its path if it is elsewhere (`from`)"
        }
        io::ErrorKind::NotFound if doing.contains(HAS_CHECKPOINT) => {
            "; `endura restore` (`Pool::restore`) makes it again from that"
        }
        io::ErrorKind::NotFound if is_callers_path => "; check the path",
        io::ErrorKind::AlreadyExists if is_callers_path => {
            "; open it as it is, or choose another path"
        }
        io::ErrorKind::PermissionDenied if doing.contains(BELONGS) => {
            "; open it as its owner, or give it to this user"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem if is_callers_path => {
            "; check who may read and write there"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "; the kernel's log says why it became read-only: solve that, then open the pool again"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free space there",
        io::ErrorKind::FileTooLarge => {
            "; raise the limit on the size of files (`ulimit -f`), then try again"
        }
        io::ErrorKind::OutOfMemory => "; free memory or addresses, or ask for a smaller `max_size`",
        _ => "; solve that, then try again",
    }
}

pub(super) fn wrong_kind(name: &str, types: &Types, found: Option<Kind>, want: Kind) -> String {
    match found {
        Some(found) => format!(
            "the map `{name}` is {}, not {}: leave the kind out, or copy the map",
            with_article(found),
            with_article(want)
        ),
        None => format!(
            "the map `{name}` cannot be {}, which holds keys of at most 8 bytes: make the {types} {}",
            with_article(want),
            with_article(Kind::Roart)
        ),
    }
}

fn with_article(kind: Kind) -> String {
    let article = if kind == Kind::NbTree { "an" } else { "a" };
    format!("{article} {kind}")
}
