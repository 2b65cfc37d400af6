//! The steps of a commit, in their order.
//!
//! A commit is one writer's pin, parked, with the pins of its steps nested in it. So a close and a verification wait for
//! it, and a hold does not, but each step that stores waits for the end of a hold. A commit that a closure of a parked
//! writer makes needs no pin of its own: that of the writer does the same.

use crate::Result;
use crate::media::{Mark, Media};
use crate::runtime::thread;
use crate::space::batch::intent::{Planned, encode, write};
use crate::space::commit::needs::Needs;
use crate::space::commit::words;
use crate::space::directory::pops::Turn;
use crate::space::open_map::OpenMap;
use crate::space::pins::guard::Guard;
use crate::space::space::Space;

/// A map of a commit.
#[derive(Clone, Copy)]
pub(crate) struct ChangedMap<'o, M: Media> {
    pub(crate) open: &'o OpenMap<M>,
    /// Whether the commit changes it, and not only reads it.
    pub(crate) is_changed: bool,
}

/// The changes of a commit, as the layer of the indexes has them. No method runs code of a user.
pub(crate) trait Changes<M: Media> {
    /// The maps, in the order of their entries in the directory.
    fn maps(&self) -> &[ChangedMap<'_, M>];

    /// B1: writes the records, starts their write-back, and returns what is to be done, by map and key. After an error it has
    /// taken its chunks back, and may be called again.
    fn prepare(&mut self, guard: &Guard<'_, M>) -> Result<Vec<Planned<'_>>>;

    /// Takes the records back, which no map has.
    fn take_back(&mut self, guard: &Guard<'_, M>);

    /// B6: looks up the keys, under the marks. Fails if one does not have the value that is expected, or if a change could
    /// not be applied; returns what the changes may allocate.
    fn look(&self) -> Result<Needs>;

    /// B9: applies each change, durably. Changes of maps that were dropped meanwhile are left out. `each` is called after each
    /// change.
    fn apply(&self, each: &mut dyn FnMut()) -> Result<()>;
}

/// After so many changes a commit takes the present epoch, so that what others and itself have freed can be reused.
const CHANGES_OF_AN_EPOCH: u32 = 4_096;

/// An intent that was written.
struct Written<'s, M: Media> {
    guard: Guard<'s, M>,
    at: u64,
    bytes: u64,
    stripes: Vec<u16>,
}

impl<M: Media> Space<M> {
    /// Makes several changes at once. They are durable on return.
    ///
    /// # Errors
    ///
    /// [`Error::Full`](crate::Error::Full), [`Error::Dropped`](crate::Error::Dropped),
    /// [`Error::WritersStay`](crate::Error::WritersStay), [`Error::Unmet`](crate::Error::Unmet), and those of
    /// [`pin_mut`](Self::pin_mut): nothing has changed then. After another error the pool is poisoned, and the next open
    /// completes the changes.
    pub(crate) fn commit(&self, changes: &mut dyn Changes<M>) -> Result<()> {
        // All of it runs again after a lack of space, which comes before B7 or never. So a leak recovery can be finished,
        // and chunks can be reused that the pin of the commit has kept.
        self.with_room(|| self.commit_once(&mut *changes))
    }

    fn commit_once(&self, changes: &mut dyn Changes<M>) -> Result<()> {
        let Written { guard, at, bytes, stripes } = self.write_intent(&mut *changes)?;
        let is_nested = self.epochs.slot(thread::current()).is_parked();
        let guard = Some(guard).filter(|_| !is_nested);
        let outcome = match &guard {
            Some(_) => self.parked(|| self.commit_written(at, stripes, &*changes, true)),
            None => self.commit_written(at, stripes, &*changes, false),
        };
        // If this pin is refused, the process is the child of a fork, and the chunks are those of its parent.
        let guard = match guard {
            Some(guard) => guard,
            None => self.pin_mut()?,
        };
        match &outcome {
            // Readers may still be reading the intent.
            Ok(()) => guard.retire(at, bytes),
            // The next open needs it.
            Err(_) if self.is_poisoned() => {}
            Err(_) => {
                changes.take_back(&guard);
                // A writer that found the flight LOCKED may still be looking for its key.
                guard.retire(at, bytes);
            }
        }
        outcome
    }

    /// B1. The pin does not end with it, because the chunks have no other owner.
    fn write_intent(&self, changes: &mut dyn Changes<M>) -> Result<Written<'_, M>> {
        let guard = self.pin_mut()?;
        let planned = changes.prepare(&guard)?;
        let stripes = planned.iter().map(|change| change.key.stripe(change.map)).collect();
        let words = encode(&planned, self.generation());
        let bytes = 8 * words.len() as u64;
        let written = guard.alloc(bytes).and_then(|at| write(&self.media, at, &words).map(|()| at));
        let at = written.inspect_err(|_| changes.take_back(&guard))?;
        self.media.mark(Mark::Step("batch.intent"));
        // Records and intent are durable before the BATCH word leads to them.
        // no mutant: no campaign of mutants makes commits.
        self.media.fence();
        Ok(Written { guard, at, bytes, stripes })
    }

    /// B2 to B12. (`has_own_pin`: the parked pin around it is the commit's own.)
    fn commit_written(
        &self,
        at: u64,
        stripes: Vec<u16>,
        changes: &dyn Changes<M>,
        has_own_pin: bool,
    ) -> Result<()> {
        let _mode = self.enter_mode()?;
        let mut flight = self.begin_flight(at, stripes)?;
        // Pops and flights of a map come one after the other, so that neither waits for the other's key.
        let turns: Vec<Turn<'_>> =
            changes.maps().iter().map(|map| map.open.begin_pop()).collect::<Result<_>>()?;
        flight.mark()?;
        flight.wait_for_claims()?;
        // An error that comes before B7 leaves everything as it was.
        let needs = changes.look()?;
        let changed = || changes.maps().iter().filter(|map| map.is_changed);
        if changed().next().is_none() {
            return Ok(());
        }
        let _aside = self.pin_mut()?.set_aside(&needs)?;
        self.unless_poisoned()?;
        {
            let _pin = self.pin_mut()?;
            flight.is_decided = true;
            words::set(&self.media, flight.number, at)?;
        }
        changed().for_each(|map| map.open.map().begin_commit());
        flight.commit();
        self.media.mark(Mark::Step("batch.committed"));
        let mut applied = 0;
        changes.apply(&mut || {
            applied += 1;
            if has_own_pin && applied % CHANGES_OF_AN_EPOCH == 0 {
                self.renew_pin_of(changes.maps());
            }
        })?;
        {
            let _pin = self.pin_mut()?;
            words::set(&self.media, flight.number, 0)?;
            flight.is_decided = false;
        }
        changed().for_each(|map| map.open.map().end_commit());
        drop(turns);
        Ok(())
    }

    /// Takes the present epoch for the pin of a commit of these maps, unless one of them was dropped. That drop waits for the
    /// pin: while the BATCH word is set, the entry of the map and its records are not reused.
    fn renew_pin_of(&self, maps: &[ChangedMap<'_, M>]) {
        // A drop marks the map, and takes the epoch for which it waits, under this lock. So it comes before this look, or
        // waits for the present epoch.
        let Some(_registry) = self.directory.registry.try_lock() else { return };
        if maps.iter().all(|map| !map.open.map().is_dropped()) {
            self.epochs.renew(self.epochs.slot(thread::current()));
        }
    }
}
