//! The target of an export: a file that appears when it is complete, or an existing pipe or device.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, linkat};

use endura_console::interrupt::{self, Doomed};
use endura_console::outcome::{Failure, Result};

/// The first bytes of a pool, and of the checkpoints of one.
const POOL: &[u8; 8] = b"\x89ENDURA\n";
const CHECKPOINT: &[u8; 8] = b"\x89ENDCKP\n";
/// The second place of these first bytes. They are written alternately at the start of a file and at this offset. A new
/// or a damaged file has them in only one of the two places.
const SECOND: u64 = 4096;

/// The most links that are followed.
const MOST_LINKS: usize = 40;

/// An output that is being written. It has no name yet, unless it existed before.
pub(crate) struct Target {
    file: File,
    place: Place,
}

enum Place {
    /// A pipe or a device: it needs no name.
    There,
    /// A file without a name, for this path.
    Nameless(PathBuf),
    /// A file with another name beside this path, if the file system has no nameless files.
    Beside(PathBuf, PathBuf, Doomed),
}

impl Target {
    /// Starts an output for `path`. Links are followed; a pool, and the checkpoints of one, are refused.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let failure = |error: io::Error| cannot_write(path, &error);
        let path = &followed(path).map_err(failure)?;
        let old = match fs::metadata(path) {
            Ok(facts) => Some(facts),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failure(error)),
        };
        if let Some(facts) = &old
            && is_file_of(io::stderr(), facts)
        {
            // Appended to the existing file: a new file in its place would remove that one.
            let file = io::stderr().as_fd().try_clone_to_owned().map_err(failure)?.into();
            return Ok(Self { file, place: Place::There });
        }
        if let Some(facts) = &old
            && !facts.is_file()
        {
            let file = File::options().write(true).open(path).map_err(failure)?;
            return Ok(Self { file, place: Place::There });
        }
        if old.is_some()
            && let Some(what) = of_endura(path)
        {
            return Err(Failure::Message(format!(
                "cannot write {}: this is {what}, which an export would destroy: give another file, or \
                 delete it first",
                path.display()
            )));
        }
        Self::nameless(path, old.as_ref()).map_err(failure)
    }

    /// A file to replace `old`, with its mode.
    fn nameless(path: &Path, old: Option<&Metadata>) -> io::Result<Self> {
        if old.is_some() {
            // A user who may not write to the file may not replace it either.
            drop(File::options().write(true).open(path)?);
        }
        let folder = folder(path);
        let mut options = File::options();
        options.write(true).mode(0o666);
        let flags = OFlags::TMPFILE.bits() as i32;
        let (file, place) = match options.clone().custom_flags(flags).open(folder) {
            // The file gets its name through /proc, which is not mounted everywhere.
            Ok(file) if own_path(&file).exists() => (file, Place::Nameless(path.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
            _ => {
                let _section = interrupt::section();
                let beside = beside(path);
                let file = options.create_new(true).open(&beside)?;
                let doomed = interrupt::doomed(&beside);
                (file, Place::Beside(path.into(), beside, doomed))
            }
        };
        if let Some(old) = old {
            // Only root may give files away. Otherwise the new file belongs to the user who writes it.
            let _ = fchown(&file, Some(old.uid()), Some(old.gid()));
            file.set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
        }
        Ok(Self { file, place })
    }

    /// Waits until the contents are durable. (Pipes and devices are not waited for.)
    pub(crate) fn sync(&self) -> io::Result<()> {
        if matches!(self.place, Place::There) { Ok(()) } else { self.file.sync_all() }
    }

    /// Gives the output, which is durable, its name, and replaces any file that has it.
    pub(crate) fn publish(self) -> io::Result<()> {
        if matches!(self.place, Place::There) {
            return Ok(());
        }
        let _section = interrupt::section();
        match self.place {
            Place::There => Ok(()),
            Place::Beside(path, beside, doomed) => {
                fs::rename(beside, path)?;
                doomed.keep();
                Ok(())
            }
            Place::Nameless(path) => {
                let own = own_path(&self.file);
                let link = |to: &Path| linkat(CWD, &own, CWD, to, AtFlags::SYMLINK_FOLLOW);
                match link(&path) {
                    Err(rustix::io::Errno::EXIST) => {}
                    outcome => return Ok(outcome?),
                }
                let beside = beside(&path);
                link(&beside)?;
                let doomed = interrupt::doomed(&beside);
                fs::rename(&beside, path)?;
                doomed.keep();
                Ok(())
            }
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Whether `path` is the file of standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| is_file_of(io::stdout(), &facts))
}

fn is_file_of(stream: impl AsFd, facts: &Metadata) -> bool {
    let own = stream.as_fd().try_clone_to_owned().and_then(|fd| File::from(fd).metadata());
    own.is_ok_and(|own| (own.dev(), own.ino()) == (facts.dev(), facts.ino()))
}

pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::at_path("cannot write", path, error),
    }
}

/// The folder of `path`.
pub(crate) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// A path that leads to an open file, whatever its name.
fn own_path(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// A name beside `path` that no other process uses.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    folder(path).join(format!(".{name}.{}.{:08x}.tmp", std::process::id(), fastrand::u32(..)))
}

/// The final target of `path`, even if nothing exists there.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&path) {
            // A link to something other than a file is not followed by its text: /dev/stdout may lead to something that
            // has no name.
            Ok(facts) if facts.is_symlink() && !fs::metadata(&path).is_ok_and(|f| !f.is_file()) => {
                path = folder(&path).join(fs::read_link(&path)?);
            }
            _ => return Ok(path),
        }
    }
    Err(io::Error::from(rustix::io::Errno::LOOP))
}

/// What the file is, if it is one of endura's, or was one before it was damaged.
fn of_endura(path: &Path) -> Option<&'static str> {
    let file = File::open(path).ok()?;
    let has = |magic: &[u8; 8]| {
        [0, SECOND].into_iter().any(|at| {
            let mut found = [0; 8];
            file.read_exact_at(&mut found, at).is_ok() && found == *magic
        })
    };
    if has(POOL) || endura::Pool::options().read_only(true).open_existing(path).is_ok() {
        Some("a pool")
    } else if has(CHECKPOINT) {
        Some("the checkpoint of a pool")
    } else {
        None
    }
}
