//! A model of what a pool holds, and the rounds that write it.

use std::collections::BTreeMap;

use super::disk::Losing;
use super::random::Random;
use crate::checkpoint::file::CheckpointFile;
use crate::checkpoint::file::{Failure, Moment, SLOT};

/// The most pages of a pool in these tests.
pub(super) const MOST: u32 = 2_000;

pub(super) fn open(disk: Losing) -> Result<CheckpointFile<Losing>, Failure> {
    CheckpointFile::open(disk, MOST)
}

pub(super) fn moment(pages: u32, n: u64) -> Moment {
    let mut superblock = [0; 256];
    superblock[..8].copy_from_slice(&n.to_le_bytes());
    Moment { made: 1, pages, superblock, path: 0 }
}

/// What a pool holds: the first byte of each page, 0 for a page of zeros.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) pages: u32,
    pub(super) round: u64,
    pub(super) bytes: BTreeMap<u32, u8>,
}

pub(super) fn page_of(byte: u8, page: u32) -> [u8; SLOT] {
    let mut bytes = [byte; SLOT];
    if byte != 0 {
        bytes[100..104].copy_from_slice(&page.to_le_bytes());
    }
    bytes
}

impl Model {
    /// Changes some pages. Returns their numbers.
    pub(super) fn change(&mut self, random: &mut Random) -> Vec<u32> {
        self.round += 1;
        self.pages = match random.below(8) {
            0 => 1 + random.below(40) as u32,
            1 => self.pages + 5,
            _ => self.pages.max(1),
        };
        let pages = self.pages;
        self.bytes.retain(|&page, _| page < pages);
        let mut changed: Vec<u32> =
            (0..random.below(10)).map(|_| random.below(pages.into()) as u32).collect();
        changed.sort_unstable();
        changed.dedup();
        for &page in &changed {
            let byte = random.below(6) as u8;
            self.bytes.insert(page, byte);
        }
        changed
    }

    fn bytes_of(&self, pages: &[u32]) -> Vec<u8> {
        let page = |&page: &u32| page_of(self.bytes.get(&page).copied().unwrap_or(0), page);
        pages.iter().flat_map(page).collect()
    }

    /// Makes a round of one call.
    pub(super) fn write(
        &self,
        file: &mut CheckpointFile<Losing>,
        changed: &[u32],
    ) -> Result<u64, Failure> {
        let mut round = file.begin()?;
        round.add(changed, &self.bytes_of(changed))?;
        round.commit(moment(self.pages, self.round))
    }

    /// Makes a round of several calls: pages are added twice, and the pool loses some before the end. A call that fails
    /// is repeated.
    pub(super) fn write_in_parts(
        &self,
        file: &mut CheckpointFile<Losing>,
        changed: &[u32],
        random: &mut Random,
    ) -> Result<u64, Failure> {
        let mut round = file.begin()?;
        let mut add = |pages: &[u32], bytes: &[u8], reserves: bool| {
            if reserves && round.reserve(pages.len() as u32).is_err() {
                round.reserve(pages.len() as u32)?;
            }
            round.add(pages, bytes).or_else(|_| round.add(pages, bytes))
        };
        for _ in 0..random.below(3) {
            let early = changed.iter().copied().filter(|page| page % 2 == 0);
            let behind = self.pages..self.pages + random.below(3) as u32;
            let early: Vec<u32> = early.chain(behind).collect();
            let bytes = early.iter().flat_map(|&page| page_of(random.below(9) as u8, page));
            let bytes: Vec<u8> = bytes.collect();
            add(&early, &bytes, random.below(3) == 0)?;
        }
        let parts = 1 + random.below(3) as u32;
        for part in 0..parts {
            let pages = changed.iter().copied().filter(|page| page % parts == part);
            let pages: Vec<u32> = pages.collect();
            add(&pages, &self.bytes_of(&pages), random.below(3) == 0)?;
        }
        for &page in changed {
            let [bytes, other] = [self.bytes.get(&page).copied().unwrap_or(0), 77];
            assert!(round.has(page, &page_of(bytes, page)));
            assert!(!round.has(page, &page_of(other, page)));
        }
        round.commit(moment(self.pages, self.round))
    }

    /// Makes a round that is dropped, or fails.
    pub(super) fn write_in_vain(&self, file: &mut CheckpointFile<Losing>, random: &mut Random) {
        let Ok(mut round) = file.begin() else { return };
        for _ in 0..random.below(4) {
            let pages = (0..self.pages + 3).filter(|_| random.below(3) == 0);
            let pages: Vec<u32> = pages.collect();
            if random.below(2) == 0 {
                let _ = round.reserve(pages.len() as u32);
            }
            let bytes = pages.iter().flat_map(|&page| page_of(random.below(9) as u8, page));
            let _ = round.add(&pages, &bytes.collect::<Vec<_>>());
        }
    }

    pub(super) fn is_in(&self, file: &CheckpointFile<Losing>) -> bool {
        let Some((found, _)) = file.newest() else { return self.round == 0 };
        let is_page = |page| {
            let (mut bytes, byte) = ([9; SLOT], self.bytes.get(&page).copied().unwrap_or(0));
            file.read(page, &mut bytes).is_ok() && bytes == page_of(byte, page)
        };
        let filled = self.bytes.iter().filter(|&(_, &byte)| byte != 0).map(|(&page, _)| page);
        found == moment(self.pages, self.round)
            && (0..self.pages).all(is_page)
            && file.pages().eq(filled)
    }
}
