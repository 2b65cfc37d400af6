//! The last steps of an open: the pool is mapped and inspected, and then the session begins with the one write of an
//! open.

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::addresses::{DEFAULT_MAX_SIZE, reserve_default};
use super::judged::{Judged, Making};
use super::locked::{Locked, Origin};
use super::open::{Facts, Open};
use super::options::Options;
use crate::checkpoint::found::CheckpointPlan;
use crate::checkpoint::keeper::Keeper;
use crate::index::replay::replay;
use crate::index::{Background, ready_locks};
use crate::media::{Mapped, Mapping, Placement, Reservation, STEP};
use crate::os::fork::ForkGuard;
use crate::space::{Event, Events, Inspected, PoolFile, Prepared, Session, Space};
use crate::sync::Mutex;
use crate::{Error, Result};

const FEW_ADDRESSES: &str = "the process has too few free addresses for the usual 1 TiB: `max_bytes` says how far the pool may \
     grow while it is open this time; set `max_size` where many pools are open at once";

/// A mapped pool whose session can begin.
pub(crate) struct Mounted<'o> {
    judged: Judged<'o>,
    looked_at: LookedAt,
}

/// The medium of an inspected pool, and what its session needs.
struct LookedAt {
    medium: Mapped,
    inspected: Inspected,
    prepared: Prepared,
    notes_pages: bool,
    accepts: bool,
}

impl<'o> Judged<'o> {
    /// Maps the pool, and refuses it if its contents cannot have been written by a correct run.
    pub(super) fn mount(mut self) -> Result<Mounted<'o>> {
        let (options, placement) = (self.locked.options, self.placement);
        let how = (self.making.is_on(), self.is_accepted);
        let looked_at = options.look_at(&mut self.locked.file, placement, how)?;
        Ok(Mounted { judged: self, looked_at })
    }
}

impl Locked<'_> {
    /// Takes all steps that are left. Events go to `events` once the session has begun.
    pub fn open(self, events: Events) -> Result<Arc<Open>> {
        let path = self.path;
        let opened = self.judge().and_then(Judged::mount).and_then(|mounted| mounted.begin(events));
        opened.map(Arc::new).map_err(|error| error.of_pool(path))
    }
}

impl Mounted<'_> {
    /// Begins the session. Events go to `events` from now on.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the session cannot be announced. Four steps follow the announcement: the session's threads
    /// start, and their failures are only warnings; once in 2^20 opens, the locks are voided; changes that a killed
    /// process has committed and not applied are applied; and checkpoints that are no longer wanted are removed. If one of
    /// these fails, the pool is left as if its process had been killed.
    pub(super) fn begin(self, events: Events) -> Result<Open> {
        let Self { mut judged, looked_at } = self;
        let (file, placement) = (&mut judged.locked.file, judged.placement);
        let mut plan = match &mut judged.making {
            Making::Planned(plan) => Some(plan),
            Making::None | Making::Told(_) => None,
        };
        if let Some(plan) = &mut plan {
            plan.write_number(file.file())?;
        }
        let (space, session, replayed) = looked_at.begin(file, &placement)?;
        if let Some(plan) = plan {
            plan.remove_unwanted(file)?;
        }
        let open = judged.open(space, session, events);
        if let Some((operations, took)) = replayed {
            open.space().tell(|| Event::BatchReplayed { operations, took });
        }
        Ok(open)
    }
}

