//! A pool that may be torn, kept as it was found before it is restored from a checkpoint.

use std::io;
use std::path::{Path, PathBuf};

use crate::checkpoint::beside;
use crate::os::disk;
use crate::os::lock;
use crate::os::new_file::{NewFile, folder_of};
use crate::os::own_file;
use crate::space::{PoolFile, Superblock};
use crate::{Error, Result};

/// The number of names that are tried.
const MOST: u32 = 1000;

/// Copies the file to `<path>.torn`, or to `<path>.torn-2` and so on if there is an earlier copy. The copy gets its
/// name when it is whole, and is durable on return. An earlier open may have copied what the pool's last session left,
/// and then have been killed before it had restored the pool. That copy is used, and no new one is made: by now the
/// pool's file may be a mixture.
pub(crate) fn set_aside(file: &PoolFile, path: &Path) -> Result<PathBuf> {
    let to = |number| match number {
        1 => beside::with_suffix(path, ".torn"),
        number => beside::with_suffix(path, &format!(".torn-{number}")),
    };
    let failed = |error| Error::creating(&to(1), error);
    let folder = folder_of(path);
    let sync =
        || own_file::open_folder(folder).and_then(|folder| folder.sync_all()).map_err(failed);
    if let Some(made) = (1..MOST).map(&to).take_while(|at| at.exists()).find(|at| is_of(file, at)) {
        sync()?;
        return Ok(made);
    }
    let from = file.file();
    let mut copy = NewFile::like(from, &to(1)).map_err(failed)?;
    // If the copy shared blocks with the pool, each later store to the pool would need a new block.
    disk::write_all_of(from, &copy.file).map_err(failed)?;
    for number in 1..MOST {
        match copy.publish(&to(number)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            published => {
                published.map_err(failed)?;
                sync()?;
                return Ok(to(number));
            }
        }
    }
    Err(failed(io::ErrorKind::AlreadyExists.into()))
}

/// Whether the file at `at` is a copy of what the pool's last session has left. (A restored pool names another
/// session.)
fn is_of(pool: &PoolFile, at: &Path) -> bool {
    let last = pool.superblock();
    let found = lock::open(at, true).map_err(drop);
    let found = found.and_then(|file| Superblock::read(&file).map_err(drop));
    found.is_ok_and(|found| {
        (found.uuid, found.session, found.clean) == (last.uuid, last.session, last.clean)
    })
}
