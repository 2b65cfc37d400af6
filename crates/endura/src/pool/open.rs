//! How a path becomes an open pool.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io};

use super::check;
use super::listen;
use super::options::PoolOptions;
use super::pool::{Begun, Pool};
use crate::checkpoint::Checkpoints;
use crate::checkpoint::backup::{self, ByHand, Source};
use crate::checkpoint::beside::{self, Beside, PATIENCE};
use crate::checkpoint::found::{self, Plan, Restored, Search};
use crate::checkpoint::keeper::Keeper;
use crate::checkpoint::restore;
use crate::index::ready_locks;
use crate::media::{Domain, Mapped, Mapping, Placement, Reservation, STEP};
use crate::space::{Access, Doubt, Event, OwnPath, PoolFile, Session, Space, own};
use crate::{Error, Result};

/// Addresses reserved by default.
const DEFAULT_MAX_SIZE: u64 = 1 << 40;
/// The shortest pause between two attempts to take a lock that another handle has.
const SHORTEST_PAUSE: Duration = Duration::from_micros(200);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// The least that is reserved as the default if address space is scarce.
const LEAST_DEFAULT: u64 = 1 << 30;
/// The default takes at most one part in so many of the largest gap in the address space: the rest is for the program,
/// and for other pools.
const LEAVING: u64 = 8;
/// The same if the default is not available, so that the next thousand pools find space.
const LEAVING_WHERE_SCARCE: u64 = 64;
const FEW_ADDRESSES: &str = "the process has too few free addresses for the usual 1 TiB: `max_bytes` says how far the pool may \
     grow while it is open this time; set `max_size` where many pools are open at once";

impl PoolOptions {
    /// Opens the pool at `path`, which must exist. Takes a few milliseconds, whatever the size of the pool.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if it is open elsewhere, and remains so for the [`lock_timeout`](Self::lock_timeout);
    /// [`Error::NotAPool`], [`Error::Truncated`], [`Error::Version`], [`Error::UnknownFeatures`] and [`Error::Corrupt`]
    /// if the file is not a pool of this build; [`Error::NeedsRestore`] if the machine stopped, or the file was copied,
    /// while the pool was open, or if that cannot be known; [`Error::NeedsRecovery`] if a writer has to open it first;
    /// [`Error::Unsupported`] for what does not work on this machine; [`Error::Io`], also with `NotFound`. A refused
    /// file is not changed.
    pub fn open_existing(&self, path: impl AsRef<Path>) -> Result<Pool> {
        let (path, begun) = (path.as_ref(), Instant::now());
        loop {
            match self.open_once(path) {
                // Somebody came by a path whose lock is not this one's.
                Err(Error::Locked) if begun.elapsed() < self.lock_timeout => {
                    std::thread::sleep(LONGEST_PAUSE);
                }
                outcome => return outcome,
            }
        }
    }

    fn open_once(&self, path: &Path) -> Result<Pool> {
        match self.locked(path) {
            Err(error) if is_io(&error, io::ErrorKind::NotFound) => {
                match self.make_anew(path)? {
                    Some((file, restored)) => self.open_locked(path, file, Some(restored)),
                    // Another process may have been faster.
                    None if fs::metadata(path).is_ok() => {
                        self.open_locked(path, self.locked(path)?, None)
                    }
                    None => Err(error),
                }
            }
            Err(error) => Err(self.explain_empty(path, error)),
            Ok(file) => self.open_locked(path, file, None),
        }
    }

    /// Makes a pool that is missing beside its checkpoint from that; none if there is no checkpoint either.
    fn make_anew(&self, path: &Path) -> Result<Option<(PoolFile, Restored)>> {
        if self.read_only || !self.restore || fs::symlink_metadata(path).is_ok() {
            return Ok(None);
        }
        // Looked at again under the lock: of several processes one makes the pool.
        let Some(mut from) = self.checkpoint_to_begin_from(path)? else { return Ok(None) };
        let placement = |file: &PoolFile| Placement::of(file.file(), true, self.media);
        let made = found::make_anew(path, self.access(), &mut from, placement, &mut found::quietly);
        match made {
            // Another process was faster: its pool is there now.
            Err(error) if is_io(&error, io::ErrorKind::AlreadyExists) => Err(Error::Locked),
            made => made.map(Some),
        }
    }

    /// The checkpoint of a pool that is not there, locked. None if the pool is there meanwhile: another process that has the
    /// lock may be making it.
    fn checkpoint_to_begin_from(&self, path: &Path) -> Result<Option<Beside>> {
        let begun = Instant::now();
        loop {
            let from = self.checkpoint_of(path, false);
            if fs::symlink_metadata(path).is_ok() {
                return Ok(None);
            }
            match from {
                Err(error) if beside::is_in_use(&error) && begun.elapsed() < self.lock_timeout => {}
                from => return from,
            }
        }
    }

