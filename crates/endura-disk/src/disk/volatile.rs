//! A disk with a volatile cache.
//!
//! | | durable |
//! | --- | --- |
//! | a write | not before the next flush |
//! | a write with FUA | when it returns; what was written to its sectors before cannot come back |
//! | a flush | makes every earlier write durable |
//! | a power cut | keeps any subset of the other writes, sector by sector, in any order |

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::FileExt;
use std::path::Path;

use fastrand::Rng;

use super::cache::{Cache, SECTOR, Sector};

/// Whether a disk does what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Honesty {
    /// A flush makes all writes before it durable.
    Flushes,
    /// A flush is acknowledged, and nothing is done.
    Lies,
}

/// A disk over a raw image, which has what is durable.
pub(crate) struct Disk {
    durable: File,
    bytes: u64,
    cache: Cache,
    honesty: Honesty,
    flushes: u64,
}

/// What a power cut did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Sectors that were not durable.
    pub(crate) volatile: u64,
    /// Those of them of which a version was kept.
    pub(crate) kept: u64,
    /// Flushes since the disk was switched on.
    pub(crate) flushes: u64,
}

impl Disk {
    pub(crate) fn open(image: &Path, honesty: Honesty) -> Result<Self> {
        let durable = File::options().read(true).write(true).open(image)?;
        let bytes = durable.metadata()?.len() / SECTOR as u64 * SECTOR as u64;
        Ok(Self { durable, bytes, cache: Cache::default(), honesty, flushes: 0 })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Fills `into` with what was written last, durable or not.
    pub(crate) fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let first = self.first_sector(at, into.len())?;
        self.durable.read_exact_at(into, at)?;
        for (number, part) in (first..).zip(into.chunks_exact_mut(SECTOR)) {
            if let Some(newest) = self.cache.newest(number) {
                part.copy_from_slice(newest);
            }
        }
        Ok(())
    }

    /// Writes; durable at once if `fua` (force unit access) is set.
    pub(crate) fn write(&mut self, at: u64, data: &[u8], fua: bool) -> Result<()> {
        let first = self.first_sector(at, data.len())?;
        let (sectors, _) = data.as_chunks::<SECTOR>();
        let is_durable = fua && self.honesty == Honesty::Flushes;
        if is_durable {
            self.durable.write_all_at(data, at)?;
        }
        for (number, &sector) in (first..).zip(sectors) {
            match is_durable {
                true => self.cache.forget(number),
                false => self.cache.push(number, sector),
            }
        }
        Ok(())
    }

