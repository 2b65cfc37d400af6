//! Writes of trees that lead from keys to records: find the record of a key, decide, write the new record, and link it if
//! the key still has the old one.

use std::io;

use crate::media::{Mark, Media};
use crate::space::{AnyKey, Guard, OpenMap, Turn};
use crate::tree::records::basis::Basis;
use crate::tree::records::draft::Draft;
use crate::tree::records::filling::fill_record;
use crate::tree::records::fresh::Fresh;
use crate::tree::records::record::{Record, check_lengths};
use crate::tree::{ByteChange, Bytes, Change};
use crate::{Error, Result};

/// The most attempts of a write in one pin.
const ATTEMPTS: u32 = 64;

/// Where a search has ended, and the record that it has found.
pub(crate) type Found<'g, M, P> = (P, Option<Record<'g, M>>);

/// A tree that leads from each key to the offset of the key's record.
pub(crate) trait Linking {
    type Medium: Media;

    /// What a search needs of a key.
    type Sought<'k>: Copy;

    /// Where a search has ended, for the change that follows it in the same pin.
    type Place: Copy;

    /// Whether other threads may read the record of an insert before it is decided whether the tree leads to it. Then it is
    /// durable before [`try_link`](Self::try_link), as every record; and if it is not linked, it is retired.
    const RIVALS_READ_RECORDS: bool = false;

    fn open_map(&self) -> &OpenMap<Self::Medium>;

    /// Checks a key, and does outside of pins what may take long before the first operation on it.
    fn sought<'k>(&self, key: &'k [u8]) -> Result<Self::Sought<'k>>;

    /// The bytes of a key.
    fn bytes<'k>(key: Self::Sought<'k>) -> &'k [u8];

    /// Where a search for a key ends, and the record of the key, if it is present.
    fn find<'g>(
        &self,
        guard: &'g Guard<'_, Self::Medium>,
        key: Self::Sought<'_>,
    ) -> Result<Found<'g, Self::Medium, Self::Place>>;

    /// Makes the change if the key still leads to the offset `expected`, or still to none, and makes it durable. Returns
    /// the offset that it found. Returns `None`, and has changed nothing, if the caller has to end its pin first: it then
    /// [waits](Self::wait_for_pop) for a pop, if there is one, and tries again. A pop passes its `turn`.
    fn try_link(
        &self,
        guard: &Guard<'_, Self::Medium>,
        key: Self::Sought<'_>,
        place: Self::Place,
        turn: Option<&Turn<'_>>,
        expected: Option<u64>,
        change: Change,
    ) -> Result<Option<Option<u64>>>;

    /// Waits, outside of pins, while a pop holds up an insert of this key.
    fn wait_for_pop(&self, key: Self::Sought<'_>);
}

/// The outcome of an attempt to change an entry.
enum Attempt {
    Done,
    /// Nothing was changed: the key has the record at this offset by now, or none.
    Moved(Option<u64>),
    /// Nothing was changed: the pin has to end first.
    HeldUp,
}

/// What the last attempt of a pin expected of its key, and what it found instead.
///
/// An attempt fails because another write of the key has succeeded since its search. A record that was unlinked is not linked
/// again, so that in one pin the same two do not come twice: if they do, the search and the change see different entries,
/// which is damage. Without this check such a write would not end.
#[derive(Default)]
struct LastMove(Option<(Option<u64>, Option<u64>)>);

impl LastMove {
    /// # Errors
    ///
    /// [`Error::Corrupt`] if the attempt before failed in the same way.
    fn note(&mut self, expected: Option<u64>, now: Option<u64>, root: u64) -> Result<()> {
        let seen = Some((expected, now));
        if self.0.replace((expected, now)) == seen {
            let what = "a key whose record is never what it was when it was found";
            return Err(Error::Corrupt { offset: root, what });
        }
        Ok(())
    }
}

