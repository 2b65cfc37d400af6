//! The mark after the end of a closed pool. A copy that was read while a session began does not have it.
//!
//! A program that copies a file reads its first page first and its last bytes last. If a session begins in between, the
//! copy's superblock says "closed", but the rest is of a later time. So a close writes the number of its session after
//! the last byte of the pool. A session that begins adds the number of the file to that mark, before anything else in
//! the file changes. The copier then reads a mark with that number, or no mark, or the mark of a later close. (If the
//! file itself still has a mark with that number, nothing was stored to the file: the session was killed before it
//! changed anything.)
//!
//! | bytes, from LENGTH on | what |
//! | --- | --- |
//! | 0..8 | magic |
//! | 8..24 | the session that closed the pool |
//! | 24..40 | the [file](crate::os::file_identity) in which a session begins; zeros if none does |
//! | 40..44 | CRC32C of bytes 0..40 |
//!
//! The medium maps whole steps of the file and does not see these bytes. A session removes them when its superblock is
//! durable, and before the file grows.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::os::disk;

/// Bytes of the mark.
const BYTES: usize = 44;
const SUM: usize = 40;
const MAGIC: [u8; 8] = *b"ENDURA.\n";

/// The contents of the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndMark {
    /// The session that closed the pool.
    pub(crate) closed: [u8; 16],
    /// The number of the file in which a session begins, or zeros.
    pub(crate) begins: [u8; 16],
}

impl EndMark {
    /// The mark of a pool with `length` bytes, and where it is; `None` if there is no valid mark. The very end of the
    /// file is searched as well, so that a pool whose length word alone is damaged is not taken for a torn copy.
    pub(crate) fn find(file: &File, length: u64) -> io::Result<Option<(Self, u64)>> {
        let last = file.metadata()?.len().checked_sub(BYTES as u64);
        for at in [Some(length), last].into_iter().flatten() {
            if let Some(mark) = Self::read(file, at)? {
                return Ok(Some((mark, at)));
            }
        }
        Ok(None)
    }

    fn read(file: &File, length: u64) -> io::Result<Option<Self>> {
        let mut bytes = [0; BYTES];
        match file.read_exact_at(&mut bytes, length) {
            Ok(()) => Ok(Self::decode(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the mark, which is not durable on return. An error leaves no mark or a part of one. In that case the
    /// superblock must not promise a mark.
    pub(crate) fn write(&self, file: &File, length: u64) -> io::Result<()> {
        disk::refuse_beyond_limit(length + BYTES as u64)?;
        file.write_all_at(&self.encode(), length)
    }

    /// Removes the mark, and the bytes of the file after its last whole `step`.
    pub(crate) fn remove(file: &File, length: u64, step: u64) -> io::Result<()> {
        let have = file.metadata()?.len();
        let whole = have - have % step;
        if length < whole {
            // The file was not cut at its last close: the mark lies in bytes that belong to the pool again.
            disk::refuse_beyond_limit(length + BYTES as u64)?;
            file.write_all_at(&[0; BYTES], length)?;
        }
        if whole < have { file.set_len(whole) } else { Ok(()) }
    }

    fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..24].copy_from_slice(&self.closed);
        bytes[24..SUM].copy_from_slice(&self.begins);
        let sum = crc32c::crc32c(&bytes[..SUM]);
        bytes[SUM..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; BYTES]) -> Option<Self> {
        let half = |at| std::array::from_fn(|i| bytes[at + i]);
        let sum = crc32c::crc32c(&bytes[..SUM]).to_le_bytes();
        let is_whole = bytes[..8] == MAGIC && bytes[SUM..] == sum;
        is_whole.then(|| Self { closed: half(8), begins: half(24) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: EndMark = EndMark { closed: [1; 16], begins: [2; 16] };

    #[test]
    fn a_mark_is_read_as_it_was_written_and_no_part_of_it_is() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        assert_eq!(EndMark::read(&file, 4096).unwrap(), None);
        MARK.write(&file, 4096).unwrap();
        assert_eq!(EndMark::read(&file, 4096).unwrap(), Some(MARK));
        assert_eq!(EndMark::read(&file, 4095).unwrap(), None);
        for at in 0..BYTES as u64 {
            let bytes = MARK.encode();
            file.write_all_at(&[!bytes[at as usize]], 4096 + at).unwrap();
            assert_eq!(EndMark::read(&file, 4096).unwrap(), None, "byte {at}");
            file.write_all_at(&bytes, 4096).unwrap();
        }
        file.set_len(4096 + SUM as u64).unwrap();
        assert_eq!(EndMark::read(&file, 4096).unwrap(), None);
    }

    #[test]
    fn a_wrong_length_hides_no_mark_at_the_end() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        MARK.write(&file, 4096).unwrap();
        for length in [0, 512, 4096, 4097, 8192] {
            assert_eq!(EndMark::find(&file, length).unwrap(), Some((MARK, 4096)), "{length}");
        }
        file.set_len(8192).unwrap();
        assert_eq!(EndMark::find(&file, 4096).unwrap(), Some((MARK, 4096)));
        assert_eq!(EndMark::find(&file, 512).unwrap(), None);
    }

    #[test]
    fn a_mark_leaves_nothing_behind() {
        let file = tempfile::tempfile().unwrap();
        for length in [8192, 4096] {
            file.set_len(8192).unwrap();
            MARK.write(&file, length).unwrap();
            EndMark::remove(&file, length, 4096).unwrap();
            assert_eq!(file.metadata().unwrap().len(), 8192);
            let mut all = [0; 8192];
            file.read_exact_at(&mut all, 0).unwrap();
            assert_eq!(all, [0; 8192]);
        }
    }
}