    /// Makes every earlier write durable.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.flushes += 1;
        match self.honesty {
            Honesty::Flushes => self.cache.drain().try_for_each(|one| self.store(one)),
            Honesty::Lies => Ok(()),
        }
    }

    /// Cuts the power. How much is kept is drawn as well: often half, sometimes next to nothing or nearly everything.
    pub(crate) fn cut(&mut self, seed: u64) -> Result<Cut> {
        let mut rng = Rng::with_seed(seed);
        let share = *rng.choice(&[0.0, 0.05, 0.5, 0.5, 0.5, 0.95]).unwrap_or(&0.5);
        let volatile = self.cache.sectors();
        let left = self.cache.cut(share, &mut rng);
        let cut = Cut { volatile, kept: left.len() as u64, flushes: self.flushes };
        left.into_iter().try_for_each(|one| self.store(one))?;
        self.flushes = 0;
        Ok(cut)
    }

    fn store(&self, (number, sector): (u64, Sector)) -> Result<()> {
        self.durable.write_all_at(&sector, number * SECTOR as u64)
    }

    /// The number of the sector at `at`, if whole sectors of the disk begin there.
    fn first_sector(&self, at: u64, length: usize) -> Result<u64> {
        let unit = SECTOR as u64;
        let end = at.checked_add(length as u64).filter(|&end| end <= self.bytes);
        match end {
            Some(_) if at.is_multiple_of(unit) && length.is_multiple_of(SECTOR) => Ok(at / unit),
            _ => Err(Error::new(ErrorKind::InvalidInput, "not whole sectors of the disk")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTORS: u64 = 64;

    fn disk(honesty: Honesty) -> (Disk, tempfile::NamedTempFile) {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(SECTORS * SECTOR as u64).unwrap();
        (Disk::open(image.path(), honesty).unwrap(), image)
    }

    fn put(disk: &mut Disk, number: u64, with: u8, fua: bool) {
        disk.write(number * SECTOR as u64, &[with; SECTOR], fua).unwrap();
    }

    /// What the disk answers for a sector that is all one byte.
    fn get(disk: &Disk, number: u64) -> u8 {
        let mut sector = [0; SECTOR];
        disk.read(number * SECTOR as u64, &mut sector).unwrap();
        assert!(sector.iter().all(|&byte| byte == sector[0]), "a sector is written whole");
        sector[0]
    }

    /// What each sector was found as after many cuts of the same history.
    fn outcomes(honesty: Honesty, history: impl Fn(&mut Disk), number: u64) -> Vec<u8> {
        let mut found: Vec<u8> = (0..200)
            .map(|seed| {
                let (mut disk, _image) = disk(honesty);
                history(&mut disk);
                disk.cut(seed).unwrap();
                get(&disk, number)
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn reads_find_what_was_written_last() {
        let (mut disk, _image) = disk(Honesty::Flushes);
        disk.write(512, &[[1; SECTOR], [2; SECTOR]].concat(), false).unwrap();
        put(&mut disk, 2, 3, false);
        assert_eq!([0, 1, 2, 3].map(|number| get(&disk, number)), [0, 1, 3, 0]);
        disk.flush().unwrap();
        put(&mut disk, 1, 4, true);
        assert_eq!([0, 1, 2, 3].map(|number| get(&disk, number)), [0, 4, 3, 0]);
    }

    #[test]
    fn what_was_flushed_stays() {
        let history = |disk: &mut Disk| {
            put(disk, 5, 1, false);
            put(disk, 5, 2, false);
            disk.flush().unwrap();
            put(disk, 6, 3, false);
        };
        assert_eq!(outcomes(Honesty::Flushes, history, 5), [2]);
        assert_eq!(outcomes(Honesty::Flushes, history, 6), [0, 3], "kept or lost");
    }

    #[test]
    fn any_version_since_the_flush_may_be_the_last() {
        let history = |disk: &mut Disk| {
            put(disk, 5, 1, false);
            disk.flush().unwrap();
            (2..5).for_each(|with| put(disk, 5, with, false));
        };
        assert_eq!(outcomes(Honesty::Flushes, history, 5), [1, 2, 3, 4]);
    }

    #[test]
    fn a_write_through_the_cache_stays_and_overtakes() {
        let history = |disk: &mut Disk| {
            put(disk, 5, 1, false);
            put(disk, 5, 2, true);
            put(disk, 6, 3, false);
        };
        assert_eq!(outcomes(Honesty::Flushes, history, 5), [2]);
        assert_eq!(outcomes(Honesty::Flushes, history, 6), [0, 3], "it is no flush");
    }

    #[test]
    fn a_disk_that_lies_loses_what_it_flushed() {
        let history = |disk: &mut Disk| {
            put(disk, 5, 1, false);
            disk.flush().unwrap();
            put(disk, 6, 2, true);
        };
        assert_eq!(outcomes(Honesty::Lies, history, 5), [0, 1]);
        assert_eq!(outcomes(Honesty::Lies, history, 6), [0, 2]);
    }

    #[test]
    fn a_seed_repeats_a_cut_and_tells_what_it_did() {
        let run = |seed| {
            let (mut disk, _image) = disk(Honesty::Flushes);
            (0..SECTORS).for_each(|number| put(&mut disk, number, 1, false));
            let cut = disk.cut(seed).unwrap();
            let left: Vec<u8> = (0..SECTORS).map(|number| get(&disk, number)).collect();
            assert_eq!(cut.volatile, SECTORS);
            assert_eq!(cut.kept, left.iter().map(|&byte| u64::from(byte)).sum::<u64>());
            assert_eq!(disk.cut(seed).unwrap().volatile, 0, "nothing is left to lose");
            left
        };
        assert_eq!(run(3), run(3));
        let different: std::collections::BTreeSet<_> = (0..20).map(run).collect();
        assert!(different.len() > 5, "{} of 20", different.len());
    }

    #[test]
    fn parts_of_sectors_and_what_lies_outside_are_refused() {
        let (mut disk, _image) = disk(Honesty::Flushes);
        let end = disk.bytes();
        for (at, length) in [(1, 512), (0, 511), (end, 512), (end - 512, 1024), (u64::MAX, 512)] {
            let mut data = vec![0; length];
            assert!(disk.read(at, &mut data).is_err(), "{at} {length}");
            assert!(disk.write(at, &data, false).is_err(), "{at} {length}");
        }
        disk.write(end - 512, &[7; 512], false).unwrap();
    }
}
