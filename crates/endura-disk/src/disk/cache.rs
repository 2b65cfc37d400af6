//! The volatile cache of a disk: the versions of each sector that were written since the last flush.

use std::collections::BTreeMap;

use fastrand::Rng;

/// The unit that a disk writes whole or not at all.
pub(crate) const SECTOR: usize = 512;

pub(super) type Sector = [u8; SECTOR];

/// What was written and is not durable, by the number of the sector, oldest version first.
#[derive(Default)]
pub(super) struct Cache(BTreeMap<u64, Vec<Sector>>);

impl Cache {
    pub(super) fn push(&mut self, number: u64, sector: Sector) {
        self.0.entry(number).or_default().push(sector);
    }

    /// What a read finds here.
    pub(super) fn newest(&self, number: u64) -> Option<&Sector> {
        self.0.get(&number)?.last()
    }

    /// Forgets the versions of a sector that were overtaken by a durable write.
    pub(super) fn forget(&mut self, number: u64) {
        self.0.remove(&number);
    }

    /// Sectors that are not durable.
    pub(super) fn sectors(&self) -> u64 {
        self.0.len() as u64
    }

    /// Takes out the newest version of every sector.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (u64, Sector)> + use<> {
        let all = std::mem::take(&mut self.0).into_iter();
        all.filter_map(|(number, versions)| Some((number, *versions.last()?)))
    }

    /// Takes out what a power cut leaves. Each version is kept with the probability `kept`, whatever becomes of those
    /// before it and of other sectors: so any version may be the last.
    pub(super) fn cut(&mut self, kept: f64, rng: &mut Rng) -> Vec<(u64, Sector)> {
        let mut left = Vec::new();
        for (number, versions) in std::mem::take(&mut self.0) {
            if let Some(&sector) = versions.iter().rev().find(|_| rng.f64() < kept) {
                left.push((number, sector));
            }
        }
        left
    }
}
