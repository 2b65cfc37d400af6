//! What an index of numbers offers.

use crate::Result;
use crate::pool::Seat;
use crate::tree::pops::Popped;

/// An ordered index from `u64` to `u64` in a pool.
///
/// Any thread may call any method at any time. Each is linearizable, and durable when it returns as
/// far as the medium promises.
#[expect(clippy::len_without_is_empty, reason = "a map asks for its first entry instead")]
pub trait Index: Send + Sync + 'static {
    /// A place in a scan in one direction; a fresh one begins wherever the first call says.
    type Cursor: Default + Send;

    /// The value of `key`. Never blocks on a writer.
    ///
    /// # Errors
    ///
    /// Those that every method of a map may meet ([`Map`](crate::Map) names them).
    fn get(&self, key: u64) -> Result<Option<u64>>;

    /// The values of `keys`, in their order, with their cache misses overlapped.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    fn get_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>>;

    /// Applies what `decide` makes of the present value of `key`, atomically, and returns that
    /// value. `decide` may run under a lock: it must be short and must not call the index. It runs again
    /// where another thread was faster, or where the operation ran out of space and begins anew. In a process
    /// that is forked inside of it the operation does nothing more ([`Error::Forked`](crate::Error::Forked)).
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get), [`Error::Full`](crate::Error::Full) and
    /// [`Error::ReadOnly`](crate::Error::ReadOnly); then nothing has changed.
    fn modify(&self, key: u64, decide: impl FnMut(Option<u64>) -> Change) -> Result<Option<u64>>;

    /// As [`modify`](Self::modify), for a `decide` that does not fork the process: nobody asks after it
    /// in which process it has returned.
    ///
    /// # Errors
    ///
    /// As there.
    #[inline(always)]
    fn apply(&self, key: u64, decide: impl FnMut(Option<u64>) -> Change) -> Result<Option<u64>> {
        self.modify(key, decide)
    }

    /// Gives `key` this value and returns the one it had, as [`apply`](Self::apply) does. Looks first where `near`
    /// says that the last such call ended: one of many whose keys ascend finds its place there.
    ///
    /// # Errors
    ///
    /// As for [`modify`](Self::modify).
    #[inline]
    fn insert_near(&self, near: &mut Near, key: u64, value: u64) -> Result<Option<u64>> {
        let _ = near;
        self.apply(key, |_| Change::Put(value))
    }

    /// The entry that comes next in the scan upwards of `cursor`, if it is at hand: a fast path of
    /// [`scan_up`](Self::scan_up). `None` says nothing; what is given, `scan_up` would have given for
    /// any key up to it and beyond the one returned last.
    #[inline(always)]
    fn next_up(&self, cursor: &mut Self::Cursor) -> Option<(u64, u64)> {
        let _ = cursor;
        None
    }

    /// The same downwards: a fast path of [`scan_down`](Self::scan_down).
    #[inline(always)]
    fn next_down(&self, cursor: &mut Self::Cursor) -> Option<(u64, u64)> {
        let _ = cursor;
        None
    }

    /// The entry with the smallest key at or above `key`. Successive calls with one cursor pass
    /// keys beyond the one returned last.
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

    /// The entry with the smallest key, at one moment of the call; `None`: at one moment there was none.
    ///
    /// Lock-free: it looks again only where a writer has changed what it rests on.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    fn first(&self) -> Result<Option<(u64, u64)>>;

    /// The entry with the largest key, as [`first`](Self::first).
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    fn last(&self) -> Result<Option<(u64, u64)>>;

    /// For whoever looked in vain for the key that [`first`](Self::first) or [`last`](Self::last) gave, twice
    /// in a row: whether searches find it. (Another thread may have been faster both times.)
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if they do not, though nobody has touched what the answer rests on
    /// meanwhile; those of [`get`](Self::get).
    fn check_ends(&self) -> Result<()> {
        Ok(())
    }

    /// Takes out the entry that [`first`](Self::first) has given (for `smallest` = false
    /// [`last`](Self::last)), if it is that still: then it was at the moment at which it was taken out, in which no
    /// other thread finds a key before it.
    ///
    /// # Errors
    ///
    /// As for [`modify`](Self::modify).
    fn pop(&self, smallest: bool, entry: (u64, u64)) -> Result<Popped>;

    /// How many entries there are.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    fn len(&self) -> Result<Len>;

    /// How many entries there are, counted first where that is not known: O(n) then, by the caller or, where another
    /// thread counts already, by that one.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    fn exact_len(&self) -> Result<u64>;
}

/// Where the last of several inserts ended: a node of the index, if it remembers one.
#[derive(Debug, Default)]
pub struct Near(pub(crate) Seat<u64>);

/// What to do with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    Keep,
    /// Give it this value, whether it is there or not.
    Put(u64),
    /// Take it out if it is there.
    Remove,
}

/// How many entries a map has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Len {
    /// So many: exact when no operation is under way; beside writers off by no more than the operations that
    /// were under way while it was counted.
    Exact(u64),
    /// At least so many, in the same sense: the pool was not closed cleanly, and the entries are being counted in
    /// the background.
    AtLeast(u64),
}