/// Passes the current value of `key` to `decide`, and applies the change that it returns. If `decide` returns `None`, this
/// process is now the child of a fork, which stores nothing more. A pop passes its `turn`.
pub(crate) fn write<'v, T: Linking>(
    tree: &T,
    key: &[u8],
    basis: Basis,
    turn: Option<&Turn<'_>>,
    decide: &mut dyn FnMut(Option<Bytes<'_>>) -> Option<ByteChange<'v>>,
) -> Result<()> {
    let key = tree.sought(key)?;
    while !write_in_one_pin(tree, key, basis, turn, decide)? {
        tree.wait_for_pop(key);
    }
    Ok(())
}

/// One pin of [`write()`]. Returns whether the write was completed.
fn write_in_one_pin<'v, T: Linking>(
    tree: &T,
    key: T::Sought<'_>,
    basis: Basis,
    turn: Option<&Turn<'_>>,
    decide: &mut dyn FnMut(Option<Bytes<'_>>) -> Option<ByteChange<'v>>,
) -> Result<bool> {
    let guard = tree.open_map().pin_mut_for(|| AnyKey::Bytes(T::bytes(key)))?;
    guard.media().mark(Mark::Begin);
    let (mut fresh, mut draft, mut kept) = (Fresh::new(&guard), Draft::default(), None);
    let mut moved = LastMove::default();
    for _ in 0..ATTEMPTS {
        let (place, old) = tree.find(&guard, key)?;
        guard.media().mark(Mark::Step("write.found"));
        let again = if kept.is_some() { basis.reuse(&mut kept, old) } else { None };
        let Some(change) = again.or_else(|| decide(old.map(|record| record.value()))) else {
            return Err(Error::Forked);
        };
        // A closure of the caller ran without a claim.
        if basis == Basis::Shown && !claims_again(tree, key) {
            return Ok(false);
        }
        let attempt = match (&change, old) {
            // The closure may have inserted the key itself.
            (ByteChange::Remove, None) if basis == Basis::Shown => {
                match tree.find(&guard, key)?.1 {
                    None => Attempt::Done,
                    Some(now) => Attempt::Moved(Some(now.at())),
                }
            }
            (ByteChange::Keep, _) | (ByteChange::Remove, None) => Attempt::Done,
            (ByteChange::Remove, Some(old)) => {
                exchange(tree, &guard, (key, place), Some(&old), Change::Remove, turn)?
            }
            (ByteChange::Put(value), old) => {
                let new = draft.of(&guard, &mut fresh, T::bytes(key), value)?;
                link(tree, &guard, (key, place), old.as_ref(), new, &mut fresh)?
            }
        };
        match attempt {
            Attempt::Done => {
                guard.media().mark(Mark::Acknowledged);
                return Ok(true);
            }
            Attempt::Moved(now) => {
                moved.note(old.as_ref().map(Record::at), now, tree.open_map().map().root())?;
                kept = Some((old, change));
            }
            Attempt::HeldUp => break,
        }
    }
    Ok(false)
}

/// Claims the key again, behind a closure: [`OpenMap::claims_again`].
#[inline(always)]
fn claims_again<T: Linking>(tree: &T, key: T::Sought<'_>) -> bool {
    tree.open_map().claims_again(|| AnyKey::Bytes(T::bytes(key)))
}

/// Gives `key` a value of `len` bytes that `fill` writes directly in its final place.
pub(crate) fn write_from<T: Linking>(
    tree: &T,
    key: &[u8],
    len: usize,
    fill: &mut dyn FnMut(&mut dyn io::Write) -> Result<()>,
) -> Result<()> {
    check_lengths(key.len(), len)?;
    let key = tree.sought(key)?;
    while !write_from_in_one_pin(tree, key, len, fill)? {
        tree.wait_for_pop(key);
    }
    Ok(())
}

/// One pin of [`write_from`]. Returns whether the write was completed.
fn write_from_in_one_pin<T: Linking>(
    tree: &T,
    key: T::Sought<'_>,
    len: usize,
    fill: &mut dyn FnMut(&mut dyn io::Write) -> Result<()>,
) -> Result<bool> {
    let guard = tree.open_map().pin_mut_for(|| AnyKey::Bytes(T::bytes(key)))?;
    guard.media().mark(Mark::Begin);
    let mut fresh = Fresh::new(&guard);
    let new = fill_record(&guard, &mut fresh, (T::bytes(key), len), fill)?;
    Ok(claims_again(tree, key) && link_new(tree, &guard, key, new, &mut fresh)?)
}

