//! Several changes at once, in maps of any kind of one pool.
//!
//! [`space`](crate::space) has the protocol. Here the changes meet the indexes: values that are byte strings become
//! records before the commit, so that to apply a change is to link its record.

use std::cell::Cell;

use super::bytes::ByteTree;
use super::words::WordTree;
use crate::media::Media;
use crate::space::{AnyKey, Changes, Guard, MOST_CHANGES, OpenMap, Planned, Space};
use crate::tree::records::record::{Writer, bytes_for, check_lengths};
use crate::{Error, Result};

/// The most bytes of all keys and values of byte strings in one commit.
const MOST_BYTES: usize = 1 << 30;

/// One change.
pub enum Operation<'o, M: Media> {
    /// A change of an index of words.
    Word {
        /// The index.
        tree: &'o WordTree<M>,
        /// The key.
        key: u64,
        /// The value; `None` removes the key.
        value: Option<u64>,
    },
    /// A change of an index of byte strings.
    Bytes {
        /// The index.
        tree: &'o ByteTree<M>,
        /// The key.
        key: &'o [u8],
        /// The value; `None` removes the key.
        value: Option<&'o [u8]>,
    },
}

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

    /// Checks the lengths of key and value, and returns their sum.
    fn check(&self) -> Result<usize> {
        match *self {
            Self::Word { .. } => Ok(0),
            Self::Bytes { tree, key, value } => {
                let len = value.map_or(0, <[u8]>::len);
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
/// Those of a write of one key, before which nothing has changed; [`Error::Unsupported`] for too many changes, or those
/// of several pools; [`Error::WritersStay`] if other threads stay inside operations that began before the first commit.
/// After [`Error::Poisoned`] the next open completes the changes.
pub fn commit<M: Media>(space: &Space<M>, operations: &[Operation<'_, M>]) -> Result<()> {
    let unsupported = |what| Err(Error::Unsupported { what });
    let mut bytes = 0_usize;
    for operation in operations {
        bytes = bytes.saturating_add(operation.check()?);
        if !std::ptr::eq(operation.open_map().space(), space) {
            return unsupported("changes of several pools at once");
        }
    }
    if operations.len() > MOST_CHANGES || bytes > MOST_BYTES {
        return unsupported("so many changes at once: 1048576, and 1 GiB, are the most");
    }
    if operations.is_empty() {
        return Ok(());
    }
    space.commit(&mut Sorted::of(operations))
}

/// The changes of a commit, by map and key.
pub(super) struct Sorted<'o, 'c, M: Media> {
    operations: Vec<&'c Operation<'o, M>>,
    maps: Vec<&'c OpenMap<M>>,
    /// For each change that puts a byte string, the record that no map has yet; else 0.
    records: Vec<Cell<u64>>,
}

impl<'o, 'c, M: Media> Sorted<'o, 'c, M> {
    pub(super) fn of(operations: &'c [Operation<'o, M>]) -> Self {
        let place =
            |operation: &Operation<'o, M>| (operation.open_map().map().entry(), operation.key());
        // The sort is stable, so that the last change of a key comes first.
        let mut sorted: Vec<&Operation<'o, M>> = operations.iter().rev().collect();
        sorted.sort_by(|a, b| place(a).cmp(&place(b)));
        sorted.dedup_by(|later, first| place(later) == place(first));
        let mut maps: Vec<&OpenMap<M>> = sorted.iter().map(|change| change.open_map()).collect();
        maps.dedup_by_key(|open| open.map().entry());
        let records = sorted.iter().map(|_| Cell::new(0)).collect();
        Self { operations: sorted, maps, records }
    }

    fn write_records(&self, guard: &Guard<'_, M>) -> Result<()> {
        for (operation, record) in self.operations.iter().zip(&self.records) {
            if let Operation::Bytes { key, value: Some(value), .. } = operation {
                let at = guard.alloc(bytes_for(key.len(), value.len()))?;
                record.set(at);
                let mut writer = Writer::new(guard.media(), at, key, value.len())?;
                writer.write(value);
                writer.finish();
            }
        }
        Ok(())
    }

    /// The chunks of all records that no map has.
    fn own_records(&self) -> impl Iterator<Item = (u64, u64)> {
        self.operations.iter().zip(&self.records).filter_map(
            |(operation, record)| match operation {
                Operation::Bytes { key, value: Some(value), .. } if record.get() != 0 => {
                    Some((record.take(), bytes_for(key.len(), value.len())))
                }
                _ => None,
            },
        )
    }

    /// Applies the first changes, each durably.
    pub(super) fn apply_first(&self, changes: usize) -> Result<()> {
        for (operation, record) in self.operations.iter().zip(&self.records).take(changes) {
            match self.apply_one(operation, record) {
                // The map was dropped since the commit began.
                Ok(()) | Err(Error::Dropped) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn apply_one(&self, operation: &Operation<'_, M>, record: &Cell<u64>) -> Result<()> {
        match *operation {
            Operation::Word { tree, key, value } => tree.set(key, value),
            Operation::Bytes { tree, key, value } => {
                tree.set(key, value.map(|_| record.get()))?;
                record.set(0);
                Ok(())
            }
        }
    }
}

impl<M: Media> Changes<M> for Sorted<'_, '_, M> {
    fn maps(&self) -> &[&OpenMap<M>] {
        &self.maps
    }

    fn prepare(&mut self, guard: &Guard<'_, M>) -> Result<Vec<Planned<'_>>> {
        let written = self.write_records(guard);
        written
            .inspect_err(|_| self.own_records().for_each(|(at, bytes)| guard.discard(at, bytes)))?;
        let changes =
            self.operations.iter().zip(&self.records).map(|(operation, record)| Planned {
                map: operation.open_map().map().entry(),
                key: operation.key(),
                value: match **operation {
                    Operation::Word { value, .. } => value,
                    Operation::Bytes { value, .. } => value.map(|_| record.get()),
                },
            });
        Ok(changes.collect())
    }

    fn take_back(&mut self, guard: &Guard<'_, M>) {
        self.own_records().for_each(|(at, bytes)| guard.discard(at, bytes));
    }

    /// In the same order as [`apply`](Self::apply), so that the lines that it will need arrive together.
    fn look(&self) -> Result<()> {
        let mut keys = Vec::new();
        for part in
            self.operations.chunk_by(|a, b| std::ptr::eq(a.open_map().map(), b.open_map().map()))
        {
            keys.clear();
            for operation in part {
                match **operation {
                    Operation::Word { key, .. } => keys.push(key),
                    Operation::Bytes { tree, key, .. } => tree.look(key)?,
                }
            }
            if let Operation::Word { tree, .. } = part[0] {
                tree.look(&keys)?;
            }
        }
        Ok(())
    }

    fn apply(&self) -> Result<()> {
        self.apply_first(self.operations.len())?;
        if self.records.iter().any(|record| record.get() != 0) {
            let space = self.maps[0].space();
            let guard = space.pin_mut()?;
            // Readers may have found them in the intent.
            self.own_records().for_each(|(at, bytes)| guard.retire(at, bytes));
        }
        Ok(())
    }
}
