//! The interface of an index from byte strings to byte strings, and access to its bytes in place.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Entry, EntryVisitor, Len, Popped};
use crate::cpu::copy::{append_out, copy_out};
use crate::media::{Media, Region};
use crate::{Error, Result};

/// The longest key, in bytes.
pub const LONGEST_KEY: usize = 64 << 10;
/// The longest value, in bytes.
pub const LONGEST_VALUE: usize = 1 << 30;

/// An ordered index from byte strings to byte strings in a pool.
///
/// Any thread may call any method at any time. Each call is linearizable, and when it returns, its effect is as durable
/// as the medium promises. Keys have at most [`LONGEST_KEY`] bytes, values at most [`LONGEST_VALUE`]; both may be empty
/// and hold any bytes.
#[expect(clippy::len_without_is_empty, reason = "a map asks for its first entry instead")]
pub trait ByteIndex: Send + Sync + 'static {
    /// A position in a scan in one direction. A new cursor starts at the bounds of its first call.
    type Cursor: Default + Send;

    /// Returns `error`, which is about to be reported. If the error reports damage, a tree in a pool first records this
    /// damage for the pool.
    fn noted(&self, error: Error) -> Error {
        error
    }

    /// Passes the value of `key`, in place, to `read`, and returns the result of `read`. Never blocks on a writer.
    /// Memory that is freed while `read` runs is not reused before `read` returns.
    ///
    /// # Errors
    ///
    /// Those of every method of a map (`Map` names them).
    fn get_with<R>(&self, key: &[u8], read: impl FnOnce(Bytes<'_>) -> R) -> Result<Option<R>>;

    /// The values of `keys`, in the order of `keys`. The cache misses of the lookups overlap. Each lookup is
    /// linearizable by itself; the batch as a whole is not.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with).
    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>>;

    /// Passes the current value of `key` to `decide` and applies the change that `decide` returns, both as one atomic
    /// operation. No lock is held while `decide` runs. `decide` runs again if the value changes before the operation
    /// locks it (by any thread, even by `decide` itself), and if the operation runs out of space. The change applies to
    /// the value that the last call of `decide` saw. If `decide` forks the process, the operation stores nothing more
    /// in the child ([`Error::Forked`]).
    ///
    /// The operation may restart any number of times, but each time only because another write has made progress. So
    /// some write always makes progress, but not necessarily this one. The operation waits for a thread that is inside
    /// a write to the same node.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with), [`Error::KeyTooLong`],
    /// [`Error::ValueTooLong`], [`Error::Full`] and
    /// [`Error::ReadOnly`]; nothing has changed then.
    fn modify<'v>(
        &self,
        key: &[u8],
        decide: impl FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()>;

    /// As [`modify`](Self::modify), for a `decide` that does not fork the process: the operation does not check in
    /// which process it returns.
    ///
    /// # Errors
    ///
    /// As for [`modify`](Self::modify).
    #[inline(always)]
    fn apply<'v>(
        &self,
        key: &[u8],
        decide: impl FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        self.modify(key, decide)
    }

    /// Whether this process was forked from the one that opened the pool. What a closure of the caller saw in an
    /// operation that started before the fork is then invalid.
    fn is_elsewhere(&self) -> bool {
        false
    }

    /// Gives `key` a value of `len` bytes, which `write` appends piece by piece, directly in its final place. If
    /// `write` appends fewer bytes, the rest is zero. `write` runs inside the operation, outside any lock. It runs
    /// again if the operation runs out of space, or loses to other writers some hundred times in a row, or to several changes
    /// at once that have the key.
    ///
    /// # Errors
    ///
    /// As for [`modify`](Self::modify), and those of `write`; nothing has changed then.
    fn insert_from(
        &self,
        key: &[u8],
        len: usize,
        write: impl FnMut(&mut dyn io::Write) -> Result<()>,
    ) -> Result<()>;

    /// Fails if no entry of the map can have this key.
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`].
    fn check_key(&self, key: &[u8]) -> Result<()>;

    /// Gives `key` the record at `at`, which has this key, is whole and durable, and belongs to the caller until a call has
    /// linked it. The call may be repeated if it is not known whether an earlier one has linked the record.
    ///
    /// # Errors
    ///
    /// As for [`modify`](Self::modify).
    fn put_record(&self, key: &[u8], at: u64) -> Result<()>;

    /// Passes the entries with keys within the two bounds to `visit`, in order and in place, until `visit` breaks. Each
    /// entry was in the map at some moment of the call. Memory that is freed while `visit` runs is not reused before
    /// `visit` returns. With one cursor, each call must pass bounds within those of the call before.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with).
    fn scan_up(
        &self,
        cursor: &mut Self::Cursor,
        keys: (Bound<&[u8]>, Bound<&[u8]>),
        visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()>;

    /// As [`scan_up`](Self::scan_up), from the largest key down. A cursor serves one direction only.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with).
    fn scan_down(
        &self,
        cursor: &mut Self::Cursor,
        keys: (Bound<&[u8]>, Bound<&[u8]>),
        visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()>;

    /// As [`scan_up`](Self::scan_up), or [`scan_down`](Self::scan_down) for `upwards` = false, but `visit`, a closure of
    /// the user, gets copies. In a child that it forks, the scan ends.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with).
    fn show(
        &self,
        cursor: &mut Self::Cursor,
        keys: (Bound<&[u8]>, Bound<&[u8]>),
        upwards: bool,
        visit: EntryVisitor<'_>,
    ) -> Result<()>;

    /// Copies the next entry of a scan to `entry` (without `with_value`, only its key). Returns whether there is one.
    /// Most calls after the first call of a scan take no pin.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with).
    fn next_entry(
        &self,
        cursor: &mut Self::Cursor,
        keys: (Bound<&[u8]>, Bound<&[u8]>),
        upwards: bool,
        with_value: bool,
        entry: &mut Entry,
    ) -> Result<bool>;

    /// Passes the entry with the smallest key at one moment of the call, in place, to `read`. Returns `None` if the map
    /// was empty at one moment of the call. Memory that is freed while `read` runs is not reused before `read` returns.
    ///
    /// Lock-free: it searches again only if a writer has changed a node on which the result depends.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with).
    fn first<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>>;

    /// As [`first`](Self::first), for the entry with the largest key.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with).
    fn last<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>>;

    /// Checks that searches find the key that [`first`](Self::first) or [`last`](Self::last) returned. Called after two
    /// searches in a row did not find such a key. (Another thread may have removed the key both times.)
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if a search does not find the key, although no writer has changed a node on which the result
    /// depends; those of [`get_with`](Self::get_with).
    fn check_ends(&self) -> Result<()> {
        Ok(())
    }

    /// Removes the entry that [`first`](Self::first) (for `smallest` = false: [`last`](Self::last)) has shown, if the
    /// entry is still at that end of the map when it is removed. At the moment of the removal no other thread finds a
    /// key nearer to that end.
    ///
    /// # Errors
    ///
    /// As for [`modify`](Self::modify).
    fn pop(&self, smallest: bool, key: &[u8], value: &[u8]) -> Result<Popped>;

    /// The number of entries.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with).
    fn len(&self) -> Result<Len>;

    /// The number of entries. If this number is not known, the entries are counted first: O(n), by the caller, or by
    /// another thread that is already counting.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with).
    fn exact_len(&self) -> Result<u64>;
}

/// The change of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ByteChange<'v> {
    /// No change.
    Keep,
    /// Gives the key this value, whether it is present or not.
    Put(Cow<'v, [u8]>),
    /// Removes the key if it is present.
    Remove,
}

/// Bytes of a key or a value, in place in the pool.
///
/// It is not a `&[u8]`: the words of a pool are read one by one, so that a damaged pool, in which two maps claim the
/// same bytes, does not cause undefined behaviour.
#[derive(Clone, Copy)]
pub struct Bytes<'a> {
    source: Source<'a>,
    /// The position of the first byte, in bytes from the start of the words; without words, from the start of the
    /// medium.
    from: u64,
    len: usize,
}

#[derive(Clone, Copy)]
struct Source<'a> {
    /// The words in memory, where an access is a load. Empty if the bytes have to be read through a medium.
    words: &'a [AtomicU64],
    medium: Option<&'a dyn ReadAt>,
}

impl Source<'_> {
    #[inline(always)]
    fn copy(self, at: u64, out: &mut [u8]) {
        match self.medium {
            // Relaxed: the load that led to these bytes synchronized with the writer.
            None => copy_out(self.words, at as usize, out),
            Some(medium) => medium.read_at(at, out),
        }
    }

    /// `N` bytes from byte `at` on.
    #[inline(always)]
    fn chunk<const N: usize>(self, at: u64) -> [u8; N] {
        let first = at as usize / 8;
        match self.words.get(first..first + N.div_ceil(8)) {
            Some(words) if at.is_multiple_of(8) => {
                let mut bytes = [0; N];
                for (chunk, word) in bytes.chunks_mut(8).zip(words) {
                    // Relaxed, as in `copy`.
                    let word = word.load(Ordering::Relaxed).to_le_bytes();
                    chunk.copy_from_slice(&word[..chunk.len()]);
                }
                bytes
            }
            _ => scattered_chunk(self.words, self.medium, at),
        }
    }
}

/// As [`Source::chunk`], for partial words, or through a medium. This function is not inlined and takes its arguments
/// one by one, so that the closure that reads each entry of a scan stays small, with its variables in registers.
#[inline(never)]
fn scattered_chunk<const N: usize>(
    words: &[AtomicU64],
    medium: Option<&dyn ReadAt>,
    at: u64,
) -> [u8; N] {
    let mut bytes = [0; N];
    Source { words, medium }.copy(at, &mut bytes);
    bytes
}

/// Copies bytes out of a medium.
trait ReadAt: Sync {
    fn read_at(&self, at: u64, out: &mut [u8]);
}

impl<M: Media> ReadAt for M {
    fn read_at(&self, at: u64, out: &mut [u8]) {
        let inside = (at % 8) as usize;
        let words = Region::new(self, at - inside as u64, (inside + out.len()).div_ceil(8));
        // The code that made the `Bytes` has checked the range, and media never shrink.
        if let Ok(words) = words {
            words.read(inside, out);
        }
    }
}

impl<'a> Bytes<'a> {
    /// `len` bytes of a region from byte `from` on. The region must contain them.
    #[inline]
    pub(super) fn new<M: Media>(region: &Region<'a, M>, from: usize, len: usize) -> Self {
        debug_assert!(from + len <= 8 * region.words());
        let from = from as u64;
        match region.in_memory() {
            Some(words) => Self { source: Source { words, medium: None }, from, len },
            None => {
                let source = Source { words: &[], medium: Some(region.media()) };
                Self { source, from: region.offset() + from, len }
            }
        }
    }

    /// The address of the first byte in memory; none if the bytes are read through a medium.
    pub(crate) fn address(&self) -> Option<u64> {
        let Source { words, medium } = self.source;
        medium.is_none().then_some(words.as_ptr() as u64 + self.from)
    }

    /// The number of bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies `out.len()` bytes from byte `from` on.
    ///
    /// # Panics
    ///
    /// If there are fewer bytes.
    #[inline(always)]
    pub fn copy_to(&self, from: usize, out: &mut [u8]) {
        assert!(from <= self.len && out.len() <= self.len - from, "beyond the end");
        self.source.copy(self.from + from as u64, out);
    }

    /// All bytes, if there are exactly `N`: for example a number, in a few instructions.
    ///
    /// ```
    /// # let pool = endura::Pool::open(tempfile::tempdir()?.path().join("pool"))?;
    /// let map = pool.map::<str, [u8]>("visits")?;
    /// map.insert("ada", &7_u64.to_le_bytes())?;
    /// let visits = map.read_with("ada", |value| value.to_array().map(u64::from_le_bytes))?;
    /// assert_eq!(visits, Some(Some(7)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn to_array<const N: usize>(&self) -> Option<[u8; N]> {
        if self.len == N { self.first_chunk() } else { None }
    }

    /// The first `N` bytes, if there are at least `N`: enough to distinguish most keys, in a few instructions.
    ///
    /// ```
    /// # let pool = endura::Pool::open(tempfile::tempdir()?.path().join("pool"))?;
    /// let map = pool.map::<u64, [u8]>("streets")?;
    /// map.insert(7, b"Elm Street")?;
    /// assert_eq!(map.read_with(7, |street| street.first_chunk())?, Some(Some(*b"Elm")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn first_chunk<const N: usize>(&self) -> Option<[u8; N]> {
        if self.len < N {
            return None;
        }
        Some(self.source.chunk(self.from))
    }

    /// All bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.append_to(&mut bytes);
        bytes
    }

    /// Appends all bytes to `out`.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        match self.source.medium {
            // Relaxed, as in `copy`.
            None => append_out(self.source.words, self.from as usize, self.len, out),
            Some(_) => {
                let start = out.len();
                out.resize(start + self.len, 0);
                self.copy_to(0, &mut out[start..]);
            }
        }
    }

    /// Reads the bytes one after the other.
    pub fn reader(self) -> impl io::Read + use<'a> {
        Reader { bytes: self, from: 0 }
    }
}

impl PartialEq<[u8]> for Bytes<'_> {
    fn eq(&self, other: &[u8]) -> bool {
        let mut piece = [0; 256];
        self.len == other.len()
            && other.chunks(piece.len()).enumerate().all(|(i, chunk)| {
                let piece = &mut piece[..chunk.len()];
                self.copy_to(256 * i, piece);
                piece == chunk
            })
    }
}

impl PartialEq<Bytes<'_>> for Bytes<'_> {
    fn eq(&self, other: &Bytes<'_>) -> bool {
        let mut piece = [0; 256];
        self.len == other.len
            && (0..self.len).step_by(piece.len()).all(|from| {
                let piece = &mut piece[..(self.len - from).min(256)];
                self.copy_to(from, piece);
                Bytes { from: other.from + from as u64, len: piece.len(), ..*other } == *piece
            })
    }
}

impl fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_vec().escape_ascii())
    }
}

struct Reader<'a> {
    bytes: Bytes<'a>,
    from: usize,
}

impl io::Read for Reader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let now = out.len().min(self.bytes.len - self.from);
        self.bytes.copy_to(self.from, &mut out[..now]);
        self.from += now;
        Ok(now)
    }
}
