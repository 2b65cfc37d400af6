//! The interface of an index of numbers.

use crate::space::Seat;
use crate::tree::pops::Popped;
use crate::{Error, Result};

/// The error text for a scan that meets a key that is not beyond the last key.
pub(crate) const OUT_OF_ORDER: &str = "keys that are not in order";

/// An ordered index from `u64` to `u64` in a pool.
///
/// Any thread may call any method at any time. Each call is linearizable, and when it returns, its effect is as durable
/// as the medium promises.
#[expect(clippy::len_without_is_empty, reason = "a map asks for its first entry instead")]
pub trait Index: Send + Sync + 'static {
    /// A position in a scan in one direction. A new cursor starts at the key of its first call.
    type Cursor: Default + Send;

    /// The value of `key`. Never blocks on a writer.
    ///
    /// # Errors
    ///
    /// Those of every method of a map (`Map` names them).
    fn get(&self, key: u64) -> Result<Option<u64>>;

    /// Whether several changes at once are about, so that a reader of one key first asks [`decided`](Self::decided).
    #[inline(always)]
    fn has_batches(&self) -> bool {
        false
    }

    /// The value that a commit which is being applied gives to `key`; `None` around it if no commit has the key.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    fn decided(&self, _key: u64) -> Result<Option<Option<u64>>> {
        Ok(None)
    }

    /// The values of `keys`, in the order of `keys`. The cache misses of the lookups overlap.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    fn get_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>>;

    /// Passes the current value of `key` to `decide` and applies the change that `decide` returns, both as one atomic
    /// operation. Returns the value that the last call of `decide` saw. `decide` may run under a lock: it must be short
    /// and must not call the index. `decide` runs again if another thread has changed the value, or if the operation
    /// runs out of space and restarts. If `decide` forks the process, the operation stores nothing more in the child
    /// ([`Error::Forked`]).
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get), [`Error::Full`] and [`Error::ReadOnly`];
    /// nothing has changed then.
    fn modify(&self, key: u64, decide: impl FnMut(Option<u64>) -> Change) -> Result<Option<u64>>;

    /// As [`modify`](Self::modify), for a `decide` that does not fork the process: the operation does not check in
    /// which process it returns.
    ///
    /// # Errors
    ///
    /// As for [`modify`](Self::modify).
    #[inline(always)]
    fn apply(&self, key: u64, decide: impl FnMut(Option<u64>) -> Change) -> Result<Option<u64>> {
        self.modify(key, decide)
    }

    /// Gives `key` this value and returns the old one, as [`apply`](Self::apply) does. The search starts at the node
    /// that `near` remembers from the last such call. If the keys of a series of calls ascend, most searches end at
    /// that node as well.
    ///
    /// # Errors
    ///
    /// As for [`modify`](Self::modify).
    #[inline]
    fn insert_near(&self, near: &mut Near, key: u64, value: u64) -> Result<Option<u64>> {
        let _ = near;
        self.apply(key, |_| Change::Put(value))
    }

    /// Returns `error`, which is about to be reported. If the error reports damage, a tree in a pool first records this
    /// damage for the pool.
    fn noted(&self, error: Error) -> Error {
        error
    }

    /// The error for an entry of a scan whose key is not beyond the last key.
    fn out_of_order(&self, cursor: &Self::Cursor) -> Error {
        let _ = cursor;
        Error::Corrupt { offset: 0, what: OUT_OF_ORDER }
    }

    /// The next entry of the upward scan of `cursor`, if it is available without a search: a fast path of
    /// [`scan_up`](Self::scan_up). `None` says nothing about the map: the caller then calls `scan_up`. A returned entry
    /// is the one that `scan_up` would have returned for any `key` that is beyond the key returned last and not beyond
    /// the key of this entry.
    #[inline(always)]
    fn next_up(&self, cursor: &mut Self::Cursor) -> Option<(u64, u64)> {
        let _ = cursor;
        None
    }

    /// As [`next_up`](Self::next_up), downwards: a fast path of [`scan_down`](Self::scan_down).
    #[inline(always)]
    fn next_down(&self, cursor: &mut Self::Cursor) -> Option<(u64, u64)> {
        let _ = cursor;
        None
    }

    /// The entry with the smallest key at or above `key`. With one cursor, each call must pass a key beyond the key
    /// returned last.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    fn scan_up(&self, cursor: &mut Self::Cursor, key: u64) -> Result<Option<(u64, u64)>>;

    /// The entry with the largest key at or below `key`, as [`scan_up`](Self::scan_up) in the other
    /// direction. A cursor serves one direction only.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    fn scan_down(&self, cursor: &mut Self::Cursor, key: u64) -> Result<Option<(u64, u64)>>;

    /// The entry with the smallest key, at one moment of the call. Returns `None` if the map was empty at one moment of
    /// the call.
    ///
    /// Lock-free: it searches again only if a writer has changed a node on which the result depends.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    fn first(&self) -> Result<Option<(u64, u64)>>;

    /// As [`first`](Self::first), for the entry with the largest key.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    fn last(&self) -> Result<Option<(u64, u64)>>;

    /// Checks that searches find the key that [`first`](Self::first) or [`last`](Self::last) returned. Called after two
    /// searches in a row did not find such a key. (Another thread may have removed the key both times.)
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if a search does not find the key, although no writer has changed a node on which the result
    /// depends; those of [`get`](Self::get).
    fn check_ends(&self) -> Result<()> {
        Ok(())
    }

    /// Removes the entry that [`first`](Self::first) (for `smallest` = false: [`last`](Self::last)) returned, if the
    /// entry is still at that end of the map when it is removed. At the moment of the removal no other thread finds a
    /// key nearer to that end.
    ///
    /// # Errors
    ///
    /// As for [`modify`](Self::modify).
    fn pop(&self, smallest: bool, entry: (u64, u64)) -> Result<Popped>;

    /// The number of entries.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    fn len(&self) -> Result<Len>;

    /// The number of entries. If this number is not known, the entries are counted first: O(n), by the caller, or by
    /// another thread that is already counting.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    fn exact_len(&self) -> Result<u64>;
}

/// Where the last of several inserts ended: a node, if the index remembers one.
#[derive(Debug, Default)]
pub struct Near(pub(crate) Seat<u64>);

/// The change of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// No change.
    Keep,
    /// Gives the key this value, whether it is present or not.
    Put(u64),
    /// Removes the key if it is present.
    Remove,
}

/// The number of entries of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Len {
    /// The number of entries. It is exact when no operation is running. While writers run, it is off by at most the
    /// number of operations that ran while it was determined.
    Exact(u64),
    /// A lower bound, as exact as [`Exact`](Self::Exact) is: the pool was not closed cleanly, and the entries are still
    /// being counted in the background.
    AtLeast(u64),
}
