//! What an index from byte strings to byte strings offers, and how its bytes are read in place.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Len, Popped};
use crate::Result;
use crate::media::{Media, Region, copy_bytes};

/// The longest key, in bytes.
pub const LONGEST_KEY: usize = 64 << 10;
/// The longest value, in bytes.
pub const LONGEST_VALUE: usize = 1 << 30;

/// An ordered index from byte strings to byte strings in a pool.
///
/// Any thread may call any method at any time. Each is linearizable, and durable when it returns as
/// far as the medium promises. Keys have at most [`LONGEST_KEY`] bytes, values at most
/// [`LONGEST_VALUE`]; any bytes do, also none.
#[expect(clippy::len_without_is_empty, reason = "a map asks for its first entry instead")]
pub trait ByteIndex: Send + Sync + 'static {
    /// A place in a scan in one direction; a fresh one begins wherever the first call says.
    type Cursor: Default + Send;

    /// What `read` makes of the value of `key`, which it sees where it lies. Never blocks on a
    /// writer. What is freed meanwhile is not reused before `read` returns.
    ///
    /// # Errors
    ///
    /// Those that every method of a map may meet ([`Map`](crate::Map) names them).
    fn get_with<R>(&self, key: &[u8], read: impl FnOnce(Bytes<'_>) -> R) -> Result<Option<R>>;

    /// The values of `keys`, in their order, with their cache misses overlapped. Each lookup stands for
    /// itself: the batch is not one moment in time.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with).
    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>>;

    /// Applies what `decide` makes of the present value of `key`, atomically. No lock is held while
    /// `decide` runs; it runs again whenever the value has changed before the operation got to it (whoever changed
    /// it, also `decide` itself), and where the operation ran out of space. What its last call saw is what was
    /// changed. In a process that is forked inside of it the operation does nothing more
    /// ([`Error::Forked`](crate::Error::Forked)).
    ///
    /// Begins anew only because another write has got on, and so often as that happens: some write gets on
    /// always, but not necessarily this one. It waits for a thread that stands inside a write to the same
    /// node.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with), [`Error::KeyTooLong`](crate::Error::KeyTooLong),
    /// [`Error::ValueTooLong`](crate::Error::ValueTooLong), [`Error::Full`](crate::Error::Full) and
    /// [`Error::ReadOnly`](crate::Error::ReadOnly); then nothing has changed.
    fn modify<'v>(
        &self,
        key: &[u8],
        decide: impl FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()>;

    /// As [`modify`](Self::modify), for a `decide` that does not fork the process: nobody asks after it
    /// in which process it has returned.
    ///
    /// # Errors
    ///
    /// As there.
    #[inline(always)]
    fn apply<'v>(
        &self,
        key: &[u8],
        decide: impl FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<()> {
        self.modify(key, decide)
    }

    /// Whether this process is a fork of the one that opened the pool: what a caller's closure then saw of
    /// an operation that had begun is worth nothing.
    fn is_elsewhere(&self) -> bool {
        false
    }

    /// Gives `key` a value of `len` bytes that `write` appends piece by piece: they go where they
    /// will lie. What `write` leaves out is zeros. `write` runs inside the operation, outside any
    /// lock, and again where the operation ran out of space, or others were faster some hundred times in a row.
    ///
    /// # Errors
    ///
    /// As for [`modify`](Self::modify), and those of `write`; then nothing has changed.
    fn insert_from(
        &self,
        key: &[u8],
        len: usize,
        write: impl FnMut(&mut dyn io::Write) -> Result<()>,
    ) -> Result<()>;

    /// Shows `visit` the entries with keys within the two bounds, in order, where they lie, until it
    /// breaks. Each was in the map at some moment of the call. What is freed while `visit` runs waits
    /// for its end. Successive calls with one cursor pass bounds that move inwards.
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

    /// The same from the largest key down. A cursor serves one direction only.
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

    /// What `read` makes of the entry with the smallest key at one moment of the call, which it sees where it
    /// lies; `None`: at one moment there was none. What is freed meanwhile is not reused before `read` returns.
    ///
    /// Lock-free: it looks again only where a writer has changed what it rests on.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with).
    fn first<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>>;

    /// The same of the entry with the largest key.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with).
    fn last<R>(&self, read: impl FnOnce(Bytes<'_>, Bytes<'_>) -> R) -> Result<Option<R>>;

    /// For whoever looked in vain for the key that [`first`](Self::first) or [`last`](Self::last) gave, twice
    /// in a row: whether searches find it. (Another thread may have been faster both times.)
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if they do not, though nobody has touched what the answer rests on
    /// meanwhile; those of [`get_with`](Self::get_with).
    fn check_ends(&self) -> Result<()> {
        Ok(())
    }

    /// Takes out the entry that [`first`](Self::first) has shown (for `smallest` = false [`last`](Self::last)), if
    /// it is that still: then it was at the moment at which it was taken out, in which no other thread finds a key
    /// before it.
    ///
    /// # Errors
    ///
    /// As for [`modify`](Self::modify).
    fn pop(&self, smallest: bool, key: &[u8], value: &[u8]) -> Result<Popped>;

    /// How many entries there are.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with).
    fn len(&self) -> Result<Len>;

    /// How many entries there are, counted first where that is not known: O(n) then, by the caller or, where another
    /// thread counts already, by that one.
    ///
    /// # Errors
    ///
    /// As for [`get_with`](Self::get_with).
    fn exact_len(&self) -> Result<u64>;
}

/// What to do with an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ByteChange<'v> {
    /// Nothing.
    Keep,
    /// Give it this value, whether it is there or not.
    Put(Cow<'v, [u8]>),
    /// Take it out if it is there.
    Remove,
}

/// Bytes where they lie in the pool: a key, or a value.
///
/// This is no `&[u8]`: the words of a pool are read one by one, so that even a damaged pool, in
/// which two maps claim the same bytes, is no undefined behaviour.
#[derive(Clone, Copy)]
pub struct Bytes<'a> {
    source: Source<'a>,
    /// Where they begin: in bytes from the first of the words, or from the start of the medium.
    from: u64,
    len: usize,
}

