//! A record whose value a closure writes directly in its final place.

use std::io;

use crate::media::Media;
use crate::space::{Guard, Space};
use crate::tree::records::fresh::Fresh;
use crate::tree::records::record::{Writer, bytes_for};
use crate::{Error, Result};

/// Writes the record of `key` with a value of `len` bytes, which `fill` writes; returns its offset. It is flushed, and the
/// caller fences before it links the record. The caller has checked both lengths.
pub(crate) fn fill_record<'g, M: Media>(
    guard: &'g Guard<'g, M>,
    fresh: &mut Fresh<'g, M>,
    (key, len): (&[u8], usize),
    fill: &mut dyn FnMut(&mut dyn io::Write) -> Result<()>,
) -> Result<u64> {
    let at = fresh.alloc(bytes_for(key.len(), len))?;
    let mut writer = Writer::new(guard.media(), at, key, len)?;
    let space = guard.space();
    let filled = space.parked(|| fill(&mut Filling { writer: &mut writer, space }));
    // In the child of a fork, this write stops: the chunk belongs to the parent process, which also takes all further
    // steps.
    if space.is_elsewhere() {
        return Err(Error::Forked);
    }
    filled?;
    while writer.left() > 0 {
        let zeros = [0; 256];
        writer.write(&zeros[..writer.left().min(zeros.len())]);
    }
    writer.finish();
    Ok(at)
}

/// The value of a record that is being written.
struct Filling<'w, 'm, M: Media> {
    writer: &'w mut Writer<'m, M>,
    space: &'m Space<M>,
}

impl<M: Media> io::Write for Filling<'_, '_, M> {
    /// Takes at most as many bytes as are missing.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.space.is_elsewhere() {
            return Err(io::Error::other(Error::Forked));
        }
        let now = bytes.len().min(self.writer.left());
        self.writer.write(&bytes[..now]);
        Ok(now)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
