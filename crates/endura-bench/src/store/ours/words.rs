//! A [`Client`] of a map of numbers, as users have it, and of a tree of numbers over any medium.

use endura::Map;
use endura_engine::tree::Index;
use endura_variants::handles::WordMap;

use crate::Result;
use crate::store::contract::Client;

/// The same calls of both, but for the one that changes a value, and how keys are given.
macro_rules! client {
    ($type:ty, $replace:ident, [$($keys:tt)*] $(, $index:ident)?) => {
        impl$(<$index: Index>)? Client for $type {
            #[inline]
            fn insert(&mut self, key: u64, value: u64) -> Result<()> {
                Self::insert(self, key, value)?;
                Ok(())
            }

            #[inline]
            fn update(&mut self, key: u64, value: u64) -> Result<bool> {
                Ok(Self::$replace(self, key, value)?.is_some())
            }

            #[inline]
            fn remove(&mut self, key: u64) -> Result<bool> {
                Ok(Self::remove(self, key)?.is_some())
            }

            #[inline]
            fn get(&mut self, key: u64) -> Result<Option<u64>> {
                Ok(Self::get(self, key)?)
            }

            fn first(&mut self, from: u64) -> Result<Option<(u64, u64)>> {
                Ok(self.range(from..).next().transpose()?)
            }

            #[inline]
            fn scan(&mut self, from: u64, count: usize) -> Result<(usize, u64)> {
                let (mut seen, mut sum) = (0, 0);
                for entry in self.range(from..).take(count) {
                    let (key, value) = entry?;
                    seen += 1;
                    sum ^= key ^ value;
                }
                Ok((seen, sum))
            }

            #[inline]
            fn get_many(&mut self, keys: &[u64]) -> Result<usize> {
                Ok(Self::get_many(self, keys$($keys)*)?.iter().flatten().count())
            }
        }
    };
}

client!(Map<u64, u64>, replace, [.iter().copied()]);
client!(WordMap<I>, update, [], I);
