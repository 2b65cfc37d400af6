//! A pop of one moment, whichever tree it is of: what the [pops](crate::pool::MapState::pops) of a map asks of a tree, in its order.

use crate::Result;
use crate::media::Media;
use crate::pool::{OpenMap, Turn};
use crate::sync::Backoff;
use crate::tree::ends::Choice;

/// What came of an attempt to take out an entry that was the first, or the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Popped {
    /// It was that still, at the moment at which it was taken out.
    Taken,
    /// It is not any more, or a key is being entered before it. The end is to be looked for again.
    Beaten,
    /// It was that still, and was not found where its key is looked for.
    Missed,
}

/// Takes out the entry at one end if it is still the one that the caller knows.
///
/// `announce` names its key. `choice` looks whether the entry is that end, and nobody is entering a key before it
/// who has not seen the announcement. `take` takes the entry out if it has the same value, and if the closure that it
/// is given says yes; whether it has.
pub(crate) fn pop<M: Media>(
    open: &OpenMap<M>,
    announce: impl Fn(&Turn<'_>),
    choice: impl Fn() -> Result<Choice>,
    take: impl Fn(&dyn Fn() -> bool) -> Result<bool>,
) -> Result<Popped> {
    // Who waits for room has no turn.
    open.space().with_room(|| {
        let turn = open.begin_pop()?;
        announce(&turn);
        // Outside of pins. The turn goes on: other pops would wait for the same holder.
        let mut backoff = Backoff::asleep();
        loop {
            match choice()? {
                Choice::End => break,
                Choice::Another => return Ok(Popped::Beaten),
                Choice::Held => backoff.wait(),
            }
        }
        // Around all pins of `take`: who holds inserts up does not wait for a verification, which may wait for them.
        let _pin = open.pin_mut()?;
        let is_beaten = std::cell::Cell::new(false);
        let decide = || {
            is_beaten.set(!turn.decide());
            !is_beaten.get()
        };
        Ok(match take(&decide)? {
            true => Popped::Taken,
            false if is_beaten.get() => Popped::Beaten,
            false => Popped::Missed,
        })
    })
}

/// Whether a key with this value is to be taken out.
type TakesOut<'d> = &'d mut dyn FnMut(Option<u64>) -> bool;

/// The same for an entry of numbers. `write` takes its key out where it is told so, and does not wait for room.
pub(crate) fn pop_number<M: Media>(
    open: &OpenMap<M>,
    smallest: bool,
    (key, value): (u64, u64),
    choice: impl Fn() -> Result<Choice>,
    write: impl Fn(TakesOut<'_>) -> Result<()>,
) -> Result<Popped> {
    let announce = |turn: &Turn<'_>| turn.announce_number(smallest, key);
    pop(open, announce, choice, |decide| {
        let mut is_taken = false;
        write(&mut |old| {
            is_taken = old == Some(value) && decide();
            is_taken
        })?;
        Ok(is_taken)
    })
}
