//! What takes part, as a map that is measured.

use std::path::Path;

use endura::{Kind, Map, MapOptions, MediaChoice, Pool};

use super::keys::KeySet;
use crate::Result;
use crate::store::{
    ByteClient, Footprint, LmdbBytes, OrderedBytes, Shape, Store, first_entries, measured_pool,
};

/// What the pools lie on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum Medium {
    /// Memory of a file: nothing is flushed.
    PageCache,
    /// Every store is written back and fenced, as on persistent memory whose caches are lost with the power.
    Adr,
}

impl Medium {
    /// Both.
    pub const ALL: [Self; 2] = [Self::PageCache, Self::Adr];

    /// The name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PageCache => "page-cache",
            Self::Adr => "adr",
        }
    }
}

/// A map that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(into = "&'static str")]
pub enum Candidate {
    /// A map of ours.
    Ours(Kind),
    /// LMDB, which promises the same as ours on the page cache.
    Lmdb,
}

impl From<Candidate> for &'static str {
    fn from(candidate: Candidate) -> Self {
        candidate.name()
    }
}

impl Candidate {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours(kind) => kind.name(),
            Self::Lmdb => "LMDB",
        }
    }

    /// Those that are measured on such a medium, LMDB first.
    pub fn all(medium: Medium) -> Vec<Self> {
        let lmdb = (medium == Medium::PageCache).then_some(Self::Lmdb);
        lmdb.into_iter().chain(Kind::all().map(Self::Ours)).collect()
    }

    /// Does `work` with an empty map in the folder `dir`.
    pub(super) fn with_map<W: Work>(
        self,
        dir: &Path,
        (set, medium, entries): (KeySet, Medium, u64),
        work: W,
    ) -> Result<W::Output> {
        let most_bytes = (1 << 30) + (entries << 12);
        let Self::Ours(kind) = self else {
            let store = LmdbBytes::open(dir, most_bytes, Shape::STRINGS)?;
            let mut map = store.client()?.into_bytes();
            return work.run(self.name(), &mut map, &|| store.footprint());
        };
        let mut options = measured_pool().max_size(most_bytes);
        if medium == Medium::Adr {
            options = options.media(MediaChoice::Adr);
        }
        let pool = options.open(dir.join("pool"))?;
        let footprint = || footprint(&pool);
        let of_kind = MapOptions::new().kind(kind);
        match set {
            KeySet::Numbers => {
                let mut map = NumberMap(pool.map_with("which", of_kind)?);
                work.run(self.name(), &mut map, &footprint)
            }
            _ => {
                let mut map: Map<[u8], [u8]> = pool.map_with("which", of_kind)?;
                work.run(self.name(), &mut map, &footprint)
            }
        }
    }
}

/// What a pool takes up: chunks that are free count as free.
fn footprint(pool: &Pool) -> Result<Footprint> {
    let stats = pool.stats()?;
    let used_bytes = stats.bytes_in_use - stats.free_chunk_bytes;
    Ok(Footprint { used_bytes, file_bytes: stats.file_bytes })
}

/// What is done with a map.
pub(super) trait Work {
    /// What comes of it.
    type Output;

    /// Does it with an empty map, and may ask what that takes up.
    fn run<M: OrderedBytes>(
        self,
        name: &'static str,
        map: &mut M,
        footprint: &dyn Fn() -> Result<Footprint>,
    ) -> Result<Self::Output>;
}

/// A map with keys of the type `u64`.
struct NumberMap(Map<u64, [u8]>);

/// The number that eight bytes are.
#[inline]
fn number(key: &[u8]) -> u64 {
    key.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

impl ByteClient for NumberMap {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.insert(number(key), value)?;
        Ok(())
    }

    #[inline]
    fn replace(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        Ok(self.0.replace(number(key), value)?.is_some())
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) -> Result<bool> {
        Ok(self.0.remove(number(key))?.is_some())
    }

    #[inline]
    fn get(&mut self, key: &[u8], into: &mut [u8]) -> Result<bool> {
        let read = |value: &[u8]| into[..value.len()].copy_from_slice(value);
        Ok(self.0.get_with(number(key), read)?.is_some())
    }

    #[inline]
    fn scan(&mut self, from: &[u8], count: usize, see: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let mut visit = first_entries(count, see);
        Ok(self
            .0
            .range_with(number(from).., |key, value| visit(&key.to_be_bytes(), value))
            .map(drop)?)
    }

    #[inline]
    fn scan_owned(
        &mut self,
        from: &[u8],
        count: usize,
        mut see: impl FnMut(Vec<u8>, Vec<u8>),
    ) -> Result<()> {
        for entry in self.0.range(number(from)..).take(count) {
            let (key, value) = entry?;
            see(key.to_be_bytes().to_vec(), value);
        }
        Ok(())
    }
}

impl OrderedBytes for NumberMap {
    #[inline]
    fn scan_down(
        &mut self,
        from: &[u8],
        count: usize,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let mut visit = first_entries(count, see);
        let below = self.0.range(..=number(from));
        Ok(below.visit_rev(|key, value| visit(&key.to_be_bytes(), value)).map(drop)?)
    }

    #[inline]
    fn scan_prefix(
        &mut self,
        prefix: &[u8],
        count: usize,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let [mut first_key, mut last_key] = [[0; 8], [0xFF; 8]];
        first_key[..prefix.len()].copy_from_slice(prefix);
        last_key[..prefix.len()].copy_from_slice(prefix);
        let mut visit = first_entries(count, see);
        let all = self.0.range(number(&first_key)..=number(&last_key));
        Ok(all.visit(|key, value| visit(&key.to_be_bytes(), value)).map(drop)?)
    }
}