impl Judged<'_> {
    /// Makes the open pool. The session has begun, and nothing can fail any more.
    fn open(self, space: Arc<Space<Mapped>>, session: Session, events: Events) -> Open {
        let Self { locked, placement, own_path, making, restored, is_accepted } = self;
        let Locked { options, path, origin, file } = locked;
        // A pool that was verified or restored is not in doubt.
        let is_in_doubt = !session.clean && !is_accepted && restored.is_none();
        let restored = match origin {
            Origin::Found => restored,
            Origin::Created(created) => {
                created.finish();
                restored
            }
            Origin::MadeAnew(made) => restored.or(Some(made)),
        };
        space.set_name(path);
        space.set_listener(events);
        if let Some(restored) = &restored {
            let (age, written_bytes) = (restored.age(), restored.written_bytes);
            space.tell(|| Event::Restored { age, written_bytes });
        } else if !session.clean {
            space.tell(|| Event::OpenedUnclean { generation: session.generation });
        }
        let (plan, told) = match making {
            Making::Planned(plan) => (Some(*plan).filter(CheckpointPlan::is_on), None),
            Making::Told(told) => (None, Some(*told)),
            Making::None => (None, None),
        };
        let begin = |plan| Keeper::begin(&space, &file, own_path.clone(), plan, is_in_doubt);
        let mut keeper = plan.map(begin);
        space.hear_of_exits();
        let background = Background::begin(&space, options.recovery_threads);
        keeper.iter_mut().for_each(Keeper::start);
        let facts = Facts {
            path: path.to_owned(),
            uuid: file.superblock().uuid,
            filesystem: file.filesystem().name(),
            in_memory: file.filesystem().is_in_memory(),
            warnings: file.warnings().to_vec(),
            own_path,
            told,
            restored,
        };
        Open {
            space,
            background,
            keeper,
            birthplace: ForkGuard::here(),
            placement,
            session,
            facts,
            file: Mutex::new(Some(file)),
        }
    }
}

/// How many changes of killed commits an open has applied, and how long that took.
type Replayed = (usize, Duration);

impl LookedAt {
    /// Makes the one write of an open, and takes the steps that must follow it.
    fn begin(
        self,
        file: &mut PoolFile,
        placement: &Placement,
    ) -> Result<(Arc<Space<Mapped>>, Session, Option<Replayed>)> {
        let Self { medium, inspected, prepared, notes_pages, accepts } = self;
        let session = file.begin(prepared, &inspected, placement)?;
        let space = Arc::new(Space::mount(medium, session)?);
        if notes_pages {
            space.expect_checkpoints();
        }
        ready_locks(&space)?;
        // Before a leak recovery, which would free the intents and their records.
        let begun = Instant::now();
        let replayed = replay(&space, accepts)?;
        let replayed = (replayed > 0).then(|| (replayed, begun.elapsed()));
        Ok((space, session, replayed))
    }
}

impl Options {
    /// Maps and inspects the file, and prepares the session.
    fn look_at(
        &self,
        file: &mut PoolFile,
        placement: Placement,
        (notes_pages, accepts): (bool, bool),
    ) -> Result<LookedAt> {
        let medium = self.map(file, placement, (self.read_only, notes_pages))?;
        let inspected = Space::inspect(&medium, file.next_session()?)?;
        if !accepts {
            Space::inspect_intents(&medium)?;
        }
        let prepared = file.prepare(&placement)?;
        Ok(LookedAt { medium, inspected, prepared, notes_pages, accepts })
    }

    /// Begins a session without checkpoints, threads and listeners, on a new file that no other handle uses yet.
    pub(super) fn begin_on(
        &self,
        file: &mut PoolFile,
        placement: Placement,
    ) -> Result<Arc<Space<Mapped>>> {
        let looked_at = self.look_at(file, placement, (false, false))?;
        looked_at.begin(file, &placement).map(|(space, ..)| space)
    }

    /// Maps the file, with address space for its largest size.
    pub(super) fn map(
        &self,
        file: &mut PoolFile,
        placement: Placement,
        (read_only, notes_pages): (bool, bool),
    ) -> Result<Mapped> {
        // Bytes after the last whole step are not mapped.
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
        let own = File::try_clone(file.file());
        let own = own.map_err(|error| Error::io("duplicating the file's descriptor", error))?;
        let Placement { direct, domain, instruction, .. } = placement;
        let mapping = Mapping { read_only, direct, domain, instruction, notes_pages };
        let map = if self.read_mostly { Mapped::read_mostly } else { Mapped::new };
        map(own, reservation, mapping)
    }
}
