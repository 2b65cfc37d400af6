//! Checkpoints of a command's pool: when and where they are made, and reports about them.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use endura::{Checkpoints, Pool, Stats};
use endura_console::args::ADVANCED;
use endura_console::outcome::tell;
use endura_console::text::{bytes, printable};

use crate::pool::moment::since;
use crate::words::of_library;

/// The bytes at the start of a checkpoint file that have the identifier of its pool.
const ROOTS: u64 = 8192;

/// Where the checkpoints of a pool are.
#[derive(clap::Args)]
pub(crate) struct FileArgs {
    /// The file of the pool's checkpoints, if it is not the pool's name with `.checkpoint` behind it; has to be given
    /// at each open
    #[arg(long, value_name = "FILE", help_heading = ADVANCED)]
    pub(crate) checkpoint_file: Option<PathBuf>,
}

/// How often checkpoints of a pool are made.
#[derive(clap::Args, Clone)]
pub(crate) struct IntervalArgs {
    /// Make a checkpoint every SECONDS while the pool is written, from now on: 0.001 to 4,000,000 seconds; with 0 only
    /// on demand and when the pool is closed [default: as the pool was left; 30 if it is new, and on a disk]
    #[arg(
        long,
        value_name = "SECONDS",
        value_parser = Checkpoints::from_str,
        help_heading = ADVANCED
    )]
    checkpoint_every: Option<Checkpoints>,
}

/// When and where checkpoints of a pool are made.
#[derive(clap::Args)]
pub(crate) struct CheckpointArgs {
    #[command(flatten)]
    pub(crate) file: FileArgs,
    #[command(flatten)]
    interval: IntervalArgs,
    /// Fail, and make nothing, if that file holds no checkpoint: its disk may not be mounted yet
    #[arg(long, requires = "checkpoint_file", help_heading = ADVANCED)]
    checkpoint_must_exist: bool,
    /// Keep the checkpoints beside the pool again, after --checkpoint-file
    #[arg(long, conflicts_with = "checkpoint_file", help_heading = ADVANCED)]
    checkpoint_beside: bool,
    /// Make no checkpoints from now on, and remove their file: a power loss may then cost the pool
    #[arg(
        long,
        conflicts_with_all = ["checkpoint_every", "checkpoint_beside"],
        help_heading = ADVANCED
    )]
    no_checkpoints: bool,
}

impl FileArgs {
    /// The choice that these arguments make; `None` if they make none.
    pub(crate) fn choice(&self) -> Option<Checkpoints> {
        self.checkpoint_file.as_ref().map(|file| Checkpoints::as_left().in_file(file))
    }
}

impl IntervalArgs {
    /// The choice that these arguments make; `None` if they make none.
    pub(crate) fn choice(&self) -> Option<Checkpoints> {
        self.checkpoint_every.clone()
    }
}

impl CheckpointArgs {
    /// Whether these arguments ask for no checkpoints.
    pub(crate) fn makes_none(&self) -> bool {
        self.no_checkpoints
    }

    /// The choice that these arguments make; `None` if they make none.
    pub(crate) fn choice(&self) -> Option<Checkpoints> {
        let when = match self.no_checkpoints {
            true => Some(Checkpoints::off()),
            false => self.interval.choice(),
        };
        let choice = match (when, &self.file.checkpoint_file) {
            (Some(when), Some(file)) => Some(when.in_file(file)),
            (when, None) if self.checkpoint_beside => {
                Some(when.unwrap_or_else(Checkpoints::as_left).beside_pool())
            }
            (when, _) => when.or_else(|| self.file.choice()),
        };
        choice.map(|choice| if self.checkpoint_must_exist { choice.must_exist() } else { choice })
    }
}

/// If the open of the pool at `path` took the pool back to a checkpoint, reports that on standard error.
pub(crate) fn tell_restored(path: &Path, pool: &Pool) {
    let Some(restored) = pool.restored() else { return };
    let (path, age) = (printable(&path.to_string_lossy(), false), since(restored.at));
    let written = bytes(restored.written_bytes);
    if let Some(reason) = restored.reason {
        let kept = restored.kept.as_ref().map(|kept| printable(&kept.to_string_lossy(), false));
        let later = match kept {
            Some(kept) => format!(
                "what was there is kept as {kept}: `endura check {kept} --accept` opens it, if it is sound"
            ),
            None => "later writes are lost".into(),
        };
        tell(format_args!(
            "endura: {path}: {reason}: taken back to its checkpoint of {age} ago ({written} of pages written); {later}"
        ));
    } else {
        tell(format_args!(
            "endura: {path}: the pool was missing: made anew from its checkpoint of {age} ago ({written} of pages \
             written); later writes are lost"
        ));
    }
}

/// Closes the pool that was opened at `path`. If its last checkpoint could not be made, reports it on standard error.
pub(crate) fn close(pool: &Pool, path: &Path) -> endura::Result<()> {
    if let Some(error) = pool.close()?.checkpoint_error {
        tell(format_args!(
            "endura: {}: done and closed, but no new checkpoint could be made; until one is, a power loss while the pool is open \
             may cost the pool: {}",
            printable(&path.to_string_lossy(), false),
            printable(&of_library(&error.to_string()), false)
        ));
    }
    Ok(())
}

/// Removes the checkpoints of a pool whose file was removed. Otherwise the next command would make the pool again from
/// them. The call of `checkpoint` makes no checkpoint for such a pool, but waits for one in progress. If the file now
/// holds the checkpoints of another pool, it stays.
pub(crate) fn forget_checkpoints(pool: &Pool) {
    let _ = pool.checkpoint();
    let Ok(Stats { checkpoints: Some(kept), uuid, .. }) = pool.stats() else { return };
    let mut roots = Vec::new();
    let read = File::open(&kept.path).and_then(|file| file.take(ROOTS).read_to_end(&mut roots));
    if read.is_ok() && roots.windows(uuid.len()).any(|bytes| bytes == uuid) {
        let _ = fs::remove_file(&kept.path);
    }
}

/// Whether there is anything at `path`, a dangling link included.
pub(crate) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// The file of the checkpoints of the pool at `path`, if no other one is given.
pub(crate) fn default_file(path: &Path) -> PathBuf {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    with_suffix(&path, ".checkpoint")
}

/// The file of a pool's checkpoints, for people. If the file is beside the pool, its path is written as the user wrote
/// the path of the pool.
pub(crate) fn shown_file(pool: &Path, file: &Path) -> String {
    let beside = with_suffix(pool, ".checkpoint");
    let is_beside = fs::canonicalize(&beside).is_ok_and(|found| found == file);
    printable(&(if is_beside { &beside } else { file }).to_string_lossy(), false)
}

/// `path` with `suffix` at the end of its name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