/// Gives `key` the record at `at`, which is whole and durable, and belongs to the caller until it is linked. The call may be
/// repeated if it is not known whether an earlier one has linked the record.
pub(crate) fn put_record<T: Linking>(tree: &T, key: &[u8], at: u64) -> Result<()> {
    let key = tree.sought(key)?;
    let put = || {
        let guard = tree.open_map().pin_mut_for(|| AnyKey::Bytes(T::bytes(key)))?;
        guard.media().mark(Mark::Begin);
        link_new(tree, &guard, key, at, &mut Fresh::new(&guard))
    };
    while !put()? {
        tree.wait_for_pop(key);
    }
    Ok(())
}

/// Links the record at `new`, whatever the key has. Returns `false` if the pin has to end first.
fn link_new<'g, T: Linking>(
    tree: &T,
    guard: &'g Guard<'g, T::Medium>,
    key: T::Sought<'_>,
    new: u64,
    fresh: &mut Fresh<'g, T::Medium>,
) -> Result<bool> {
    let mut moved = LastMove::default();
    for _ in 0..ATTEMPTS {
        let (place, old) = tree.find(guard, key)?;
        if old.is_some_and(|old| old.at() == new) {
            return Ok(true);
        }
        match link(tree, guard, (key, place), old.as_ref(), new, fresh)? {
            Attempt::Done => {
                guard.media().mark(Mark::Acknowledged);
                return Ok(true);
            }
            Attempt::Moved(now) => {
                moved.note(old.as_ref().map(Record::at), now, tree.open_map().map().root())?;
            }
            Attempt::HeldUp => break,
        }
    }
    Ok(false)
}

/// Links the record at `new`, which is flushed, if the key still has the record `old`, or still none.
fn link<'g, T: Linking>(
    tree: &T,
    guard: &'g Guard<'g, T::Medium>,
    key: (T::Sought<'_>, T::Place),
    old: Option<&Record<'g, T::Medium>>,
    new: u64,
    fresh: &mut Fresh<'g, T::Medium>,
) -> Result<Attempt> {
    // N2: pairs with the flushes of the record. What the tree stores next may become durable at any moment.
    // no mutant of roart: it writes without this function.
    guard.media().fence();
    guard.media().mark(Mark::Step("write.record"));
    if T::RIVALS_READ_RECORDS && old.is_none() {
        fresh.seen();
    }
    let attempt = exchange(tree, guard, key, old, Change::Put(new), None)?;
    if matches!(attempt, Attempt::Done) {
        fresh.linked();
    }
    Ok(attempt)
}

/// N3 and N4: makes the change if the key still has the record `old`, or still none, and retires that record.
fn exchange<'g, T: Linking>(
    tree: &T,
    guard: &'g Guard<'g, T::Medium>,
    (key, place): (T::Sought<'_>, T::Place),
    old: Option<&Record<'g, T::Medium>>,
    change: Change,
    turn: Option<&Turn<'_>>,
) -> Result<Attempt> {
    let expected = old.map(Record::at);
    match tree.try_link(guard, key, place, turn, expected, change)? {
        None => Ok(Attempt::HeldUp),
        Some(now) if now == expected => {
            // The tree has made it durable that nothing leads to the old record.
            old.into_iter().for_each(|old| guard.retire(old.at(), old.bytes()));
            Ok(Attempt::Done)
        }
        Some(now) => Ok(Attempt::Moved(now)),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_failure_twice_in_a_row_is_damage() {
        let mut moved = LastMove::default();
        for (expected, now) in
            [(None, Some(64)), (Some(64), Some(128)), (Some(128), None), (None, Some(64))]
        {
            assert!(moved.note(expected, now, 8).is_ok());
        }
        assert!(matches!(moved.note(None, Some(64), 8), Err(Error::Corrupt { offset: 8, .. })));
    }
}
