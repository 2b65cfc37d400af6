//! Writes: find the place of a key, decide, prepare the new chunks, lock, check again, change one word.
//!
//! Under a lock a write only checks that the place is unchanged: that it still has the same record of the key, or still
//! none. Records never change, and no record's chunk is reused during this operation, so the same record means the same
//! value.
//!
//! A write whose place has changed keeps its decision as long as its basis is the same: the key is still absent, or has
//! the same value. Inserts and removes of neighbours, by any thread, do not make it decide again.

use std::io;

use crate::media::{Mark, Media, Region};
use crate::space::{AnyKey, Guard, Turn};
use crate::tree::records::basis::Basis;
use crate::tree::records::draft::Draft;
use crate::tree::records::filling::fill_record;
use crate::tree::records::fresh::Fresh;
use crate::tree::records::record::{Record, check_lengths};
use crate::tree::{ByteChange, Bytes};
use crate::{Error, Result};

use crate::tree::records::fingerprint::Sought;
use crate::tree::roart::nodes::lock::{LOCK, Locked};
use crate::tree::roart::nodes::node::EOK;
use crate::tree::roart::nodes::publish::{publish, unlink};
use crate::tree::roart::path::attempt::{Attempt, Attempts, Entered};
use crate::tree::roart::path::descend::{Below, Care, Spot};
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;
use crate::tree::roart::write::new_record::NewRecord;

/// A locked node or array, its words, and the index of one of them.
type Held<'g, M> = (Locked<'g, M>, Region<'g, M>, usize);

impl<M: Media, T: Techniques> Tree<M, T> {
    /// Passes the current value of `key` to `decide`, and applies the change that it returns. If `decide` returns
    /// `None`, this process is now the child of a fork, which stores nothing more. A pop passes its `turn`.
    pub(crate) fn write<'v>(
        &self,
        key: &[u8],
        basis: Basis,
        turn: Option<&Turn<'_>>,
        decide: &mut dyn FnMut(Option<Bytes<'_>>) -> Option<ByteChange<'v>>,
    ) -> Result<()> {
        check_lengths(key.len(), 0)?;
        let key = Sought::new(key);
        while !self.write_in_one_pin(&key, basis, turn, decide)? {
            self.open.map().pops().wait_for(key.bytes);
        }
        Ok(())
    }

    /// One pin of [`write`](Self::write). Returns whether the write was completed.
    fn write_in_one_pin<'v>(
        &self,
        key: &Sought<'_>,
        basis: Basis,
        turn: Option<&Turn<'_>>,
        decide: &mut dyn FnMut(Option<Bytes<'_>>) -> Option<ByteChange<'v>>,
    ) -> Result<bool> {
        let guard = self.pin_mut_for(key.bytes)?;
        guard.media().mark(Mark::Begin);
        let (mut fresh, mut draft) = (Fresh::new(&guard), Draft::default());
        let (mut attempts, mut kept) = (Attempts::new(), None);
        loop {
            let spot = self.find(&guard, key, Care::Hope)?;
            let old = spot.record();
            guard.media().mark(Mark::Step("write.found"));
            let again = if kept.is_some() { basis.reuse(&mut kept, old) } else { None };
            let Some(change) = again.or_else(|| decide(old.map(|record| record.value()))) else {
                return Err(Error::Forked);
            };
            // A closure of the caller ran without a claim.
            if basis == Basis::Shown && !self.claims_again(key) {
                return Ok(false);
            }
            let attempt = match (&change, old) {
                (ByteChange::Remove, None) if basis == Basis::Shown => {
                    let again = self.find(&guard, key, Care::Hope)?;
                    again.outcome(again.record().is_none())
                }
                (ByteChange::Keep, _) | (ByteChange::Remove, None) => Attempt::Done,
                (ByteChange::Remove, Some(old)) => self.remove(&guard, key, &spot, &old, turn)?,
                (ByteChange::Put(value), _) => {
                    let new = NewRecord { at: draft.of(&guard, &mut fresh, key.bytes, value)? };
                    self.put(&guard, key, spot, &mut fresh, &new)?
                }
            };
            match attempt {
                Attempt::Done => break,
                Attempt::Failed(seen) if attempts.failed(seen, || self.no_place())? => {}
                Attempt::Failed(_) | Attempt::HeldUp => return Ok(false),
            }
            fresh.keep_first();
            kept = Some((old, change));
        }
        guard.media().mark(Mark::Acknowledged);
        Ok(true)
    }

