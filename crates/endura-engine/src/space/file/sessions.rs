//! Sessions of a pool's file: how one begins, and how it ends.
//!
//! The session number is in three places: the superblock, the [mark](session_mark) of the file, and the [mark after its
//! end](EndMark). `S` is the number of the last session, `T` that of this one. A process that is killed between two
//! steps leaves one of these states, and in each of them the pool can be opened:
//!
//! | after the step | superblock | mark | after the end | the next open |
//! | --- | --- | --- | --- | --- |
//! | before an open | `S` closed | none | `S` | whole |
//! | | `S` not closed | `S` | nothing | they agree |
//! | 1 mark | `S` closed | `T` | `S` | whole |
//! | | `S` not closed | `T` and `S` | nothing | they agree |
//! | 2 end mark, if there is one | `S` closed | `T` | `S` and the file | whole: nothing was stored; a copy is not |
//! | 3 superblock, durable | `T` not closed | `T`, or `T` and `S` | any | they agree |
//! | 4 mark, if `S` is in it; end mark removed | `T` not closed | `T` | nothing | they agree |
//! | 5 close: the file is cut, end mark, synced | `T` not closed | `T` | `T` | they agree |
//! | 6 superblock, durable | `T` closed | `T` | `T` | whole |
//! | 7 mark removed | `T` closed | none | `T` | whole |
//!
//! If step 1 fails, the superblock says that there is no mark, and step 4 removes the mark of `S`. If step 5 finds no
//! space, the superblock says that there is no end mark.
//!
//! The mark is not synced: after another boot, or another mount, a pool on a disk is in doubt whatever the mark says.
//! If the pool is safe from power loss, the mark is synced between steps 1 and 2, and names `S` and `T` until step 4 is
//! on the disk as well.

use std::io;

use crate::media::{Placement, STEP};
use crate::os::boot::Boot;
use crate::os::identity;
use crate::os::mounted::{self, Mounted};
use crate::os::session_mark::{self, Mark};
use crate::space::file::doubt::{NO_BIRTH, NO_PROOF};
use crate::space::file::end_mark::EndMark;
use crate::space::file::entrance;
use crate::space::file::own_blocks;
use crate::space::file::pool_file::PoolFile;
use crate::space::file::superblock::Superblock;
use crate::space::session::{Inspected, Session};
use crate::{Error, Result};

/// What a session needs before it can be announced.
#[derive(Debug)]
pub(crate) struct Prepared {
    session: Session,
    /// The number of the session.
    number: [u8; 16],
    boot: Boot,
}

impl PoolFile {
    /// The session that [`begin`](Self::begin) would begin.
    pub(crate) fn next_session(&self) -> Result<Session> {
        let last = &self.superblock;
        let generation = last.generation.checked_add(1).ok_or(Error::Corrupt {
            offset: crate::space::layout::SUPERBLOCK_A,
            what: "a generation that no pool can reach",
        })?;
        Ok(Session { generation, clean: last.clean, read_only: self.access.read_only })
    }

    /// Does all that a session needs before it is announced. Writes nothing into the pool.
    pub(crate) fn prepare(&mut self, placement: &Placement) -> Result<Prepared> {
        let session = self.next_session()?;
        if placement.direct && !session.clean {
            // The caches may hold stores of a session that did not flush (eADR, page cache), and this session relies on
            // what it finds being durable.
            self.file
                .sync_data()
                .map_err(|e| Error::io("syncing what was found in the pool", e))?;
        }
        if !session.read_only {
            own_blocks::make_sure(&self.file, self.filesystem)?
                .into_iter()
                .for_each(|what| self.warn(what));
        }
        self.announcement(session)
    }

    /// Begins the session that was [prepared](Self::prepare), of a pool that was inspected. The start of the session is
    /// durable on return. A read-only session writes nothing, and takes the next generation in memory only.
    pub(crate) fn begin(
        &mut self,
        prepared: Prepared,
        _: &Inspected,
        placement: &Placement,
    ) -> Result<Session> {
        let session = prepared.session;
        if !session.read_only {
            self.announce(prepared, placement)?;
        }
        Ok(session)
    }

    /// The part of the next superblock that has to be found out, for a session that is about to begin.
    fn announcement(&self, session: Session) -> Result<Prepared> {
        if !session.read_only {
            // If the superblock may not be written, this fails before anything is written.
            Superblock::refuse_beyond_limit()?;
        }
        let (number, boot) = (identity::random()?, Boot::here()?);
        Ok(Prepared { session, number, boot })
    }

