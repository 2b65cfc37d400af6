//! Stores of byte strings under numbers.

use std::ops::ControlFlow;

use super::contract::Client;
use super::shape::{Buffers, Shape, number};
use crate::Result;

/// One thread's work with a store of byte strings. [`Numbers`] makes a [`Client`] of it.
pub trait ByteClient {
    /// Stores `value` under `key`, whether or not the key was there.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Replaces the value of `key`; says whether it was there. An upsert where a store has no update that spares
    /// the search: the keys measured are there.
    #[inline]
    fn replace(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.put(key, value)?;
        Ok(true)
    }

    /// Removes `key`; says whether it was there, or yes without looking.
    fn remove(&mut self, key: &[u8]) -> Result<bool>;

    /// Copies the value of `key` into `into`; says whether the key was there.
    fn get(&mut self, key: &[u8], into: &mut [u8]) -> Result<bool>;

    /// Looks the keys of all these numbers up; gives how many were found.
    #[inline]
    fn get_many(&mut self, keys: &[u64], buffers: &mut Buffers) -> Result<usize> {
        let mut found = 0;
        for &key in keys {
            buffers.set_key(key);
            found += usize::from(self.get(&buffers.key, &mut buffers.read)?);
        }
        Ok(found)
    }

    /// Shows up to `count` entries from `from` upwards to `see`.
    fn scan(&mut self, from: &[u8], count: usize, see: impl FnMut(&[u8], &[u8])) -> Result<()>;

    /// The same with keys and values that the caller keeps.
    #[inline]
    fn scan_owned(
        &mut self,
        from: &[u8],
        count: usize,
        mut see: impl FnMut(Vec<u8>, Vec<u8>),
    ) -> Result<()> {
        self.scan(from, count, |key, value| see(key.to_vec(), value.to_vec()))
    }
}

/// A [`ByteClient`] that scans in other ways as well.
pub trait OrderedBytes: ByteClient {
    /// Shows up to `count` entries from `from` downwards to `see`.
    fn scan_down(&mut self, from: &[u8], count: usize, see: impl FnMut(&[u8], &[u8]))
    -> Result<()>;

    /// Shows up to `count` entries whose keys begin with `prefix` to `see`.
    fn scan_prefix(
        &mut self,
        prefix: &[u8],
        count: usize,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()>;
}

/// Shows the first `count` entries to `see`.
pub(crate) fn first_entries(
    count: usize,
    mut see: impl FnMut(&[u8], &[u8]),
) -> impl FnMut(&[u8], &[u8]) -> ControlFlow<()> {
    let mut left = count;
    move |key, value| {
        see(key, value);
        left -= 1;
        if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// Copies as much of a value as there is room for; a number without a call, as stores of numbers do.
#[inline]
pub(super) fn copy(value: &[u8], into: &mut [u8]) {
    if let (Ok(value), Ok(into)) =
        (<&[u8; 8]>::try_from(value), <&mut [u8; 8]>::try_from(&mut *into))
    {
        *into = *value;
        return;
    }
    let length = value.len().min(into.len());
    into[..length].copy_from_slice(&value[..length]);
}

/// Numbers, as keys and values of one [`Shape`].
#[derive(Clone)]
pub struct Numbers<S> {
    pub(super) client: S,
    buffers: Buffers,
}

impl<S> Numbers<S> {
    pub(crate) fn new(client: S, shape: Shape) -> Self {
        Self { client, buffers: Buffers::new(shape) }
    }

    /// The store below.
    pub(crate) fn into_bytes(self) -> S {
        self.client
    }
}

impl<S: ByteClient> Client for Numbers<S> {
    #[inline]
    fn insert(&mut self, key: u64, value: u64) -> Result<()> {
        self.buffers.set_key(key);
        self.buffers.set_value(value);
        self.client.put(&self.buffers.key, &self.buffers.value)
    }

    #[inline]
    fn update(&mut self, key: u64, value: u64) -> Result<bool> {
        self.buffers.set_key(key);
        self.buffers.set_value(value);
        self.client.replace(&self.buffers.key, &self.buffers.value)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> Result<bool> {
        self.buffers.set_key(key);
        self.client.remove(&self.buffers.key)
    }

    #[inline]
    fn get(&mut self, key: u64) -> Result<Option<u64>> {
        self.buffers.set_key(key);
        let found = self.client.get(&self.buffers.key, &mut self.buffers.read)?;
        Ok(found.then(|| number(&self.buffers.read)))
    }

    fn first(&mut self, from: u64) -> Result<Option<(u64, u64)>> {
        self.buffers.set_key(from);
        let (mut first, buffers) = (None, &self.buffers);
        self.client.scan(&buffers.key, 1, |key, value| {
            first = Some((buffers.key_number(key), number(value)));
        })?;
        Ok(first)
    }

    #[inline]
    fn scan(&mut self, from: u64, count: usize) -> Result<(usize, u64)> {
        self.buffers.set_key(from);
        let (mut seen, mut sum) = (0, 0);
        let buffers = &self.buffers;
        self.client.scan(&buffers.key, count, |key, value| {
            seen += 1;
            sum ^= buffers.key_number(key) ^ number(value);
        })?;
        Ok((seen, sum))
    }

    #[inline]
    fn get_many(&mut self, keys: &[u64]) -> Result<usize> {
        self.client.get_many(keys, &mut self.buffers)
    }
}
