//! Values that are written and read piece by piece.

use std::io;
use std::ops::{Bound, ControlFlow};

use endura_engine::tree::Bytes;

use crate::encoding::value::Key;
use crate::map::convert::{decode_error, encode_bound, encoded};
use crate::map::handle::Map;
use crate::{Error, Result};

impl<K: Key + ?Sized> Map<K, [u8]> {
    /// Gives `key` a value of `len` bytes, which `write` writes piece by piece, directly into the pool. This is for
    /// values of which there should be no second copy in memory.
    ///
    /// If `write` writes more than `len` bytes, the writer returns an error; if it writes fewer, the call fails.
    /// `write` runs outside any lock. It runs again if the operation ran out of space and retries, or lost to other
    /// writers some hundred times in a row.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let blobs = pool.map::<str, [u8]>("blobs")?;
    /// blobs.insert_from("zeros", 1 << 20, |out| {
    ///     (0..256).try_for_each(|_| out.write_all(&[0; 4096]))
    /// })?;
    /// assert_eq!(blobs.read_with("zeros", |bytes| bytes.len())?, Some(1 << 20));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Write`] with the error of `write`, [`Error::ShortValue`], and those that [`Map`] names for methods that
    /// write and need space. Nothing has changed then.
    pub fn insert_from(
        &self,
        key: K::Ref<'_>,
        len: usize,
        mut write: impl FnMut(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<()> {
        let _call = self.call();
        encoded::<K, _>(key, |key| {
            self.bytes().insert_from(key, len, &mut |out| {
                let mut out = Exactly { out, left: len };
                write(&mut out).map_err(Error::Write)?;
                match out.left {
                    0 => Ok(()),
                    left => Err(Error::ShortValue { len, written: len - left }),
                }
            })
        })
    }

    /// Passes the entries from a key on to `visit`, in order, until it breaks: the key, the first `most` bytes of the value,
    /// and the length of the value. The rest of the value is not read: for walks over many long values.
    ///
    /// ```
    /// # use std::ops::{Bound, ControlFlow};
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let blobs = pool.map::<str, [u8]>("blobs")?;
    /// blobs.insert("a", &[7; 1000])?;
    /// blobs.insert("b", &[8])?;
    /// let mut seen = Vec::new();
    /// blobs.heads(Bound::Unbounded, 2, |key, head, length| {
    ///     seen.push((key.to_owned(), head.to_vec(), length));
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(seen, [("a".into(), vec![7, 7], 1000), ("b".into(), vec![8], 1)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that read, and [`Error::Decode`] for a key.
    pub fn heads(
        &self,
        from: Bound<K::Ref<'_>>,
        most: usize,
        mut visit: impl FnMut(K::Ref<'_>, &[u8], usize) -> ControlFlow<()>,
    ) -> Result<()> {
        let _call = self.call();
        let (from, mut failed) = (encode_bound::<K>(from)?, None);
        let bound = match &from {
            Bound::Included(key) => Bound::Included(&key[..]),
            Bound::Excluded(key) => Bound::Excluded(&key[..]),
            Bound::Unbounded => Bound::Unbounded,
        };
        self.bytes().heads(bound, most, &mut |key, head, length| {
            K::show(key, |key| visit(key, head, length)).unwrap_or_else(|error| {
                failed = Some(decode_error::<K>(error));
                ControlFlow::Break(())
            })
        })?;
        self.unless_forked(failed.map_or(Ok(()), Err))?
    }

    /// Passes the value of `key` to `look` in pieces, directly in the pool: for values that should not be copied at
    /// all. Returns the result of `look`. Memory that other threads free while `look` runs is not reused before `look`
    /// returns.
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that read.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let files = pool.map::<str, [u8]>("files")?;
    /// files.put("a", b"some bytes")?;
    /// let length = files.read_with("a", |bytes| bytes.len())?;
    /// assert_eq!(length, Some(10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_with<R>(
        &self,
        key: K::Ref<'_>,
        look: impl FnOnce(Bytes<'_>) -> R,
    ) -> Result<Option<R>> {
        let (mut result, mut look, _call) = (None, Some(look), self.call());
        encoded::<K, _>(key, |key| {
            self.bytes().read_with(key, &mut |bytes| result = look.take().map(|look| look(bytes)))
        })?;
        Ok(result)
    }
}

/// A writer that accepts at most `left` more bytes, and counts them down.
struct Exactly<'a> {
    out: &'a mut dyn io::Write,
    left: usize,
}

impl io::Write for Exactly<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.left {
            let more = bytes.len() - self.left;
            let what = format!("{more} bytes more than the value was announced to have");
            return Err(io::Error::new(io::ErrorKind::WriteZero, what));
        }
        self.out.write_all(bytes)?;
        self.left -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
