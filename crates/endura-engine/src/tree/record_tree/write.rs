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
    /// Nothing was changed: the key has another record by now.
    Moved,
    /// Nothing was changed: the pin has to end first.
    HeldUp,
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
                        Some(_) => Attempt::Moved,
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
                Attempt::Moved => kept = Some((old, change)),
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
        for _ in 0..ATTEMPTS {
            let old = self.find(&guard, (key, number))?;
            match self.link(&guard, number, old.as_ref(), new, &mut fresh)? {
                Attempt::Done => {
                    guard.media().mark(Mark::Acknowledged);
                    return Ok(true);
                }
                Attempt::Moved => {}
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
            Some(_) => Ok(Attempt::Moved),
        }
    }
}
