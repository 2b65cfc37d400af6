//! The number of the newest checkpoint of a pool, in the page of a superblock.
//!
//! Checkpoints leave that page out. Otherwise their contents, and a comparison with the pool, would depend on their own
//! number. The number is written to the file and not stored to the mapping. The next checkpoint copies each page that
//! was stored to, so with a store to the mapping an idle pool would always have one changed page. The thread that makes
//! checkpoints writes the number twice: before it writes the root of the next checkpoint it notes that a round is
//! running, and once the checkpoint is durable it writes the new number.
//!
//! | bits | what |
//! | --- | --- |
//! | 0..24 | the lowest bits of the CRC32C of the other bits |
//! | 24 | 1 = a round is running: the next checkpoint may exist |
//! | 25..64 | the number |
//!
//! A power loss leaves this word, or an earlier one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::os::disk;
use crate::space::layout::NEWEST_NUMBER;

const SUM_BITS: u32 = 24;

/// The number of the newest checkpoint, as the pool's file records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Newest {
    pub(crate) number: u64,
    /// Whether the next checkpoint may exist already.
    pub(crate) is_under_way: bool,
}

impl Newest {
    /// The newest checkpoint is `number`.
    pub(crate) fn is(number: u64) -> Self {
        Self { number, is_under_way: false }
    }

    /// The newest checkpoint is `number`, or the next one.
    pub(crate) fn is_at_least(number: u64) -> Self {
        Self { number, is_under_way: true }
    }

    /// Reads the record from the file. `None` if no checkpoint was made, or the record is not valid.
    pub(crate) fn read(file: &File) -> io::Result<Option<Self>> {
        let mut bytes = [0; 8];
        match file.read_exact_at(&mut bytes, NEWEST_NUMBER) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let word = u64::from_le_bytes(bytes);
        let what = word >> SUM_BITS;
        let found = Self { number: what >> 1, is_under_way: what & 1 != 0 };
        Ok((word != 0 && found.encode() == word).then_some(found))
    }

    /// Writes the record to the file. `None` records that there is no checkpoint. The record is in the page cache on
    /// return.
    pub(crate) fn write(newest: Option<Self>, file: &File) -> io::Result<()> {
        disk::refuse_beyond_limit(NEWEST_NUMBER + 8)?;
        let word = newest.map_or(0, |newest| newest.encode());
        file.write_all_at(&word.to_le_bytes(), NEWEST_NUMBER)
    }

    fn encode(self) -> u64 {
        let what = self.number << 1 | u64::from(self.is_under_way);
        let sum = u64::from(crc32c::crc32c(&what.to_le_bytes())) & ((1 << SUM_BITS) - 1);
        what << SUM_BITS | sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_it_was_written_and_noise_is_none() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(Newest::read(&file).unwrap(), None);
        file.set_len(1 << 14).unwrap();
        assert_eq!(Newest::read(&file).unwrap(), None);
        for number in [0, 1, 2, 77, 1 << 30] {
            for newest in [Newest::is(number), Newest::is_at_least(number)] {
                Newest::write(Some(newest), &file).unwrap();
                assert_eq!(Newest::read(&file).unwrap(), Some(newest));
            }
        }
        Newest::write(None, &file).unwrap();
        assert_eq!(Newest::read(&file).unwrap(), None);
        let noise = (1..=255).filter(|&byte| {
            file.write_all_at(&[byte; 8], NEWEST_NUMBER).unwrap();
            Newest::read(&file).unwrap().is_some()
        });
        assert_eq!(noise.count(), 0);
    }
}