#[derive(Clone, Copy)]
struct Source<'a> {
    /// In memory: an access is a load. Empty if there is a medium to ask.
    words: &'a [AtomicU64],
    medium: Option<&'a dyn ReadAt>,
}

impl Source<'_> {
    #[inline(always)]
    fn copy(self, at: u64, out: &mut [u8]) {
        match self.medium {
            // Relaxed: whoever led here synchronized with the writer.
            None => copy_bytes(|i| self.words[i].load(Ordering::Relaxed), at as usize, out),
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

/// As [`Source::chunk`], of parts of words or a medium. Not inlined, and given what it needs one by one: who
/// reads in a closure, called for each entry of a scan, is small then, and all of it in registers.
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

/// For copying bytes out of a medium.
trait ReadAt: Sync {
    fn read_at(&self, at: u64, out: &mut [u8]);
}

impl<M: Media> ReadAt for M {
    fn read_at(&self, at: u64, out: &mut [u8]) {
        let inside = (at % 8) as usize;
        let words = Region::new(self, at - inside as u64, (inside + out.len()).div_ceil(8));
        // Whoever made the `Bytes` had checked the range, and media never shrink.
        if let Ok(words) = words {
            words.read(inside, out);
        }
    }
}

impl<'a> Bytes<'a> {
    /// `len` bytes from byte `from` of a region on, which has so many.
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

    /// How many.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies `out.len()` bytes from byte `from` on.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    #[inline(always)]
    pub fn copy_to(&self, from: usize, out: &mut [u8]) {
        assert!(from <= self.len && out.len() <= self.len - from, "beyond the end");
        self.source.copy(self.from + from as u64, out);
    }

    /// All of them, if they are `N`: a number, say, in a few instructions.
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

    /// The first `N` of them, if there are so many: what tells most keys apart, in a few instructions.
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

    /// All of them.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.append_to(&mut bytes);
        bytes
    }

    /// Appends all of them to `out`.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        out.reserve(self.len);
        let mut piece = [0; 256];
        for from in (0..self.len).step_by(piece.len()) {
            let piece = &mut piece[..(self.len - from).min(256)];
            self.copy_to(from, piece);
            out.extend_from_slice(piece);
        }
    }

    /// Reads them one after the other.
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
