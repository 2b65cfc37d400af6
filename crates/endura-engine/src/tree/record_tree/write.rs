//! Writes: find the record of a key, decide, write the new record, and link it if the key still has the old one.

use std::io;

use crate::media::{Mark, Media};
use crate::space::{Guard, Turn};
use crate::tree::numbers::NumberTree;
use crate::tree::record_tree::tree::{RecordTree, number_of_key, record_of};
use crate::tree::records::basis::Basis;
use crate::tree::records::draft::Draft;
use crate::tree::records::filling::fill_record;
use crate::tree::records::fresh::Fresh;
use crate::tree::records::record::{Record, check_lengths};
use crate::tree::{ByteChange, Bytes, Change};
use crate::{Error, Result};

/// The most attempts of a write in one pin.
const ATTEMPTS: u32 = 64;

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

impl<M: Media, T: NumberTree<Medium = M>> RecordTree<T> {
    /// Passes the current value of `key` to `decide`, and applies the change that it returns. If `decide` returns
    /// `None`, this process is now the child of a fork, which stores nothing more. A pop passes its `turn`.
    pub(crate) fn write<'v>(
        &self,
        key: &[u8],
        basis: Basis,
        turn: Option<&Turn<'_>>,
        decide: &mut dyn FnMut(Option<Bytes<'_>>) -> Option<ByteChange<'v>>,
    ) -> Result<()> {
        let number = number_of_key(key)?;
        self.tree.prepare(number)?;
        while !self.write_in_one_pin((key, number), basis, turn, decide)? {
            self.open_map().map().pops().wait_for(&number);
        }
        Ok(())
    }

    /// One pin of [`write`](Self::write). Returns whether the write was completed.
    fn write_in_one_pin<'v>(
        &self,
        (key, number): (&[u8], u64),
        basis: Basis,
        turn: Option<&Turn<'_>>,
        decide: &mut dyn FnMut(Option<Bytes<'_>>) -> Option<ByteChange<'v>>,
    ) -> Result<bool> {
        let guard = self.open_map().pin_mut()?;
        guard.media().mark(Mark::Begin);
        let (mut fresh, mut draft, mut kept) = (Fresh::new(&guard), Draft::default(), None);
        let mut moved = LastMove::default();
        for _ in 0..ATTEMPTS {
            let old = self.find(&guard, (key, number))?;
            guard.media().mark(Mark::Step("write.found"));
            let again = if kept.is_some() { basis.reuse(&mut kept, old) } else { None };
            let Some(change) = again.or_else(|| decide(old.map(|record| record.value()))) else {
                return Err(Error::Forked);
            };
            let attempt = match (&change, old) {
                // The closure may have inserted the key itself.
                (ByteChange::Remove, None) if basis == Basis::Shown => {
                    match self.find(&guard, (key, number))? {
                        None => Attempt::Done,
                        Some(now) => Attempt::Moved(Some(now.at())),
                    }
                }
                (ByteChange::Keep, _) | (ByteChange::Remove, None) => Attempt::Done,
                (ByteChange::Remove, Some(old)) => {
                    self.exchange(&guard, number, Some(&old), Change::Remove, turn)?
                }
                (ByteChange::Put(value), old) => {
                    let new = draft.of(&guard, &mut fresh, key, value)?;
                    self.link(&guard, number, old.as_ref(), new, &mut fresh)?
                }
            };
            match attempt {
                Attempt::Done => {
                    guard.media().mark(Mark::Acknowledged);
                    return Ok(true);
                }
                Attempt::Moved(now) => {
                    moved.note(old.as_ref().map(Record::at), now, self.open_map().map().root())?;
                    kept = Some((old, change));
                }
                Attempt::HeldUp => break,
            }
        }
        Ok(false)
    }

    /// Gives `key` a value of `len` bytes that `fill` writes directly in its final place.
    pub(crate) fn write_from(
        &self,
        key: &[u8],
        len: usize,
        fill: &mut dyn FnMut(&mut dyn io::Write) -> Result<()>,
    ) -> Result<()> {
        check_lengths(key.len(), len)?;
        let number = number_of_key(key)?;
        self.tree.prepare(number)?;
        while !self.write_from_in_one_pin((key, number), len, fill)? {
            self.open_map().map().pops().wait_for(&number);
        }
        Ok(())
    }

    /// One pin of [`write_from`](Self::write_from). Returns whether the write was completed.
    fn write_from_in_one_pin(
        &self,
        (key, number): (&[u8], u64),
        len: usize,
        fill: &mut dyn FnMut(&mut dyn io::Write) -> Result<()>,
    ) -> Result<bool> {
        let guard = self.open_map().pin_mut()?;
        guard.media().mark(Mark::Begin);
        let mut fresh = Fresh::new(&guard);
        let new = fill_record(&guard, &mut fresh, (key, len), fill)?;
        let mut moved = LastMove::default();
        for _ in 0..ATTEMPTS {
            let old = self.find(&guard, (key, number))?;
            match self.link(&guard, number, old.as_ref(), new, &mut fresh)? {
                Attempt::Done => {
                    guard.media().mark(Mark::Acknowledged);
                    return Ok(true);
                }
                Attempt::Moved(now) => {
                    moved.note(old.as_ref().map(Record::at), now, self.open_map().map().root())?;
                }
                Attempt::HeldUp => break,
            }
        }
        Ok(false)
    }

    /// The record of a key.
    ///
    /// # Errors
    ///
    /// [`Error::Encode`] if the map has a key of the same number and of another length.
    #[inline]
    fn find<'g>(
        &self,
        guard: &'g Guard<'_, M>,
        (key, number): (&[u8], u64),
    ) -> Result<Option<Record<'g, M>>> {
        let Some(at) = self.tree.get_within(guard, number)? else { return Ok(None) };
        record_of(guard.media(), at, (key, number)).map(Some)
    }

    /// Links the record at `new`, which is flushed, if the key still has the record `old`, or still none.
    fn link<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        number: u64,
        old: Option<&Record<'g, M>>,
        new: u64,
        fresh: &mut Fresh<'g, M>,
    ) -> Result<Attempt> {
        // N2: pairs with the flushes of the record. What the tree stores next may become durable at any moment.
        guard.media().fence();
        guard.media().mark(Mark::Step("write.record"));
        let attempt = self.exchange(guard, number, old, Change::Put(new), None)?;
        if matches!(attempt, Attempt::Done) {
            fresh.linked();
        }
        Ok(attempt)
    }

    /// N3 and N4: makes the change if the key still has the record `old`, or still none, and retires that record.
    fn exchange<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        number: u64,
        old: Option<&Record<'g, M>>,
        change: Change,
        turn: Option<&Turn<'_>>,
    ) -> Result<Attempt> {
        let expected = old.map(Record::at);
        let applied =
            self.tree.try_apply(guard, number, turn, &mut |now| match now == expected {
                true => change,
                false => Change::Keep,
            })?;
        match applied {
            None => Ok(Attempt::HeldUp),
            Some(now) if now == expected => {
                // The tree has made it durable that nothing leads to the old record.
                old.into_iter().for_each(|old| guard.retire(old.at(), old.bytes()));
                Ok(Attempt::Done)
            }
            Some(now) => Ok(Attempt::Moved(now)),
        }
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
