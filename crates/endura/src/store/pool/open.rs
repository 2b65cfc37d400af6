//! From a path to an open pool.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::check;
use super::listen;
use super::options::PoolOptions;
use super::pool::Pool;
use super::turn::ready_locks;
use crate::media::{Domain, Mapped, Mapping, Placement, Reservation};
use crate::pool::{Access, Event, PoolFile, Session, Space};
use crate::{Error, Result};

/// Addresses reserved where nothing else is asked for.
const DEFAULT_MAX_SIZE: u64 = 1 << 40;
/// Between two looks at a lock that somebody else has.
const SHORTEST_PAUSE: Duration = Duration::from_micros(200);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// The least that is reserved in place of the default where addresses are scarce.
const LEAST_DEFAULT: u64 = 1 << 30;
/// What part of the largest gap in the address space the default may take, at most: the rest is for the
/// program, and for other pools.
const LEAVING: u64 = 8;
/// The same where the default is not to be had: so that there is something for the next thousand pools.
const LEAVING_WHERE_SCARCE: u64 = 64;
const FEW_ADDRESSES: &str = "the process has too few free addresses for the usual 1 TiB: `max_bytes` says how far the pool may \
     grow while it is open this time; set `max_size` where many pools are open at once";

impl PoolOptions {
    /// Opens the pool at `path`, which must be there. Takes a few milliseconds, however large the pool is.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if it is open elsewhere, and remains so for the
    /// [`lock_timeout`](Self::lock_timeout); [`Error::NotAPool`], [`Error::Truncated`],
    /// [`Error::Version`], [`Error::UnknownFeatures`] and [`Error::Corrupt`] for what is no pool of
    /// this build; [`Error::NeedsRestore`] if the machine went down, or the file was copied, while
    /// it was open, or that cannot be known; [`Error::NeedsRecovery`] if a writer has to open it first;
    /// [`Error::Unsupported`] for what does not work here; [`Error::Io`], also with `NotFound`.
    /// A refused file is left as it was.
    pub fn open_existing(&self, path: impl AsRef<Path>) -> Result<Pool> {
        let path = path.as_ref();
        self.open_locked(path, self.locked(path)?)
    }

    /// Makes an empty pool at `path` and opens it. A crash leaves either no pool or a whole one, a failure leaves
    /// none.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] with `AlreadyExists` if there is something at `path`, also a link that leads nowhere;
    /// [`Error::Full`]; otherwise as for [`open_existing`](Self::open_existing).
    pub fn create_new(&self, path: impl AsRef<Path>) -> Result<Pool> {
        self.check_max_size()?;
        let path = path.as_ref();
        let events = listen::events(self, path)?;
        let mut file = PoolFile::create(path, self.access())?;
        match self.begin(&mut file) {
            Ok((space, placement, session)) => {
                space.tell_to(events);
                Ok(Pool::new(path, space, file, placement, session, self.recovery_threads))
            }
            Err(error) => {
                // Still locked: nobody has been able to use it.
                let _ = fs::remove_file(path);
                Err(error)
            }
        }
    }

    /// Opens the pool at `path`, made first if there is nothing, unless it is to be read only. Of several processes
    /// that do this at once, one makes the pool. A symbolic link is followed to a pool that is there; of one that leads
    /// nowhere no pool is made, neither in its place nor where it leads: that is [`Error::Io`] with `NotFound`, which
    /// says so.
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

    /// The pool's file, as soon as nobody else has it. The path is opened anew each time: what waits never
    /// holds a file that has been deleted meanwhile.
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

    fn access(&self) -> Access {
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

    fn open_locked(&self, path: &Path, mut file: PoolFile) -> Result<Pool> {
        let events = listen::events(self, path)?;
        let (space, placement, session) = self.begin(&mut file)?;
        space.tell_to(events);
        if !session.clean {
            let generation = session.generation;
            space.tell(|| Event::OpenedUnclean { generation });
        }
        Ok(Pool::new(path, space, file, placement, session, self.recovery_threads))
    }

    /// All that can fail comes before the one write that begins a session.
    fn begin(&self, file: &mut PoolFile) -> Result<(Arc<Space<Mapped>>, Placement, Session)> {
        self.check_max_size()?;
        let placement = Placement::of(file.file(), !self.read_only, self.media)?;
        if let Some(reason) = file.doubt(&placement) {
            if !self.accept_unclean {
                return Err(Error::NeedsRestore { reason });
            }
            self.verify_before_accepting(file, placement)?;
        }
        file.warn_of_silence(&placement);
        let (space, session) = self.mount(file, placement)?;
        Ok((space, placement, session))
    }

    /// Maps the file and begins a session on it.
    fn mount(
        &self,
        file: &mut PoolFile,
        placement: Placement,
    ) -> Result<(Arc<Space<Mapped>>, Session)> {
        let medium = self.map(file, placement, self.read_only)?;
        Space::inspect(&medium, file.next_session()?)?;
        let session = file.begin(&placement)?;
        let space = Space::mount(medium, session)?;
        ready_locks(&space)?;
        Ok((Arc::new(space), session))
    }

    /// Maps the file, with room for what it may become.
    fn map(&self, file: &mut PoolFile, placement: Placement, read_only: bool) -> Result<Mapped> {
        let have = file.len()?;
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
        let own = file.file().try_clone();
        let own = own.map_err(|error| Error::io("duplicating the file's descriptor", error))?;
        let Placement { direct, domain, instruction, .. } = placement;
        let mapping = Mapping { read_only, direct, domain, instruction };
        let map = if self.read_mostly { Mapped::read_mostly } else { Mapped::new };
        map(own, reservation, mapping)
    }

    /// Verifies a doubtful pool in a session that writes nothing, before anything is written.
    fn verify_before_accepting(&self, file: &mut PoolFile, placement: Placement) -> Result<()> {
        // Nothing of it becomes durable.
        let in_passing = Placement { domain: Domain::PageCache, ..placement };
        let medium = self.map(file, in_passing, true)?;
        let session = Session { clean: false, read_only: true, ..file.next_session()? };
        check::verify(&Space::mount(medium, session)?).map(drop)
    }
}

/// Addresses for a pool of `have` bytes whose largest size nobody chose.
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
    // What is there must be had, also in a process that may use little.
    Reservation::leaving(least, LEAVING).or_else(|_| Reservation::leaving(least, 2))
}

fn is_io(error: &Error, kind: io::ErrorKind) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == kind)
}
