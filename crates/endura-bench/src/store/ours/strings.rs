//! A [`ByteClient`] of a map of byte strings, as users have it, and a [`Client`] of a tree of byte strings over any medium.

use std::ops::ControlFlow;

use endura::Map;
use endura_engine::tree::{ByteIndex, Bytes};
use endura_variants::handles::ByteMap;

use crate::Result;
use crate::store::bytes::{ByteClient, OrderedBytes, copy, first_entries};
use crate::store::contract::Client;
use crate::store::shape::{Buffers, Shape, key_number, number};

impl ByteClient for Map<[u8], [u8]> {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.insert(key, value)?;
        Ok(())
    }

    #[inline]
    fn replace(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        Ok(Self::replace(self, key, value)?.is_some())
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) -> Result<bool> {
        Ok(Self::remove(self, key)?.is_some())
    }

    #[inline]
    fn get(&mut self, key: &[u8], into: &mut [u8]) -> Result<bool> {
        Ok(self.get_with(key, |value| copy(value, into))?.is_some())
    }

    #[inline]
    fn get_many(&mut self, keys: &[u64], buffers: &mut Buffers) -> Result<usize> {
        let spelled: Vec<Vec<u8>> = keys.iter().map(|&key| buffers.spell(key)).collect();
        let found = Self::get_many(self, spelled.iter().map(Vec::as_slice))?;
        Ok(found.iter().flatten().count())
    }

    #[inline]
    fn scan(&mut self, from: &[u8], count: usize, see: impl FnMut(&[u8], &[u8])) -> Result<()> {
        Ok(self.range_with(from.., first_entries(count, see)).map(drop)?)
    }

    #[inline]
    fn scan_owned(
        &mut self,
        from: &[u8],
        count: usize,
        mut see: impl FnMut(Vec<u8>, Vec<u8>),
    ) -> Result<()> {
        for entry in self.range(from..).take(count) {
            let (key, value) = entry?;
            see(key, value);
        }
        Ok(())
    }
}

impl OrderedBytes for Map<[u8], [u8]> {
    #[inline]
    fn scan_down(
        &mut self,
        from: &[u8],
        count: usize,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        Ok(self.range(..=from).visit_rev(first_entries(count, see)).map(drop)?)
    }

    #[inline]
    fn scan_prefix(
        &mut self,
        prefix: &[u8],
        count: usize,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        Ok(self.prefix(prefix).visit(first_entries(count, see)).map(drop)?)
    }
}

/// One thread's work with a tree of byte strings over any medium, which looks at keys and values where they lie.
pub struct ByteTreeClient<I> {
    map: ByteMap<I>,
    buffers: Buffers,
}

impl<I> Clone for ByteTreeClient<I> {
    fn clone(&self) -> Self {
        Self { map: self.map.clone(), buffers: self.buffers.clone() }
    }
}

impl<I: ByteIndex> ByteTreeClient<I> {
    pub(crate) fn new(map: ByteMap<I>, shape: Shape) -> Self {
        Self { map, buffers: Buffers::new(shape) }
    }
}

impl<I: ByteIndex> Client for ByteTreeClient<I> {
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
