//! A map of byte strings in an endura pool as a [`Store`].

use endura::lab::handles::Handles as _;
use std::ops::ControlFlow;

use endura::Pool;
use endura::lab::handles::{ByteMap, Roart, RoartIndex};
use endura::lab::tree::{ByteIndex, Bytes};

use crate::Result;
use crate::store::contract::{Client, Footprint, Store};
use crate::store::options::StoreOptions;
use crate::store::shape::{Buffers, Shape, key_number, number};

/// A map of byte strings in an endura pool.
pub struct RoartStore {
    pool: Pool,
    map: Roart,
    shape: Shape,
}

impl RoartStore {
    /// The maps of a pool, which is made if it is not there.
    pub fn open(options: &StoreOptions) -> Result<Vec<Self>> {
        let shape = options.shape;
        shape.check()?;
        let pool = options.open_pool()?;
        let map = |name: String| Ok(Self { map: pool.roart(&name)?, pool: pool.clone(), shape });
        options.map_names().map(map).collect()
    }
}

impl Store for RoartStore {
    type Client<'s> = RoartClient<RoartIndex>;

    fn name(&self) -> &'static str {
        "roart"
    }

    fn client(&self) -> Result<RoartClient<RoartIndex>> {
        Ok(RoartClient::new(self.map.clone(), self.shape))
    }

    fn footprint(&self) -> Result<Footprint> {
        let stats = self.pool.stats()?;
        Ok(Footprint { used_bytes: stats.page_bytes_in_use, file_bytes: stats.file_bytes })
    }

    fn settings(&self) -> String {
        match self.pool.stats() {
            Ok(stats) => format!("{} on {}, Roart", stats.domain, stats.filesystem),
            Err(error) => error.to_string(),
        }
    }
}

/// One thread's work with a map of byte strings.
pub struct RoartClient<I: ByteIndex> {
    map: ByteMap<I>,
    buffers: Buffers,
}

impl<I: ByteIndex> RoartClient<I> {
    pub(crate) fn new(map: ByteMap<I>, shape: Shape) -> Self {
        Self { map, buffers: Buffers::new(shape) }
    }
}

impl<I: ByteIndex> Client for RoartClient<I> {
    #[inline]
    fn insert(&mut self, key: u64, value: u64) -> Result<()> {
        self.buffers.set_key(key);
        self.buffers.set_value(value);
        self.map.insert(&self.buffers.key, &self.buffers.value)?;
        Ok(())
    }

    #[inline]
    fn update(&mut self, key: u64, value: u64) -> Result<bool> {
        self.buffers.set_key(key);
        self.buffers.set_value(value);
        Ok(self.map.update(&self.buffers.key, &self.buffers.value)?.is_some())
    }

    #[inline]
    fn remove(&mut self, key: u64) -> Result<bool> {
        self.buffers.set_key(key);
        Ok(self.map.remove(&self.buffers.key)?.is_some())
    }

    /// Copies the value out, all of it.
    #[inline]
    fn get(&mut self, key: u64) -> Result<Option<u64>> {
        if self.buffers.shape() == Shape::WORDS {
            let read = |value: Bytes<'_>| value.to_array().map(u64::from_le_bytes);
            return Ok(self.map.get_with(key.to_be_bytes(), read)?.flatten());
        }
        self.buffers.set_key(key);
        let read = &mut self.buffers.read;
        Ok(self.map.get_with(&self.buffers.key, |value| {
            let length = value.len().min(read.len());
            value.copy_to(0, &mut read[..length]);
            number(read)
        })?)
    }

    fn first(&mut self, from: u64) -> Result<Option<(u64, u64)>> {
        self.buffers.set_key(from);
        let entry = self.map.range::<Vec<u8>>(&self.buffers.key..).next().transpose()?;
        Ok(entry.map(|(key, value)| (self.buffers.key_number(&key), number(&value))))
    }

    #[inline]
    fn scan(&mut self, from: u64, count: usize) -> Result<(usize, u64)> {
        self.buffers.set_key(from);
        let (mut seen, mut sum) = (0, 0);
        let shape = self.buffers.shape();
        self.map.range_with::<&Vec<u8>>(&self.buffers.key.., |key, value| {
            seen += 1;
            sum ^= key_number(shape, &first(key)) ^ number(&first(value));
            if seen < count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok((seen, sum))
    }

    #[inline]
    fn get_many(&mut self, keys: &[u64]) -> Result<usize> {
        let spelled: Vec<Vec<u8>> = keys.iter().map(|&key| self.buffers.spell(key)).collect();
        let found = self.map.get_many(&spelled)?.iter().flatten().count();
        Ok(found)
    }
}

/// The first eight bytes, filled up with zeros.
#[inline]
fn first(bytes: Bytes<'_>) -> [u8; 8] {
    bytes.first_chunk().unwrap_or_else(|| few(bytes))
}

#[cold]
fn few(bytes: Bytes<'_>) -> [u8; 8] {
    let mut first = [0; 8];
    bytes.copy_to(0, &mut first[..bytes.len()]);
    first
}
