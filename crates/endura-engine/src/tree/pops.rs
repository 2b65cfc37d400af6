//! Linearizable pops, for every tree. A pop is [announced](crate::space::MapState::pops) to inserts. This file has the
//! steps that a tree must take for this, in their order.

use std::cell::Cell;

use crate::Result;
use crate::media::Media;
use crate::space::{OpenMap, Turn};
use crate::sync::Backoff;
use crate::tree::ends::Choice;

/// The result of an attempt to remove an entry that was the first, or the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Popped {
    /// The entry was still the end at the moment of its removal.
    Taken,
    /// The entry is no longer the end, or a thread is inserting a key before it, or the pop has decided too often in
    /// one pin. The caller searches for the end again.
    Beaten,
    /// The entry was still the end, but a search for its key did not find it.
    Missed,
}

/// The most decisions of a pop about its entry in one pin. Another thread may replace the entry by an equal one each
/// time before the pop removes it. After this many decisions the pop releases the inserts that it holds up, ends its
/// pin, and chooses again.
const DECISIONS: u32 = 64;

/// Removes the entry of a pop if the closure that it receives returns true; returns whether it has removed the entry.
type TakeIf<'t> = &'t dyn Fn(&Turn<'_>, &dyn Fn() -> bool) -> Result<bool>;

/// Removes the entry at one end of the map if it is still the entry that the caller knows.
///
/// `announce` announces the key of the entry to inserts, so that the pop is linearizable. `choice` checks that the
/// entry is still at that end, and that no thread is inserting a key before it without having seen the announcement.
/// `take` removes the entry if the entry still has the same value and the closure that `take` receives returns true.
/// `take` returns whether it has removed the entry.
pub(crate) fn pop<M: Media>(
    open: &OpenMap<M>,
    announce: &dyn Fn(&Turn<'_>),
    choice: &dyn Fn() -> Result<Choice>,
    take: TakeIf<'_>,
) -> Result<Popped> {
    // A pop that waits for free space does not hold the turn.
    open.space().with_room(|| {
        let turn = open.begin_pop()?;
        announce(&turn);
        // The pop waits outside of pins. It keeps its turn meanwhile, because other pops would wait for the holder of
        // the same lock.
        let mut backoff = Backoff::asleep();
        loop {
            match choice()? {
                Choice::End => break,
                Choice::Another => return Ok(Popped::Beaten),
                Choice::Held => backoff.wait(),
            }
        }
        // This pin encloses all pins of `take`: a pop that blocks inserts must not wait for a verification, which may
        // wait for those inserts.
        let _pin = open.pin_mut()?;
        let (is_beaten, decisions) = (Cell::new(false), Cell::new(0));
        let decide = || {
            decisions.set(decisions.get() + 1);
            is_beaten.set(decisions.get() > DECISIONS || !turn.decide());
            !is_beaten.get()
        };
        Ok(match take(&turn, &decide)? {
            true => Popped::Taken,
            false if is_beaten.get() => Popped::Beaten,
            false => Popped::Missed,
        })
    })
}

/// Decides whether to remove a key, from the value that the key has now.
type TakesOut<'d> = &'d mut dyn FnMut(Option<u64>) -> bool;

/// As [`pop`], for an entry of numbers. `write` removes the key of the entry if the closure that it receives returns
/// true. `write` does not wait for free space.
pub(crate) fn pop_number<M: Media>(
    open: &OpenMap<M>,
    smallest: bool,
    (key, value): (u64, u64),
    choice: &dyn Fn() -> Result<Choice>,
    write: &dyn Fn(&Turn<'_>, TakesOut<'_>) -> Result<()>,
) -> Result<Popped> {
    let announce = |turn: &Turn<'_>| turn.announce_number(smallest, key);
    pop(open, &announce, choice, &|turn, decide| {
        let mut is_taken = false;
        write(turn, &mut |old| {
            is_taken = old == Some(value) && decide();
            is_taken
        })?;
        Ok(is_taken)
    })
}