    fn no_place(&self) -> Error {
        let what = "a key whose place is never what it was when it was found";
        Error::Corrupt { offset: self.open.map().root(), what }
    }

    /// Gives `key` a value of `len` bytes that `fill` writes directly in its final place.
    pub(crate) fn write_from(
        &self,
        key: &[u8],
        len: usize,
        fill: &mut impl FnMut(&mut dyn io::Write) -> Result<()>,
    ) -> Result<()> {
        check_lengths(key.len(), len)?;
        let key = Sought::new(key);
        while !self.write_from_in_one_pin(&key, len, fill)? {
            self.open.map().pops().wait_for(key.bytes);
        }
        Ok(())
    }

    /// One pin of [`write_from`](Self::write_from). Returns whether the write was completed.
    fn write_from_in_one_pin(
        &self,
        key: &Sought<'_>,
        len: usize,
        fill: &mut impl FnMut(&mut dyn io::Write) -> Result<()>,
    ) -> Result<bool> {
        let guard = self.pin_mut_for(key.bytes)?;
        guard.media().mark(Mark::Begin);
        let mut fresh = Fresh::new(&guard);
        let at = fill_record(&guard, &mut fresh, (key.bytes, len), fill)?;
        Ok(self.claims_again(key) && self.link_new(&guard, key, at, &mut fresh)?)
    }

    /// Claims the key again, behind a closure: [`OpenMap::claims_again`](crate::space::OpenMap::claims_again).
    #[inline(always)]
    fn claims_again(&self, key: &Sought<'_>) -> bool {
        self.open.claims_again(|| AnyKey::Bytes(key.bytes))
    }

    /// Gives `key` the record at `at`, which is whole and durable, and belongs to the caller until it is linked. The call
    /// may be repeated if it is not known whether an earlier one has linked the record.
    pub(crate) fn write_record(&self, key: &[u8], at: u64) -> Result<()> {
        let key = Sought::new(key);
        let put = || {
            let guard = self.pin_mut_for(key.bytes)?;
            guard.media().mark(Mark::Begin);
            self.link_new(&guard, &key, at, &mut Fresh::new(&guard))
        };
        while !put()? {
            self.open.map().pops().wait_for(key.bytes);
        }
        Ok(())
    }

