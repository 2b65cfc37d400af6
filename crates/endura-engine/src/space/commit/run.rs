//! The steps of a commit, in their order.
//!
//! A commit is one writer's pin, parked, with the pins of its steps nested in it. So a close and a verification wait for
//! it, and a hold does not, but each step that stores waits for the end of a hold. A commit that a closure of a parked
//! writer makes needs no pin of its own: that of the writer does the same.

use crate::Result;
use crate::media::{Mark, Media};
use crate::runtime::thread;
use crate::space::batch::intent::{Planned, encode, write};
use crate::space::commit::words;
use crate::space::directory::pops::Turn;
use crate::space::open_map::OpenMap;
use crate::space::pins::guard::Guard;
use crate::space::space::Space;

/// The changes of a commit, as the layer of the indexes has them. No method runs code of a user.
pub(crate) trait Changes<M: Media> {
    /// The maps, in the order of their entries in the directory.
    fn maps(&self) -> &[&OpenMap<M>];

    /// B1: writes the records, starts their write-back, and returns the changes, by map and key. After an error it has taken
    /// its chunks back, and may be called again.
    fn prepare(&mut self, guard: &Guard<'_, M>) -> Result<Vec<Planned<'_>>>;

    /// Takes the records back, which no map has.
    fn take_back(&mut self, guard: &Guard<'_, M>);

    /// B6: fails if a change could not be applied.
    fn look(&self) -> Result<()>;

    /// B9: applies each change, durably. Changes of maps that were dropped meanwhile are left out.
    fn apply(&self) -> Result<()>;
}

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
    /// [`Error::WritersStay`](crate::Error::WritersStay), and those of [`pin_mut`](Self::pin_mut): nothing has
    /// changed then. After another error the pool is poisoned, and the next open completes the changes.
    pub(crate) fn commit(&self, changes: &mut dyn Changes<M>) -> Result<()> {
        // Outside of the pin, so that a leak recovery can be finished for the sake of room.
        let Written { guard, at, bytes, stripes } =
            self.with_room(|| self.write_intent(&mut *changes))?;
        let is_nested = self.epochs.slot(thread::current()).is_parked();
        let guard = Some(guard).filter(|_| !is_nested);
        let outcome = match &guard {
            Some(_) => self.parked(|| self.commit_written(at, stripes, &*changes)),
            None => self.commit_written(at, stripes, &*changes),
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
        // no mutant: commits are not simulated.
        self.media.fence();
        Ok(Written { guard, at, bytes, stripes })
    }

    /// B2 to B12.
    fn commit_written(&self, at: u64, stripes: Vec<u16>, changes: &dyn Changes<M>) -> Result<()> {
        let _mode = self.enter_mode()?;
        let mut flight = self.begin_flight(at, stripes)?;
        // Pops and flights of a map come one after the other, so that neither waits for the other's key.
        let turns: Vec<Turn<'_>> =
            changes.maps().iter().map(|map| map.begin_pop()).collect::<Result<_>>()?;
        flight.mark()?;
        flight.wait_for_claims()?;
        // An error that comes before B7 leaves everything as it was. The room for all changes is to be set aside here.
        changes.look()?;
        self.unless_poisoned()?;
        {
            let _pin = self.pin_mut()?;
            flight.is_decided = true;
            words::set(&self.media, flight.number, at)?;
        }
        changes.maps().iter().for_each(|map| map.map().begin_commit());
        flight.commit();
        self.media.mark(Mark::Step("batch.committed"));
        changes.apply()?;
        {
            let _pin = self.pin_mut()?;
            words::set(&self.media, flight.number, 0)?;
            flight.is_decided = false;
        }
        changes.maps().iter().for_each(|map| map.map().end_commit());
        drop(turns);
        Ok(())
    }
}