    /// The checkpoint of a pool that is not there.
    fn checkpoint_of(&self, path: &Path, read_only: bool) -> Result<Option<Beside>> {
        let choice = self.checkpoints.as_ref();
        let chosen = choice.and_then(|choice| choice.file.clone());
        let is_chosen = chosen.is_some();
        let from = chosen.unwrap_or_else(|| beside::default_path(path));
        let found = Beside::open(&from, u32::MAX, (read_only, PATIENCE))?;
        match found.as_ref().and_then(Beside::newest) {
            None if choice.is_some_and(|choice| choice.must_exist) => {
                Err(beside::bad(&from, found::MUST_EXIST))
            }
            None if fs::symlink_metadata(&from).is_ok() => Err(beside::bad(&from, beside::NOWHERE)),
            // Two pools may have been given one file.
            Some(moment) if is_chosen && ![0, own::hash_of(path)].contains(&moment.path) => {
                Err(beside::bad(&from, beside::OF_ANOTHER_NAME))
            }
            _ => Ok(found),
        }
    }

    /// Tells of a whole checkpoint beside a file that is empty.
    fn explain_empty(&self, path: &Path, error: Error) -> Error {
        match (&error, self.checkpoint_of(path, true)) {
            (Error::NotAPool { .. }, Ok(Some(found)))
                if fs::metadata(path).is_ok_and(|facts| facts.len() == 0) =>
            {
                beside::bad(found.path(), beside::OF_AN_EMPTY_FILE)
            }
            _ => error,
        }
    }

    /// A new pool must not come over what a checkpoint keeps.
    fn refuse_beside_a_checkpoint(&self, path: &Path) -> Result<()> {
        // That there is something at the path is told by who creates the pool.
        if fs::symlink_metadata(path).is_ok() {
            return Ok(());
        }
        match self.checkpoint_of(path, true)? {
            Some(found) => Err(beside::bad(found.path(), beside::OF_NO_POOL)),
            None => Ok(()),
        }
    }