    /// Links the record at `at`, whatever the key has. Returns `false` if the pin has to end first.
    fn link_new<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        key: &Sought<'_>,
        at: u64,
        fresh: &mut Fresh<'g, M>,
    ) -> Result<bool> {
        let (new, mut attempts) = (NewRecord { at }, Attempts::new());
        loop {
            let spot = self.find(guard, key, Care::Hope)?;
            if spot.record().is_some_and(|old| old.at() == at) {
                break;
            }
            match self.put(guard, key, spot, fresh, &new)? {
                Attempt::Done => break,
                Attempt::Failed(seen) if attempts.failed(seen, || self.no_place())? => {}
                Attempt::Failed(_) | Attempt::HeldUp => return Ok(false),
            }
            fresh.keep_only(at);
        }
        guard.media().mark(Mark::Acknowledged);
        Ok(true)
    }

    /// Inserts a record at `spot`, or replaces the one that is there, unless the place has changed.
    fn put<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        key: &Sought<'_>,
        spot: Spot<'g, M>,
        fresh: &mut Fresh<'g, M>,
        new: &NewRecord,
    ) -> Result<Attempt> {
        if let Some(old) = spot.record() {
            let done = self.replace(guard, key, &spot, &old, fresh, new)?;
            return Ok(spot.outcome(done));
        }
        let spot = if spot.is_exact() { spot } else { self.find(guard, key, Care::Exact)? };
        guard.media().mark(Mark::Step("put.exact"));
        let entered = match spot.below {
            Below::Array(array, None) => {
                self.insert_into_array(guard, key, &spot, array, fresh, new)?
            }
            Below::Record(other, false) => self.pair(guard, key, &spot, other, fresh, new)?,
            Below::Nothing => self.insert_into_node(guard, key, &spot, fresh, new)?,
            Below::Elsewhere(Some(fork)) => {
                self.split_prefix(guard, key, &spot, fork, fresh, new)?
            }
            Below::Barren => return self.prune(guard, &spot).map(Attempt::Failed),
            // The key was inserted meanwhile, or the node was left: the place has changed.
            Below::Array(..) | Below::Record(..) | Below::Elsewhere(None) => Entered::Moved,
        };
        Ok(match entered {
            Entered::HeldUp => Attempt::HeldUp,
            Entered::Yes => spot.outcome(true),
            Entered::Moved => spot.outcome(false),
        })
    }

    /// Replaces the old record with the new one.
    fn replace<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        key: &Sought<'_>,
        spot: &Spot<'g, M>,
        old: &Record<'g, M>,
        fresh: &mut Fresh<'g, M>,
        new: &NewRecord,
    ) -> Result<bool> {
        let Some((_lock, words, i)) = self.lock_holder(guard, key, spot, old)? else {
            return Ok(false);
        };
        let word = match spot.below {
            Below::Array(..) => new.slot(key).0,
            _ => new.link(key, spot.node.depth()).0,
        };
        publish::<T, M>(&words, i, word);
        fresh.linked();
        // `publish` has made it durable that the old record is unlinked.
        guard.retire(old.at(), old.bytes());
        Ok(true)
    }

    /// Removes the record, unless it is no longer there.
    fn remove<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        key: &Sought<'_>,
        spot: &Spot<'g, M>,
        old: &Record<'g, M>,
        turn: Option<&Turn<'_>>,
    ) -> Result<Attempt> {
        let Some((mut lock, words, i)) = self.lock_holder(guard, key, spot, old)? else {
            return Ok(spot.outcome(false));
        };
        let live = lock.live().saturating_sub(1);
        lock.set_live(live);
        lock.keep_metadata::<T>(LOCK);
        unlink::<T, M>(&words, i);
        self.open.map().add(-1);
        // This unlock follows the count, because it is the last full fence of the operation if no cleanup follows.
        drop(lock);
        guard.retire(old.at(), old.bytes());
        // The operation is done and durable. The rest only improves the shape of the tree: if it fails, a later remove
        // does it.
        let is_sparse = match spot.below {
            Below::Array(array, _) => {
                live <= crate::tree::roart::write::shrink::sparse(array.kind())
            }
            _ => live <= spot.node.kind().sparse().max(1),
        };
        if is_sparse {
            if let Some(turn) = turn {
                turn.is_out();
            }
            guard.upkeep(|| self.tidy(guard, key));
        }
        Ok(Attempt::Done)
    }

    /// Locks the array or node that holds `old`, and finds the word that leads to `old`. `None` if `old` is no longer
    /// there.
    fn lock_holder<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        key: &Sought<'_>,
        spot: &Spot<'g, M>,
        old: &Record<'g, M>,
    ) -> Result<Option<Held<'g, M>>> {
        let generation = guard.space().generation();
        let (lock, words, found) = if let Below::Array(array, _) = spot.below {
            let Some(lock) = self.lock_array(guard, &array)? else { return Ok(None) };
            let found = array.find(key.bytes, key.fingerprint, generation)?;
            let found = found.map(|(slot, record)| (array.place(slot), record.at()));
            (lock, array.words(), found)
        } else {
            let node = spot.node;
            let Some(lock) = self.lock_node(guard, &node)? else { return Ok(None) };
            let found = match key.bytes.get(node.depth()) {
                Some(&byte) => node.child(byte, generation),
                None => Some((EOK, node.load(EOK))),
            };
            (lock, node.words(), found.map(|(i, link)| (i, link.at())))
        };
        match found.filter(|&(_, at)| at == old.at()) {
            Some((i, _)) => Ok(Some((lock, words, i))),
            None => {
                lock.unchanged();
                Ok(None)
            }
        }
    }
}