    /// Steps 1 to 4 of the table above.
    fn announce(&mut self, prepared: Prepared, placement: &Placement) -> Result<()> {
        let Prepared { session, number, boot } = prepared;
        let last = self.superblock;
        let (file, mounted) = (self.identity(), Mounted::of(&self.file));
        let replaced = (!last.clean && last.is_marked).then_some(last.session);
        let is_marked = entrance::mark(&self.file, number, &last, self.seen)?;
        if is_marked && placement.is_power_safe() {
            // Before the superblock that requires this mark.
            self.file.sync_all().map_err(|e| Error::io("syncing the pool's attributes", e))?;
        }
        entrance::expect_unchanged(&self.file, &last)?;
        let length = self.void_end_mark(file.number())?;
        self.superblock = Superblock {
            generation: session.generation,
            boot,
            mounted,
            file,
            session: number,
            is_marked,
            dirty_shutdowns: placement.dirty_shutdowns,
            domain: placement.domain,
            power_safe: placement.is_power_safe(),
            suspect: 0,
            has_end_mark: false,
            ..last.with_end(false)
        };
        self.superblock.write_first(&self.file).inspect_err(|_| self.suspect_last(&last))?;
        self.superblock.write_second(&self.file)?;
        entrance::expect_own(&self.file, &self.superblock)?;
        self.seen = None;
        EndMark::remove(&self.file, length, STEP)
            .map_err(|e| Error::io("shortening the pool's file", e))?;
        mounted::stay(&self.file);
        if !is_marked {
            session_mark::clear(&self.file);
        } else if replaced.is_some() {
            session_mark::set(&self.file, number, None);
        }
        if !is_marked && !file.has_birth() {
            self.warn(NO_BIRTH);
        }
        let is_proved =
            boot.is_known() && mounted.compare(&mounted, mounted::has_stayed(&self.file)).is_some();
        if !is_proved && !placement.is_power_safe() && !self.filesystem.is_in_memory() {
            self.warn(NO_PROOF);
        }
        Ok(())
    }

    /// Step 2: adds the number of the file to the end mark. Returns the offset of the mark; if there is none, the end
    /// of the file.
    fn void_end_mark(&self, begins: [u8; 16]) -> Result<u64> {
        let Some((EndMark { closed, .. }, length)) = self.end_mark()? else { return self.len() };
        let void = EndMark { closed, begins };
        let void = void.write(&self.file, length).or_else(|error| match error.kind() {
            // If a limit forbids a write there, the mark is removed at once: a process that copies the file finds none.
            io::ErrorKind::FileTooLarge => self.file.set_len(length),
            // The superblock may not be written either, and would then promise a mark that is gone.
            _ => Err(error),
        });
        void.map_err(|error| Error::io("marking the pool's end", error))?;
        Ok(length)
    }

    /// Step 5: records after the last of the pool's `length` bytes that this session closed it. It must be called
    /// before the sync of the close.
    pub(crate) fn mark_end(&mut self, length: u64) {
        let mark = EndMark { closed: self.superblock.session, begins: [0; 16] };
        // A full disk is no reason not to close.
        self.superblock.has_end_mark = mark.write(&self.file, length).is_ok();
    }

    /// Announces that the file has been restored to the checkpoint with this superblock. The pool is then as if its
    /// writer had been killed at the checkpoint, in this boot. The announcement is durable on return.
    pub(crate) fn restored(&mut self, to: &Superblock, placement: &Placement) -> Result<()> {
        let last = &mut self.superblock;
        last.generation = last.generation.max(to.generation);
        if last.base != to.session {
            (last.base, last.base_made) = (to.session, 0);
        }
        last.base_lags = false;
        // The generation of the new session exceeds every generation that has left locks in the pages.
        let session = Session { clean: false, ..self.next_session()? };
        self.announce(self.announcement(session)?, placement)
    }

    /// The superblock that [`end`](Self::end) will write.
    pub(crate) fn closed_superblock(&self) -> Result<Superblock> {
        let sequence = self.superblock.next_sequence()?;
        Ok(Superblock { sequence, ..self.superblock.with_end(true) })
    }

    /// Ends the session. The caller has made all of its data durable. The next open finds the pool clean.
    pub(crate) fn end(&mut self) -> Result<()> {
        if self.access.read_only || !self.lock.is_held() {
            return Ok(());
        }
        self.superblock = self.superblock.with_end(true);
        self.superblock.write_first(&self.file)?;
        // One durable copy is enough, and the next session writes the other one first.
        let _ = self.superblock.write_second(&self.file);
        if self.superblock.is_marked
            && Mark::of(&self.file).names(self.superblock.session) != Some(false)
        {
            // Without the mark, a copy of the open pool that is written over the closed one is recognized.
            session_mark::clear(&self.file);
        }
        Ok(())
    }
}
