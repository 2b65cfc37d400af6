//! Copies of whole pools, and restores from a checkpoint that a user requests.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use super::locked::is_io;
use super::open::Open;
use super::options::Options;
use crate::Result;
use crate::checkpoint::backup::{self, ByHand, Source};
use crate::checkpoint::restore::Progress;
use crate::checkpoint::{Checkpoints, Restored, told};
use crate::media::{Placement, Reservation};
use crate::os::file_identity::FileId;
use crate::os::whereabouts;
use crate::runtime::calls::Call;
use crate::space::{Draft, PoolFile, Schedule, Superblock};

/// The least that a copy reserves of the address space, which may be limited (`ulimit -v`).
const LEAST_ADDRESSES: u64 = 64 << 20;

impl Open {
    /// See `Pool::backup_with`.
    pub fn backup(&self, to: &Path, progress: &mut Progress<'_>) -> Result<()> {
        self.expect_outside()?;
        // A close or a checkpoint inside `progress` would wait for this call. Because of this [`Call`], it fails
        // instead.
        let _call = Call::begin(self.address());
        let of = self.space.media().file()?;
        let mut write =
            |source: Source<'_>| Options::default().write_copy(to, (source, &of), progress);
        match &self.keeper {
            Some(keeper) => keeper.with_checkpoint(|from| write(Source::Checkpoint(from))),
            None => write(Source::Pool(&self.space, &self.superblock()?)),
        }
    }

    /// When and where the session makes checkpoints.
    pub fn schedule(&self) -> Result<Schedule> {
        Ok(self.superblock()?.schedule)
    }

    /// The superblock of the session.
    fn superblock(&self) -> Result<Superblock> {
        Ok(*self.file.lock().as_ref().ok_or_else(|| self.closed())?.superblock())
    }
}

/// The file at a path.
pub struct FileThere<'p> {
    path: &'p Path,
    file: Option<FileId>,
}

impl<'p> FileThere<'p> {
    /// The file that is at the path now.
    pub fn at(path: &'p Path) -> Self {
        Self { path, file: whereabouts::at(path).ok() }
    }

    /// Removes the file, unless another file is at the path by now.
    pub fn remove(self) {
        if whereabouts::at(self.path).ok() == self.file {
            let _ = std::fs::remove_file(self.path);
        }
    }
}

impl Options {
    /// An empty pool for `path`, in a file with the mode and the owner of that of `like`.
    pub fn draft(&self, path: &Path, like: &Open) -> Result<Draft> {
        Draft::of_pool(path, self.access(), &*like.space.media().file()?)
    }

    /// Writes the contents of `source` as a closed pool to `to`. `of` is the file of the pool that `source` belongs to.
    fn write_copy(
        &self,
        to: &Path,
        (source, of): (Source<'_>, &File),
        progress: &mut Progress<'_>,
    ) -> Result<()> {
        let placement = |file: &PoolFile| Placement::of(file.file(), true, self.media);
        let mount = |file: &mut PoolFile| {
            // A copy grows only by what its close saves, which is far less than the copy has.
            let most = file.len()?.saturating_mul(2).clamp(LEAST_ADDRESSES, Reservation::MAX);
            let options = Self { max_size: Some(most), ..self.clone() };
            options.begin_on(file, placement(file)?)
        };
        backup::write(to, (source, of), self.any_filesystem, (&placement, &mount), progress)
    }

    /// See `Pool::backup_of_checkpoint`.
    pub fn backup_of_checkpoint(
        &self,
        path: &Path,
        from: Option<&Path>,
        to: &Path,
        progress: &mut Progress<'_>,
    ) -> Result<SystemTime> {
        let mut write = |source: Source<'_>, of: &File| self.write_copy(to, (source, of), progress);
        ByHand { path, from, keep_torn: false }.copy_beside_a_writer(&mut write)
    }

    /// Takes a pool back to a checkpoint, or makes a missing pool from one.
    pub fn restore_by_hand(
        &self,
        by_hand: &ByHand<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Restored> {
        let placement = |file: &PoolFile| Placement::of(file.file(), true, self.media);
        match self.lock(by_hand.path) {
            Err(error) if is_io(&error, io::ErrorKind::NotFound) => {
                by_hand.make_anew(self.any_filesystem, placement, progress)
            }
            file => {
                let from = by_hand.from.map(|from| Checkpoints::as_left().in_file(from));
                let mut file =
                    file.map_err(|error| told::explained(by_hand.path, from.as_ref(), error))?;
                let placement = placement(&file)?;
                by_hand.restore(&mut file, &placement, progress)
            }
        }
    }
}
