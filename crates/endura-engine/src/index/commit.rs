//! Several changes at once, in maps of any kind of one pool.
//!
//! [`space`](crate::space) has the protocol. Here the changes meet the indexes: values that are byte strings become
//! records before the commit, so that to apply a change is to link its record.

use std::cell::Cell;
use std::ops::Range;

use super::bytes::ByteTree;
use super::room::{EXACT, Fences};
use super::words::WordTree;
use crate::media::Media;
use crate::space::{
    AnyKey, ChangedMap, Changes, Guard, MOST_CHANGES, Needs, OpenMap, Plan, Planned, Space,
};
use crate::tree::Bytes;
use crate::tree::records::record::{Writer, bytes_for, check_lengths};
use crate::{Error, Result};

/// The most bytes of all keys and values in one commit.
pub const MOST_BYTES: u64 = 1 << 30;
/// The most parts of one commit.
pub const MOST_PARTS: usize = MOST_CHANGES;

/// What a part of a commit does to its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act<V> {
    /// Gives it this value.
    Put(V),
    /// Removes it.
    Delete,
    /// Lets the commit fail unless the key has this value before it; `None`: is absent.
    Expect(Option<V>),
}

impl<V> Act<V> {
    fn is_change(&self) -> bool {
        !matches!(self, Self::Expect(_))
    }
}

/// Whether a value in the pool is the one that an [`Act::Expect`] has.
pub type IsSame = fn(Bytes<'_>, &[u8]) -> bool;

/// One part of a commit.
pub enum Operation<'o, M: Media> {
    /// Of an index of words.
    Word {
        /// The index.
        tree: &'o WordTree<M>,
        /// The key.
        key: u64,
        /// What it does.
        act: Act<u64>,
    },
    /// Of an index of byte strings.
    Bytes {
        /// The index.
        tree: &'o ByteTree<M>,
        /// The key.
        key: &'o [u8],
        /// What it does.
        act: Act<&'o [u8]>,
        /// How values are compared.
        is_same: IsSame,
    },
}

impl<M: Media> Clone for Operation<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Media> Copy for Operation<'_, M> {}

