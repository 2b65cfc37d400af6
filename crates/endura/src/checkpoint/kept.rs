//! The checkpoints of an open pool: which file they are in, as the session knows it, and whether that is still there.
//!
//! The session knows the folder and the file by device and inode, and of what the newest checkpoint is. Each round looks before
//! it writes:
//!
//! | the folder | the file | what the round does |
//! | --- | --- | --- |
//! | as it was | as it was, with the newest checkpoint | writes to it |
//! | | with another one: it was written over | nothing |
//! | | is not there: it was removed | makes a new one |
//! | | is not there, but a link to it is | nothing |
//! | | another one, which holds the newest checkpoint | writes to that, after a look at all pages |
//! | | another one | nothing |
//! | | an error was met before: it is opened again | as above |
//! | another one, or none | holds the newest checkpoint: the same disk, mounted again | writes to that, after a look at all pages |
//! | | any other, or none: unplugged, mounted over, replaced | nothing |
//!
//! Where a round does nothing it fails with a sentence, and the next one looks again. So when the folder and the file come back
//! they are taken up. A new file never takes the place of one that this session has not made or had.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::checkpoint::beside::{self, Beside, PATIENCE, Place, bad};
use crate::checkpoint::file::failure::Failure;
use crate::checkpoint::file::root::Moment;
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
    /// As the session found it; none if it was not there.
    folder: Option<FileId>,
    file: Option<Beside>,
    /// The last file that the session had.
    had: Option<FileId>,
    /// Whether the file may be left as it is: it is not known what is durable in it.
    is_given_up: bool,
    /// The newest checkpoint, as far as the session knows.
    newest: Option<(Moment, u64)>,
    /// The session.
    session: [u8; 16],
}

impl Kept {
    /// What the open of this session has found at `path`, in this folder.
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

    /// The number of the newest checkpoint that has its name.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.newest.map(|(_, number)| number)
    }

    /// Lets the file go, for the next session.
    pub(crate) fn let_go(&mut self) {
        self.file = None;
    }

    /// Says why a round could not write to the file.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        match failure {
            // The file is as it was, and the next round may find room.
            Failure::Io(error) if lacks_room(error) => {}
            // It may be well again when it is opened anew.
            Failure::Io(_) => self.doubt(),
            // What is durable in it is not known, or it cannot be used: a new one takes its place.
            _ => (self.file, self.is_given_up) = (None, true),
        }
    }

    fn doubt(&mut self) {
        // What has no name yet is made anew.
        self.file = None;
    }

    /// Gives the file of a round its name, if it is new, and takes what it holds for the newest checkpoint.
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

    /// Sees to it that there is a file to which a round may be written: see the table above. Whether that round must look at
    /// all pages. `newest` is the number of the newest checkpoint of the `pool`, whatever became of it.
    ///
    /// # Errors
    ///
    /// [`Error::BadCheckpoint`] with what is there in its place; [`Error::Io`].
    pub(crate) fn ready(&mut self, pool: &File, most_pages: u32, newest: u64) -> Result<bool> {
        let has_moved = self.has_folder_moved()?;
        let place = self.file.as_ref().map(Beside::place);
        match (place, &self.file) {
            (Some(Place::Own), Some(file)) if !has_moved => {
                return match file.expect_untouched() {
                    Err(error @ Error::Io { .. }) => {
                        self.doubt();
                        Err(error)
                    }
                    untouched => untouched.map(|()| false),
                };
            }
            // It was removed: what would be written to it could not be found.
            (Some(Place::Nothing), _) if !has_moved => self.file = None,
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
                return Err(bad(&self.path, beside::NOWHERE));
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
        let is_own = |file: &Beside| matches!(file.place(), Place::Own);
        !self.has_folder_moved().unwrap_or(true) && self.file.as_ref().is_some_and(is_own)
    }

    /// Whether the folder is another one than it was.
    fn has_folder_moved(&mut self) -> Result<bool> {
        let folder = folder_of(&self.path);
        match (whereabouts::at(folder), self.folder) {
            (Ok(found), Some(known)) => Ok(found != known),
            // There was none, and no checkpoint in it.
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

    /// Opens what is at the path, if it holds the newest checkpoint; false if it is this session's, but was given up. What this
    /// session had stays open until then: it may come back.
    fn take_up(&mut self, most_pages: u32, has_moved: bool) -> Result<bool> {
        let refused = if has_moved { ANOTHER_FOLDER } else { beside::REPLACED };
        // Its own file can only be locked when it is let go.
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
