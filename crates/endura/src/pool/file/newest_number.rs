//! The number of the newest checkpoint of a pool, in the page of a superblock.
//!
//! Checkpoints leave that page out, so that what they hold, and what a pool is compared with, does not depend on their own
//! number. It is written to the file and not stored to the mapping, for a page that was stored to is one for the next
//! checkpoint, and an idle pool would have one for ever. The thread that makes checkpoints writes it.
//!
//! | bits | what |
//! | --- | --- |
//! | 0..24 | the lowest bits of the CRC32C of the number |
//! | 24..64 | the number |
//!
//! A power loss leaves the number, or one of before.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::os::disk;
use crate::pool::layout::NEWEST_NUMBER;

const SUM_BITS: u32 = 24;

fn encode(number: u64) -> u64 {
    let sum = u64::from(crc32c::crc32c(&number.to_le_bytes())) & ((1 << SUM_BITS) - 1);
    number << SUM_BITS | sum
}

/// The number that a pool has; none if none was made, or what is there is no number.
pub(crate) fn read(file: &File) -> io::Result<Option<u64>> {
    let mut bytes = [0; 8];
    match file.read_exact_at(&mut bytes, NEWEST_NUMBER) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let word = u64::from_le_bytes(bytes);
    let number = word >> SUM_BITS;
    Ok((word != 0 && encode(number) == word).then_some(number))
}

/// Says which checkpoint is the newest. It is in the page cache on return.
pub(crate) fn write(file: &File, number: u64) -> io::Result<()> {
    write_word(file, encode(number))
}

/// Says that there is none.
pub(crate) fn clear(file: &File) -> io::Result<()> {
    write_word(file, 0)
}

fn write_word(file: &File, word: u64) -> io::Result<()> {
    disk::refuse_beyond_limit(NEWEST_NUMBER + 8)?;
    file.write_all_at(&word.to_le_bytes(), NEWEST_NUMBER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_it_was_written_and_noise_is_none() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 14).unwrap();
        assert_eq!(read(&file).unwrap(), None);
        for number in [1, 2, 77, 1 << 30] {
            write(&file, number).unwrap();
            assert_eq!(read(&file).unwrap(), Some(number));
        }
        clear(&file).unwrap();
        assert_eq!(read(&file).unwrap(), None);
        let noise = (1..=255).filter(|&byte| {
            file.write_all_at(&[byte; 8], NEWEST_NUMBER).unwrap();
            read(&file).unwrap().is_some()
        });
        assert_eq!(noise.count(), 0);
    }
}