    /// Writes a closed pool with the contents of `source`, which is of the pool in the file `of`, to `to`.
    pub(super) fn write_copy(
        &self,
        to: &Path,
        (source, of): (Source<'_>, &fs::File),
        progress: &mut restore::Progress<'_>,
    ) -> Result<()> {
        let placement = |file: &PoolFile| Placement::of(file.file(), true, self.media);
        let mount = |file: &mut PoolFile| {
            let placement = placement(file)?;
            self.mount(file, placement, None)
        };
        backup::write(to, (source, of), self.any_filesystem, (&placement, &mount), progress)
    }

    /// Takes a pool back to a checkpoint, or makes it from one.
    pub(super) fn restore_by_hand(
        &self,
        by_hand: &ByHand<'_>,
        progress: &mut restore::Progress<'_>,
    ) -> Result<Restored> {
        let placement = |file: &PoolFile| Placement::of(file.file(), true, self.media);
        match self.locked(by_hand.path) {
            Err(error) if is_io(&error, io::ErrorKind::NotFound) => {
                by_hand.make_anew(self.any_filesystem, placement, progress)
            }
            file => {
                let mut file = file?;
                let placement = placement(&file)?;
                by_hand.restore(&mut file, &placement, progress)
            }
        }
    }

    /// Creates an empty pool at `path` and opens it. A crash leaves no pool or a complete one; a failure leaves none.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] with `AlreadyExists` if something exists at `path`, also a dangling link; [`Error::Full`];
    /// otherwise as for [`open_existing`](Self::open_existing).
    pub fn create_new(&self, path: impl AsRef<Path>) -> Result<Pool> {
        self.check_max_size()?;
        let path = path.as_ref();
        let events = listen::events(self, path)?;
        self.refuse_beside_a_checkpoint(path)?;
        let mut file = PoolFile::create(path, self.access())?;
        match self.begin(path, &mut file, true) {
            Ok(begun) => {
                begun.space.tell_to(events);
                Ok(Pool::new(path, begun, file, self.recovery_threads))
            }
            Err(error) => {
                // The file is still locked: no other handle has used it.
                file.discard(path);
                Err(error)
            }
        }
    }

    /// Opens the pool at `path`. If nothing exists there, creates the pool first, unless it is to be read-only. Of
    /// several processes that do this at once, one creates the pool. A symbolic link is followed to an existing pool.
    /// For a dangling link no pool is created, neither in its place nor at its target: that is [`Error::Io`] with
    /// `NotFound`, whose text says so.
    ///
    /// # Errors
    ///
    /// As for [`open_existing`](Self::open_existing) and [`create_new`](Self::create_new).
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Pool> {
        match self.open_existing(&path) {
            Err(error) if is_io(&error, io::ErrorKind::NotFound) && !self.read_only => {}
            outcome => return outcome,
        }
        match self.create_new(&path) {
            Err(error) if is_io(&error, io::ErrorKind::AlreadyExists) => self.open_existing(&path),
            outcome => outcome,
        }
    }

    /// The pool's file, as soon as no other handle has it locked. The path is opened again for each attempt: a waiting
    /// caller never locks a file that was deleted meanwhile.
    fn locked(&self, path: &Path) -> Result<PoolFile> {
        let (begun, mut pause) = (Instant::now(), SHORTEST_PAUSE);
        loop {
            match PoolFile::open(path, self.access()) {
                Err(Error::Locked) if begun.elapsed() < self.lock_timeout => {
                    std::thread::sleep(
                        pause.min(self.lock_timeout.saturating_sub(begun.elapsed())),
                    );
                    pause = (2 * pause).min(LONGEST_PAUSE);
                }
                outcome => return outcome,
            }
        }
    }

    pub(super) fn access(&self) -> Access {
        Access { read_only: self.read_only, any_filesystem: self.any_filesystem }
    }

    fn check_max_size(&self) -> Result<()> {
        match self.max_size {
            Some(bytes) if bytes > Reservation::MAX => Err(Error::Unsupported {
                what: "a `max_size` above 64 TiB, more than a process can address; choose less",
            }),
            _ => Ok(()),
        }
    }

    fn open_locked(
        &self,
        path: &Path,
        mut file: PoolFile,
        restored: Option<Restored>,
    ) -> Result<Pool> {
        let events = listen::events(self, path)?;
        let mut begun = self.begin(path, &mut file, false)?;
        begun.restored = begun.restored.or(restored);
        begun.space.tell_to(events);
        if let Some(restored) = &begun.restored {
            let (age, written_bytes) = (restored.age(), restored.written_bytes);
            begun.space.tell(|| Event::Restored { age, written_bytes });
        }
        if !begun.session.clean {
            let generation = begun.session.generation;
            begun.space.tell(|| Event::OpenedUnclean { generation });
        }
        Ok(Pool::new(path, begun, file, self.recovery_threads))
    }

    /// All steps that can fail precede the one write that starts a session.
    fn begin(&self, path: &Path, file: &mut PoolFile, is_new: bool) -> Result<Begun> {
        self.check_max_size()?;
        let placement = Placement::of(file.file(), !self.read_only, self.media)?;
        let own_path = OwnPath::of(path, file.file());
        let own_path = own_path.map_err(|error| Error::opening(path, error))?;
        let mut plan = match self.read_only {
            true => None,
            false => self.plan(path, file, &placement, is_new)?,
        };
        let (doubt, is_suspect) = self.doubt(path, file, &placement, plan.as_mut())?;
        let restored = match (&mut plan, doubt) {
            (Some(plan), Some(doubt)) if self.restore && doubt.goes_back() => {
                plan.go_back(path, file, doubt, &placement)?
            }
            _ => None,
        };
        let doubt = doubt.filter(|_| restored.is_none());
        if let Some(doubt) = doubt.filter(|_| !self.accept_unclean) {
            return Err(Error::NeedsRestore { reason: doubt.reason() });
        }
        file.check_length()?;
        let is_accepted = doubt.is_some();
        if is_accepted {
            file.expect_alone()?;
            self.verify_before_accepting(file, placement)?;
            if is_suspect && !self.read_only {
                file.write_again()?;
            }
        }
        file.warn_of_silence(&placement)?;
        if let Some(plan) = &mut plan {
            plan.announce(file, doubt.is_some())?;
        }
        let kept = match self.read_only {
            true => found::facts(path, self.checkpoints.as_ref(), file),
            false => None,
        };
        let (space, session) = self.mount(file, placement, plan.as_mut())?;
        // What was verified, or taken back page by page, is not in doubt.
        let is_in_doubt = !session.clean && !is_accepted && restored.is_none();
        let plan = plan.filter(Plan::is_on);
        let begin = |plan| Keeper::begin(&space, file, own_path.clone(), plan, is_in_doubt);
        let keeper = plan.map(begin);
        Ok(Begun { space, placement, session, keeper, kept, restored, own_path })
    }

    /// Why the pool may be torn, if it may be, and whether that is because the disk refused pages of it.
    fn doubt(
        &self,
        path: &Path,
        file: &mut PoolFile,
        placement: &Placement,
        plan: Option<&mut Plan>,
    ) -> Result<(Option<Doubt>, bool)> {
        // The kernel tells it once: a session that only reads must not hear it.
        if !self.read_only {
            file.hear_of_refused_pages();
        }
        let last = *file.superblock();
        let is_suspect = last.suspects(&last)
            || match &plan {
                Some(plan) => plan.suspects(&last),
                None => found::suspects(path, self.checkpoints.as_ref(), &last),
            };
        let doubt = match (file.doubt(placement, is_suspect)?, plan) {
            (None, Some(plan)) if last.clean && file.has_moved() => {
                // A copy, or a pool that was moved: its checkpoint knows each page.
                plan.differs(file)?.then_some(Doubt::TORN_COPY)
            }
            (doubt, _) => doubt,
        };
        Ok((doubt, is_suspect))
    }

    /// When and where checkpoints are made; none if they are not.
    fn plan(
        &self,
        path: &Path,
        file: &PoolFile,
        placement: &Placement,
        is_new: bool,
    ) -> Result<Option<Plan>> {
        let is_written_back = !placement.direct && !file.filesystem().is_in_memory();
        let default = (is_new && is_written_back).then(Checkpoints::default);
        let choice = self.checkpoints.as_ref().or(default.as_ref());
        let most = self.max_size.unwrap_or(DEFAULT_MAX_SIZE).max(file.len()?);
        let search = Search {
            most_pages: found::pages_within(most),
            may_be_too_large: most > found::MOST_BYTES,
            patience: self.lock_timeout.max(PATIENCE),
            any_filesystem: self.any_filesystem,
            accepts: self.accept_unclean,
        };
        Plan::of(path, choice, file, search)
    }

    /// Maps the file and starts a session on it.
    fn mount(
        &self,
        file: &mut PoolFile,
        placement: Placement,
        mut plan: Option<&mut Plan>,
    ) -> Result<(Arc<Space<Mapped>>, Session)> {
        let notes_pages = plan.as_deref().is_some_and(Plan::is_on);
        let medium = self.map(file, placement, (self.read_only, notes_pages))?;
        Space::inspect(&medium, file.next_session()?)?;
        if let Some(plan) = &mut plan {
            plan.write_number(file.file())?;
        }
        let session = file.begin(&placement)?;
        let space = Space::mount(medium, session)?;
        if notes_pages {
            space.let_writers_park();
        }
        ready_locks(&space)?;
        if let Some(plan) = plan {
            plan.remove_unwanted(file)?;
        }
        Ok((Arc::new(space), session))
    }

    /// Maps the file, with address space for its largest size.
    fn map(
        &self,
        file: &mut PoolFile,
        placement: Placement,
        (read_only, notes_pages): (bool, bool),
    ) -> Result<Mapped> {
        // What stands behind the last whole step is not mapped.
        let have = file.len()?;
        let have = have - have % STEP;
        let reservation = match self.max_size {
            _ if read_only => Reservation::new(have),
            Some(bytes) => Reservation::new(bytes.max(have)),
            None => reserve_default(have),
        };
        let reservation = reservation.map_err(|error| {
            Error::io("reserving addresses for the pool (`max_size`, `ulimit -v`)", error)
        })?;
        if !read_only && self.max_size.is_none() && reservation.len() < DEFAULT_MAX_SIZE {
            file.warn(FEW_ADDRESSES);
        }
        let own = fs::File::try_clone(file.file());
        let own = own.map_err(|error| Error::io("duplicating the file's descriptor", error))?;
        let Placement { direct, domain, instruction, .. } = placement;
        let mapping = Mapping { read_only, direct, domain, instruction, notes_pages };
        let map = if self.read_mostly { Mapped::read_mostly } else { Mapped::new };
        map(own, reservation, mapping)
    }

    /// Before anything is written, verifies a doubtful pool in a session that stores nothing.
    fn verify_before_accepting(&self, file: &mut PoolFile, placement: Placement) -> Result<()> {
        // Nothing in this session becomes durable.
        let in_passing = Placement { domain: Domain::PageCache, ..placement };
        let medium = self.map(file, in_passing, (true, false))?;
        let session = Session { clean: false, read_only: true, ..file.next_session()? };
        check::verify(&Space::mount(medium, session)?).map(drop)
    }
}

/// Reserves addresses for a pool of `have` bytes for which the caller chose no largest size.
fn reserve_default(have: u64) -> io::Result<Reservation> {
    if let Ok(all) = Reservation::leaving(DEFAULT_MAX_SIZE.max(have), LEAVING) {
        return Ok(all);
    }
    let least = LEAST_DEFAULT.max(have);
    let mut bytes = DEFAULT_MAX_SIZE / 2;
    while bytes > least {
        match Reservation::leaving(bytes, LEAVING_WHERE_SCARCE) {
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory => bytes /= 2,
            outcome => return outcome,
        }
    }
    // The present size must be reserved, even in a process with a limit on its address space.
    Reservation::leaving(least, LEAVING).or_else(|_| Reservation::leaving(least, 2))
}

fn is_io(error: &Error, kind: io::ErrorKind) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == kind)
}
