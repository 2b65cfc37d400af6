//! What is measured: a store, and what a thread does with it.

use crate::Result;

/// A store of u64 keys and values, or of byte strings of one [`Shape`](crate::store::Shape) that stand for them, which
/// several threads use at once.
pub trait Store: Sync {
    /// What one thread holds while it works.
    type Client<'s>: Client
    where
        Self: 's;

    /// The name in tables.
    fn name(&self) -> &'static str;

    /// Begins one thread's work. Not measured.
    fn client(&self) -> Result<Self::Client<'_>>;

    /// What the store takes up now.
    fn footprint(&self) -> Result<Footprint>;

    /// The settings that matter for a comparison, in a sentence.
    fn settings(&self) -> String;
}

/// A store that makes several changes at once: all or none of them survive `kill -9`.
pub trait BatchStore: Store {
    /// Stores all `entries`, whether or not their keys were there.
    fn insert_all<'s>(
        &'s self,
        client: &mut Self::Client<'s>,
        entries: &[(u64, u64)],
    ) -> Result<()>;
}

/// One thread's work with a store. Each write returns when it would survive `kill -9`.
pub trait Client {
    /// Stores `value` under `key`, whether or not the key was there.
    fn insert(&mut self, key: u64, value: u64) -> Result<()>;

    /// Replaces the value of `key`; says whether the key was there. A store without such an operation
    /// inserts, and says yes.
    fn update(&mut self, key: u64, value: u64) -> Result<bool>;

    /// Removes `key`; says whether it was there, or yes without looking.
    fn remove(&mut self, key: u64) -> Result<bool>;

    /// The value of `key`.
    fn get(&mut self, key: u64) -> Result<Option<u64>>;

    /// Reads up to `count` entries from `from` upwards, every key and value looked at; gives how
    /// many there were and the exclusive or of the numbers of all of them.
    fn scan(&mut self, from: u64, count: usize) -> Result<(usize, u64)>;

    /// The first entry whose key is at least `from`. Not measured: it looks at the whole store for
    /// `endura bench kills`.
    fn first(&mut self, from: u64) -> Result<Option<(u64, u64)>>;

    /// Looks all of `keys` up; gives how many were found.
    #[inline]
    fn get_many(&mut self, keys: &[u64]) -> Result<usize> {
        let mut found = 0;
        for &key in keys {
            found += usize::from(self.get(key)?.is_some());
        }
        Ok(found)
    }
}

/// What a store takes up.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Footprint {
    /// Bytes of the pages that hold something.
    pub used_bytes: u64,
    /// Bytes of the file. Holes count.
    pub file_bytes: u64,
}

impl Footprint {
    /// Of a store that does not say.
    pub const UNKNOWN: Self = Self { used_bytes: 0, file_bytes: 0 };
}