impl<'o, M: Media> Operation<'o, M> {
    fn open_map(&self) -> &'o OpenMap<M> {
        match *self {
            Self::Word { tree, .. } => tree.open_map(),
            Self::Bytes { tree, .. } => tree.open_map(),
        }
    }

    fn key(&self) -> AnyKey<'o> {
        match *self {
            Self::Word { key, .. } => AnyKey::Number(key),
            Self::Bytes { key, .. } => AnyKey::Bytes(key),
        }
    }

    fn place(&self) -> (u64, AnyKey<'o>) {
        (self.open_map().map().entry(), self.key())
    }

    fn is_change(&self) -> bool {
        match self {
            Self::Word { act, .. } => act.is_change(),
            Self::Bytes { act, .. } => act.is_change(),
        }
    }

    /// The key and the value, if the operation needs a record.
    fn record(&self) -> Option<(&'o [u8], &'o [u8])> {
        match *self {
            Self::Bytes { key, act: Act::Put(value), .. } => Some((key, value)),
            _ => None,
        }
    }

    /// Checks the lengths of key and value, and returns their sum in bytes.
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`], [`Error::ValueTooLong`], or [`Error::Encode`] for a key that is none of its map.
    pub fn check(&self) -> Result<usize> {
        match *self {
            Self::Word { .. } => Ok(16),
            Self::Bytes { tree, key, act, .. } => {
                let len = match act {
                    Act::Put(value) | Act::Expect(Some(value)) => value.len(),
                    Act::Delete | Act::Expect(None) => 0,
                };
                tree.check_key(key)?;
                check_lengths(key.len(), len)?;
                Ok(key.len() + len)
            }
        }
    }
}

/// Makes all changes at once: after a crash all of them are there or none, and no read of one key, and no write, comes
/// between them. Of several changes of one key the last counts. They are durable on return.
///
/// # Errors
///
/// Those of a write of one key, [`Error::Unmet`], [`Error::BatchTooLarge`] and [`Error::OtherPool`], with nothing changed;
/// [`Error::InsideOperation`] inside a read of one moment; [`Error::WritersStay`] if other threads stay inside operations that
/// began before the first commit. After [`Error::Poisoned`] the next open completes the changes.
pub fn commit<M: Media>(space: &Space<M>, operations: &[Operation<'_, M>]) -> Result<()> {
    // First, because a child of a fork in a closure is inside of all that its parent was.
    if space.is_elsewhere() {
        return Err(Error::Forked);
    }
    let mut bytes = 0_u64;
    for operation in operations {
        bytes = bytes.saturating_add(operation.check()? as u64);
        if !std::ptr::eq(operation.open_map().space(), space) {
            return Err(Error::OtherPool);
        }
    }
    if operations.len() > MOST_PARTS || bytes > MOST_BYTES {
        return Err(Error::BatchTooLarge { operations: operations.len(), bytes });
    }
    if operations.is_empty() {
        // If the pool is closed or poisoned, this says so.
        return space.pin().map(drop);
    }
    if space.is_viewed() {
        return Err(Error::InsideOperation);
    }
    let mut sorted = Sorted::of(operations);
    sorted.check_lengths()?;
    // In a read-only session nothing changes, so that no marks are needed to compare.
    if space.session().read_only && !operations.iter().any(Operation::is_change) {
        return sorted.look().map(drop);
    }
    space.commit(&mut sorted)
}

/// Where a part is in the order of a commit: by map, key, and the number of the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    map: u64,
    /// The [word](AnyKey::word) of the key, and below it the number of the part: compared as one number.
    key: u128,
}

impl Rank {
    fn index(self) -> usize {
        self.key as u32 as usize
    }

    fn has_word_of(&self, other: &Self) -> bool {
        self.map == other.map && self.key >> 64 == other.key >> 64
    }

    fn has_key_of<M: Media>(&self, other: &Self, operations: &[Operation<'_, M>]) -> bool {
        self.has_word_of(other) && operations[self.index()].key() == operations[other.index()].key()
    }
}

/// The ranks of operations, in ascending order.
fn ranked<M: Media>(operations: &[Operation<'_, M>]) -> Vec<Rank> {
    let rank = |(index, operation): (usize, &Operation<'_, M>)| {
        let (map, key) = operation.place();
        Rank { map, key: u128::from(key.word()) << 64 | index as u128 }
    };
    let mut ranks: Vec<Rank> = operations.iter().enumerate().map(rank).collect();
    ranks.sort_unstable();
    for equal in ranks.chunk_by_mut(|a, b| a.has_word_of(b)).filter(|equal| equal.len() > 1) {
        // Byte strings that begin alike.
        equal.sort_by(|a, b| operations[a.index()].key().cmp(&operations[b.index()].key()));
    }
    ranks
}

/// All parts that have one key.
struct Keyed {
    /// The offset of the map's entry in the directory.
    map: u64,
    /// The parts, by their places in the sorted list, in the order in which they were given.
    parts: Range<usize>,
    /// The place of the change that counts, if the key is not only read.
    change: Option<usize>,
    /// Whether a part expects a value.
    is_compared: bool,
    /// If the change puts a byte string: the record that no map has yet; else 0.
    record: Cell<u64>,
}

/// The parts of a commit, by map and key.
pub(super) struct Sorted<'o, 'c, M: Media> {
    /// The parts, by map, key, and the number of the part.
    parts: Vec<(usize, &'c Operation<'o, M>)>,
    keys: Vec<Keyed>,
    maps: Vec<ChangedMap<'o, M>>,
}

impl<'o, 'c, M: Media> Sorted<'o, 'c, M> {
    pub(super) fn of(operations: &'c [Operation<'o, M>]) -> Self {
        let ranks = ranked(operations);
        let mut parts = Vec::with_capacity(ranks.len());
        let mut keys = Vec::with_capacity(ranks.len());
        let mut maps: Vec<ChangedMap<'o, M>> = Vec::new();
        for group in ranks.chunk_by(|a, b| a.has_key_of(b, operations)) {
            let (map, begin) = (group[0].map, parts.len());
            parts.extend(group.iter().map(|rank| (rank.index(), &operations[rank.index()])));
            let change = parts[begin..].iter().rposition(|(_, part)| part.is_change());
            if keys.last().is_none_or(|last: &Keyed| last.map != map) {
                maps.push(ChangedMap { open: parts[begin].1.open_map(), is_changed: false });
            }
            if let Some(last) = maps.last_mut() {
                last.is_changed |= change.is_some();
            }
            keys.push(Keyed {
                map,
                parts: begin..parts.len(),
                change: change.map(|i| begin + i),
                is_compared: group.len() > 1 || change.is_none(),
                record: Cell::new(0),
            });
        }
        Self { parts, keys, maps }
    }

    /// Fails if two keys of one map have one number and different lengths. An index whose keys are numbers takes one of them
    /// only.
    fn check_lengths(&self) -> Result<()> {
        for group in self.keys.chunk_by(|a, b| a.map == b.map) {
            let Operation::Bytes { tree, key: first, .. } = self.first(&group[0]) else { continue };
            let keys = || {
                group.iter().filter_map(|key| match self.first(key) {
                    Operation::Bytes { key, .. } => Some(*key),
                    Operation::Word { .. } => None,
                })
            };
            if tree.has_numbers() && keys().any(|key| key.len() != first.len()) {
                let source = "keys of different lengths in a map whose keys have one length".into();
                return Err(Error::Encode { type_name: "key".to_owned(), source });
            }
        }
        Ok(())
    }

    fn first(&self, key: &Keyed) -> &'c Operation<'o, M> {
        self.parts[key.parts.start].1
    }

    fn change(&self, key: &Keyed) -> Option<&'c Operation<'o, M>> {
        key.change.map(|place| self.parts[place].1)
    }

    fn write_records(&self, guard: &Guard<'_, M>) -> Result<()> {
        for key in &self.keys {
            if let Some((bytes, value)) = self.change(key).and_then(Operation::record) {
                let at = guard.alloc(bytes_for(bytes.len(), value.len()))?;
                key.record.set(at);
                let mut writer = Writer::new(guard.media(), at, bytes, value.len())?;
                writer.write(value);
                writer.finish();
            }
        }
        Ok(())
    }

    /// The chunks of all records that no map has.
    fn own_records(&self) -> impl Iterator<Item = (u64, u64)> {
        self.keys.iter().filter(|key| key.record.get() != 0).filter_map(|key| {
            let (bytes, value) = self.change(key).and_then(Operation::record)?;
            Some((key.record.take(), bytes_for(bytes.len(), value.len())))
        })
    }

    /// Applies the first changes, each durably.
    pub(super) fn apply_first(&self, changes: usize, each: &mut dyn FnMut()) -> Result<()> {
        let changed = self.keys.iter().filter_map(|key| Some((key, self.change(key)?)));
        for (key, operation) in changed.take(changes) {
            match apply_one(operation, &key.record) {
                // The map was dropped since the commit began.
                Ok(()) | Err(Error::Dropped) => each(),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Notes the first part that expects another value than `found`.
    fn compare_word(&self, key: &Keyed, found: Option<u64>, unmet: &mut Option<usize>) {
        for &(index, part) in &self.parts[key.parts.clone()] {
            if let Operation::Word { act: Act::Expect(expected), .. } = part
                && *expected != found
            {
                note_first(unmet, index);
            }
        }
    }

    /// As for words.
    fn compare_bytes(&self, key: &Keyed, found: Option<Bytes<'_>>, unmet: &mut Option<usize>) {
        for &(index, part) in &self.parts[key.parts.clone()] {
            let Operation::Bytes { act: Act::Expect(expected), is_same, .. } = part else {
                continue;
            };
            let is_met = match (found, expected) {
                (Some(found), Some(expected)) => is_same(found, expected),
                (None, None) => true,
                _ => false,
            };
            if !is_met {
                note_first(unmet, index);
            }
        }
    }
}

fn note_first(unmet: &mut Option<usize>, index: usize) {
    *unmet = Some(unmet.map_or(index, |first| first.min(index)));
}

fn apply_one<M: Media>(operation: &Operation<'_, M>, record: &Cell<u64>) -> Result<()> {
    match *operation {
        Operation::Word { tree, key, act: Act::Put(value) } => tree.set(key, Some(value)),
        Operation::Word { tree, key, .. } => tree.set(key, None),
        Operation::Bytes { tree, key, act: Act::Put(_), .. } => {
            tree.set(key, Some(record.get()))?;
            record.set(0);
            Ok(())
        }
        Operation::Bytes { tree, key, .. } => tree.set(key, None),
    }
}

/// Whether bytes of the pool are these, and no others.
pub fn same_bytes(found: Bytes<'_>, expected: &[u8]) -> bool {
    found == *expected
}

impl<M: Media> Changes<M> for Sorted<'_, '_, M> {
    fn maps(&self) -> &[ChangedMap<'_, M>] {
        &self.maps
    }

    fn are_few(&self) -> bool {
        self.keys.len() <= EXACT
    }

    fn prepare(&mut self, guard: &Guard<'_, M>) -> Result<Vec<Planned<'_>>> {
        let written = self.write_records(guard);
        written
            .inspect_err(|_| self.own_records().for_each(|(at, bytes)| guard.discard(at, bytes)))?;
        let planned = self.keys.iter().map(|key| Planned {
            map: key.map,
            key: self.first(key).key(),
            plan: match self.change(key) {
                None => Plan::Read,
                Some(Operation::Word { act: Act::Put(value), .. }) => Plan::Put(*value),
                Some(Operation::Bytes { act: Act::Put(_), .. }) => Plan::Put(key.record.get()),
                Some(_) => Plan::Remove,
            },
        });
        Ok(planned.collect())
    }

    fn take_back(&mut self, guard: &Guard<'_, M>) {
        self.own_records().for_each(|(at, bytes)| guard.discard(at, bytes));
    }

    /// In the same order as [`apply`](Self::apply), so that the lines that it will need arrive together.
    fn look(&self) -> Result<Needs> {
        let (mut needs, mut unmet, mut words) = (Needs::default(), None, Vec::new());
        for group in self.keys.chunk_by(|a, b| a.map == b.map) {
            let is_changed = group.iter().any(|key| key.change.is_some());
            let is_put = |key: &Keyed| {
                let change = self.change(key);
                change.is_some_and(|change| match change {
                    Operation::Word { act, .. } => matches!(act, Act::Put(_)),
                    Operation::Bytes { act, .. } => matches!(act, Act::Put(_)),
                })
            };
            let mut absent = 0;
            match *self.first(&group[0]) {
                Operation::Word { tree, .. } => {
                    words.clear();
                    words.extend(group.iter().map(|key| match self.first(key) {
                        Operation::Word { key, .. } => *key,
                        Operation::Bytes { .. } => 0,
                    }));
                    for (key, found) in group.iter().zip(tree.look(&words)?) {
                        absent += usize::from(found.is_none() && is_put(key));
                        if key.is_compared {
                            self.compare_word(key, found, &mut unmet);
                        }
                    }
                    if is_changed {
                        tree.add_needs(absent, &mut needs);
                    }
                }
                Operation::Bytes { tree, .. } => {
                    let mut fences = Fences::default();
                    for key in group {
                        let Operation::Bytes { key: bytes, .. } = self.first(key) else { continue };
                        let compare = |found: Bytes<'_>| {
                            self.compare_bytes(key, Some(found), &mut unmet);
                        };
                        if !tree.look(bytes, compare)? {
                            if is_put(key) {
                                absent += 1;
                                tree.count_fences(bytes, &mut fences)?;
                            }
                            self.compare_bytes(key, None, &mut unmet);
                        }
                    }
                    if is_changed {
                        tree.add_needs(absent, &fences, &mut needs);
                    }
                }
            }
        }
        unmet.map_or(Ok(needs), |index| Err(Error::Unmet { index }))
    }

    fn apply(&self, each: &mut dyn FnMut()) -> Result<()> {
        self.apply_first(self.keys.len(), each)?;
        if self.keys.iter().any(|key| key.record.get() != 0) {
            let space = self.maps[0].open.space();
            let guard = space.pin_mut()?;
            // Readers may have found them in the intent.
            self.own_records().for_each(|(at, bytes)| guard.retire(at, bytes));
        }
        Ok(())
    }
}
