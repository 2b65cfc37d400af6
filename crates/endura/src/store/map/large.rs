//! Values that are written and read in pieces.

use std::io;

use crate::store::encoding::value::Key;
use crate::store::map::convert::encoded;
use crate::store::map::handle::Map;
use crate::tree::Bytes;
use crate::{Error, Result};

impl<K: Key + ?Sized> Map<K, [u8]> {
    /// Gives `key` a value of `len` bytes that `write` writes piece by piece, straight to where they will lie: for values
    /// of which there should be no second copy in memory.
    ///
    /// To write more than `len` bytes is an error of the writer, to write fewer one of the call. `write` runs
    /// outside any lock, and again where the operation ran out of space, or others were faster some hundred times in
    /// a row.
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
    /// [`Error::Write`] with what `write` failed with, [`Error::ShortValue`], and those that [`Map`] names for methods
    /// that write and need room; then nothing has changed.
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

    /// What `look` makes of the value of `key` where it lies, in pieces: for values of which there should be no copy at
    /// all. What other threads free while `look` runs waits for its end.
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that read.
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

/// A writer that takes so many bytes and no more.
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
