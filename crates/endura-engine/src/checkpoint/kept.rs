//! The checkpoints of an open pool: the file in which the session keeps them, and whether that file is still there.
//!
//! The session knows the folder and the file by device and inode, and it knows its newest checkpoint. Each round looks
//! before it writes:
//!
//! | the folder | the file | what the round does |
//! | --- | --- | --- |
//! | as it was | as it was, with the newest checkpoint | writes to it |
//! | | as it was, with another checkpoint: it was written over | nothing |
//! | | is not there: it was removed | makes a new one |
//! | | is not there, but a link to it is | nothing |
//! | | another file, which holds the newest checkpoint | writes to that, looks at all pages |
//! | | any other file | nothing |
//! | | an error was met before: it is opened again | as above |
//! | another, or none | holds the newest checkpoint: its disk was mounted again | writes to that, looks at all pages |
//! | | any other, or none: unplugged, mounted over, replaced | nothing |
//!
//! If a round does nothing, it fails with a reason, and the next one looks again. So the session continues with the
//! folder and the file when they come back. A new file replaces only a file that this session has made or had.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::checkpoint::beside::{Beside, PATIENCE, PathTarget};
use crate::checkpoint::file::failure::Failure;
use crate::checkpoint::file::root::Moment;
use crate::checkpoint::why::{self, bad};
use crate::os::file_identity::FileId;
use crate::os::new_file::folder_of;
use crate::os::whereabouts;
use crate::{Error, Result};

const ANOTHER_FOLDER: &str = "its folder is another one than when the pool was opened (a disk was unplugged or mounted over it, or the folder was \
     replaced), and nothing is written there: bring the folder back, or close the pool and open it again";
const NO_FOLDER: &str = "its folder is gone (a disk was unplugged, or the folder was moved), and nothing is written there: bring the folder back, \
     or close the pool and open it again";

/// The file of a session's checkpoints.
#[derive(Debug)]
pub(crate) struct Kept {
    path: PathBuf,
    /// The folder as the session found it; `None` if it did not exist.
    folder: Option<FileId>,
    file: Option<Beside>,
    /// The last file that the session had.
    had: Option<FileId>,
    /// Whether the last file was given up: it cannot be used, or what is durable in it is not known. A new file
    /// replaces it.
    is_given_up: bool,
    /// The newest checkpoint that the session knows of.
    newest: Option<(Moment, u64)>,
    /// The number of the session that keeps the file.
    session: [u8; 16],
}

impl Kept {
    /// The file that the open of this session has found at `path`, in this folder.
    pub(crate) fn of(
        path: &Path,
        folder: Option<FileId>,
        file: Option<Beside>,
        session: [u8; 16],
    ) -> Self {
        let newest = file.as_ref().and_then(Beside::newest_numbered);
        let had = file.as_ref().and_then(Beside::id);
        Self { path: path.to_owned(), folder, file, had, is_given_up: false, newest, session }
    }

    /// The file, if there is one.
    pub(crate) fn file(&mut self) -> Option<&mut Beside> {
        self.file.as_mut()
    }

