//! The steps of a commit, in their order.
//!
//! A commit is one writer's pin, parked, with the pins of its steps nested in it. So a close and a verification wait for
//! it, and a hold does not, but each step that stores waits for the end of a hold. A commit that a closure of a parked
//! writer makes needs no pin of its own: that of the writer does the same.

use std::time::Instant;

use crate::Result;
use crate::media::{Mark, Media};
use crate::runtime::thread;
use crate::space::batch::intent::{Planned, encode, write};
use crate::space::commit::needs::Needs;
use crate::space::commit::words;
use crate::space::directory::turns::{Alone, Shared, Turns, Waiting};
use crate::space::open_map::OpenMap;
use crate::space::pins::guard::Guard;
use crate::space::session::QUIESCED;
use crate::space::space::Space;
use crate::sync::Backoff;

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

    /// Whether other commits may change the same maps at the same time: what is set aside for this one counts with that.
    fn are_few(&self) -> bool;

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

/// The pins of the thread, beside those of the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pins {
    /// The parked one of the commit.
    Own,
    /// The same, inside of readers' pins around closures.
    OwnAndReaders,
    /// Those of writers around closures, which do for the commit too.
    OfClosures,
}

/// After so many changes a commit takes the present epoch, so that what others and itself have freed can be reused.
const CHANGES_OF_AN_EPOCH: u32 = 4_096;