    /// The number of the newest checkpoint whose file has its name.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.newest.map(|(_, number)| number)
    }

    /// Releases the file for the next session.
    pub(crate) fn let_go(&mut self) {
        self.file = None;
    }

    /// Notes why a round could not write to the file.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        match failure {
            // The file is as it was, and the next round may find space.
            Failure::Io(error) if lacks_room(error) => {}
            // The error may be gone when the file is opened again.
            Failure::Io(_) => self.doubt(),
            // What is durable in the file is not known, or it cannot be used: a new file replaces it.
            _ => (self.file, self.is_given_up) = (None, true),
        }
    }

    fn doubt(&mut self) {
        // A file that has no name yet is lost by this, and made again.
        self.file = None;
    }

    /// Gives the file of a round its name, if it is new, and remembers its checkpoint as the newest.
    ///
    /// # Errors
    ///
    /// As for [`Beside::settle`].
    pub(crate) fn settle(&mut self) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.settle()?;
        (self.newest, self.had, self.is_given_up) = (file.newest_numbered(), file.id(), false);
        Ok(())
    }

    /// Makes sure that there is a file to which a round can be written: see the table above. Returns whether that round
    /// must look at all pages. `newest` is the number of the newest checkpoint that the `pool` has had, even if it is
    /// lost.
    ///
    /// # Errors
    ///
    /// [`Error::BadCheckpoint`] with what the path leads to instead; [`Error::Io`].
    pub(crate) fn ready(&mut self, pool: &File, most_pages: u32, newest: u64) -> Result<bool> {
        let has_moved = self.has_folder_moved()?;
        let place = self.file.as_ref().map(Beside::place);
        match (place, &self.file) {
            (Some(PathTarget::Own), Some(file)) if !has_moved => {
                return match file.expect_untouched() {
                    Err(error @ Error::Io { .. }) => {
                        self.doubt();
                        Err(error)
                    }
                    untouched => untouched.map(|()| false),
                };
            }
            // The file was removed: what is written to it could not be found.
            (Some(PathTarget::Nothing), _) if !has_moved => self.file = None,
            _ => {}
        }
        match whereabouts::at(&self.path) {
            Ok(found) if self.is_given_up && self.had == Some(found) && !has_moved => {}
            Ok(_) => {
                if self.take_up(most_pages, has_moved)? {
                    return Ok(true);
                }
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::opening(&self.path, error));
            }
            Err(_) if has_moved => return Err(bad(&self.path, ANOTHER_FOLDER)),
            Err(_) if fs::symlink_metadata(&self.path).is_ok() => {
                return Err(bad(&self.path, why::NOWHERE));
            }
            Err(_) => {}
        }
        let mut made = Beside::create(&self.path, pool, most_pages, self.had)?;
        made.follow(newest)?;
        self.file = Some(made);
        Ok(true)
    }

    /// Whether the file is where it was.
    pub(crate) fn is_there(&mut self) -> bool {
        let is_own = |file: &Beside| matches!(file.place(), PathTarget::Own);
        !self.has_folder_moved().unwrap_or(true) && self.file.as_ref().is_some_and(is_own)
    }

    /// Whether the folder is another one than before.
    fn has_folder_moved(&mut self) -> Result<bool> {
        let folder = folder_of(&self.path);
        match (whereabouts::at(folder), self.folder) {
            (Ok(found), Some(known)) => Ok(found != known),
            // There was no folder, and so no checkpoint in it.
            (Ok(found), None) => {
                self.folder = Some(found);
                Ok(false)
            }
            (Err(error), Some(_)) if error.kind() == io::ErrorKind::NotFound => {
                Err(bad(&self.path, NO_FOLDER))
            }
            (Err(error), _) => Err(Error::opening(folder, error)),
        }
    }

    /// Opens the file at the path, if it holds the newest checkpoint. Returns `false` if it is this session's file, but
    /// was given up. The file that the session had stays open until another one is taken up, because it may come back.
    fn take_up(&mut self, most_pages: u32, has_moved: bool) -> Result<bool> {
        let refused = if has_moved { ANOTHER_FOLDER } else { why::REPLACED };
        // If the path leads to the session's own file, that file can be locked again only after it is released.
        if whereabouts::at(&self.path).ok() == self.had {
            self.file = None;
        }
        let found = match Beside::open(&self.path, most_pages, (false, PATIENCE)) {
            Ok(found) => found,
            Err(Error::BadCheckpoint { .. }) if has_moved => None,
            Err(error) => return Err(error),
        };
        let is_newest =
            |found: &Beside| self.newest.is_some() && found.newest_numbered() == self.newest;
        let is_own = |found: &Beside| {
            is_newest(found) || self.is_given_up && found.session() == Some(self.session)
        };
        let Some(found) = found.filter(is_own) else { return Err(bad(&self.path, refused)) };
        self.folder = whereabouts::at(folder_of(&self.path)).ok();
        self.had = found.id();
        self.file = Some(found).filter(|_| !self.is_given_up);
        Ok(self.file.is_some())
    }
}

fn lacks_room(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