/// The turn of a commit in one of its maps.
enum MapTurn<'o> {
    Shared { _turn: Shared<'o> },
    Alone { _turn: Alone<'o> },
}

/// A commit waits for its turn in a map.
enum Waits<'o> {
    ToShare(&'o Turns, Instant),
    ToBeAlone(Waiting<'o>),
}

impl<'o> MapTurn<'o> {
    /// The turn of a commit in a map that it may share, or not, if it has come.
    fn of(turns: &'o Turns, shares: bool) -> Option<Self> {
        match shares {
            true => turns.try_shared(None).map(|turn| Self::Shared { _turn: turn }),
            false => turns.try_alone().map(|turn| Self::Alone { _turn: turn }),
        }
    }
}

impl<'o> Waits<'o> {
    fn begin(turns: &'o Turns, shares: bool) -> Self {
        match shares {
            true => Self::ToShare(turns, Instant::now()),
            false => Self::ToBeAlone(turns.wait()),
        }
    }

    /// The turn, if it has come.
    fn turn(&mut self) -> Option<MapTurn<'o>> {
        match self {
            Self::ToShare(turns, begun) => {
                turns.try_shared(Some(*begun)).map(|turn| MapTurn::Shared { _turn: turn })
            }
            Self::ToBeAlone(waiting) => {
                waiting.try_alone().map(|turn| MapTurn::Alone { _turn: turn })
            }
        }
    }
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
    /// [`Error::WritersStay`](crate::Error::WritersStay), [`Error::Unmet`](crate::Error::Unmet), and those of
    /// [`pin_mut`](Self::pin_mut): nothing has changed then. After another error the pool is poisoned, and the next open
    /// completes the changes.
    pub(crate) fn commit(&self, changes: &mut dyn Changes<M>) -> Result<()> {
        // All of it runs again after a lack of space, which comes before B7 or never. So a leak recovery can be finished,
        // and chunks can be reused that the pin of the commit has kept.
        self.with_room(|| {
            while !self.commit_once(&mut *changes)? {}
            Ok(())
        })
    }

    /// Returns `false`, with nothing changed, if writers are to be kept out first.
    fn commit_once(&self, changes: &mut dyn Changes<M>) -> Result<bool> {
        // Outside of the pin, because a verification would wait for it.
        self.wait_for_views()?;
        // This pin refuses a pool that is closed, poisoned or read-only, whose readers then take no slow path.
        drop(self.pin_mut()?);
        // B2, before the pin of B1, which has no claim and may last: who enters the mode would wait for it.
        let _mode = self.enter_mode()?;
        // A closure around the commit relies on its own pin, which has the same epoch.
        let is_outermost = !self.is_inside();
        let Written { guard, at, bytes, stripes } = self.write_intent(&mut *changes)?;
        let is_nested = self.epochs.slot(thread::current()).is_parked();
        let guard = Some(guard).filter(|_| !is_nested);
        let outcome = match &guard {
            Some(_) => {
                let pins = if is_outermost { Pins::Own } else { Pins::OwnAndReaders };
                self.parked(|| self.commit_written(at, stripes, &*changes, pins))
            }
            None => self.commit_written(at, stripes, &*changes, Pins::OfClosures),
        };
        // If this pin is refused, the process is the child of a fork, and the chunks are those of its parent.
        let guard = match guard {
            Some(guard) => guard,
            None => self.pin_mut()?,
        };
        match &outcome {
            // Readers may still be reading the intent.
            Ok(true) => guard.retire(at, bytes),
            // The next open needs it.
            Err(_) if self.is_poisoned() => {}
            Ok(false) | Err(_) => {
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

    /// B3: the turns of all maps. `None` if it is not known that all of them come: a pop that has one waits for the end
    /// of a verification, which waits for this commit, unless the commit has no pin of its own.
    fn begin_turns<'c>(
        &self,
        changes: &'c dyn Changes<M>,
        pins: Pins,
    ) -> Result<Option<Vec<MapTurn<'c>>>> {
        let mut turns = Vec::new();
        for map in changes.maps() {
            let open = map.open;
            // The pins are for a child of a fork, where a turn of a parent's thread never ends.
            drop(open.pin_mut()?);
            let (of_map, shares) = (open.map().pops().turns(), changes.are_few());
            if let Some(turn) = MapTurn::of(of_map, shares) {
                turns.push(turn);
                continue;
            }
            let (mut waits, mut backoff) = (Waits::begin(of_map, shares), Backoff::default());
            loop {
                if pins != Pins::OfClosures && self.epochs.gate() & QUIESCED != 0 {
                    return Ok(None);
                }
                backoff.wait();
                drop(open.pin_mut()?);
                if let Some(turn) = waits.turn() {
                    turns.push(turn);
                    break;
                }
            }
        }
        Ok(Some(turns))
    }

    /// B3 to B12. Returns `false`, with nothing changed, if writers are to be kept out first.
    fn commit_written(
        &self,
        at: u64,
        stripes: Vec<u16>,
        changes: &dyn Changes<M>,
        pins: Pins,
    ) -> Result<bool> {
        // A pop of a map and a commit come one after the other, so that neither waits for the other's key. The flight comes
        // later: who finds it, and has a turn, is not waited for by it; and commits that wait for one map leave the flights
        // to those of other maps.
        let Some(turns) = self.begin_turns(changes, pins)? else { return Ok(false) };
        let mut flight = self.begin_flight(at, stripes)?;
        flight.mark()?;
        flight.wait_for_claims()?;
        // An error that comes before B7 leaves everything as it was.
        let needs = changes.look()?;
        let changed = || changes.maps().iter().filter(|map| map.is_changed);
        if changed().next().is_none() {
            return Ok(true);
        }
        let _aside = self.pin_mut()?.set_aside(&needs)?;
        self.unless_poisoned()?;
        {
            let _pin = self.pin_mut()?;
            flight.is_decided = true;
            words::set(&self.media, flight.number, Some(at))?;
        }
        changed().for_each(|map| map.open.map().begin_commit());
        flight.commit();
        self.media.mark(Mark::Step("batch.committed"));
        let (slot, mut applied) = (self.epochs.slot(thread::current()), 0_u32);
        slot.set_applies(true);
        // (If it panics, the pool is poisoned.)
        let outcome = changes.apply(&mut || {
            applied += 1;
            if pins == Pins::Own && applied.is_multiple_of(CHANGES_OF_AN_EPOCH) {
                self.epochs.renew(slot);
            }
        });
        slot.set_applies(false);
        outcome?;
        {
            let _pin = self.pin_mut()?;
            words::set(&self.media, flight.number, None)?;
            flight.is_decided = false;
        }
        // B11: from here on no flight has the intent.
        drop(flight);
        // B12: the entry of a map that was dropped meanwhile may be reused from here on.
        changed().for_each(|map| map.open.map().end_commit());
        drop(turns);
        Ok(true)
    }
}
