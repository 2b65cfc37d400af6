//! A peer's map under torture: what it has no operation for is put together from those that it has.
//!
//! Each key belongs to one writer thread, so that a lookup followed by a write is as good as one
//! operation. Where threads share a key, in [`PeerMap::compare_exchange`] and
//! [`PeerMap::fetch_update`], a lock stands for what the peer lacks.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use endura::{Error, Result};
use endura_bench::contender::Contender;
use endura_bench::entrant::Entrant;
use endura_bench::store::{Place, Session, Shape};

/// Keys and values of byte strings: two of the peers know no other.
const SHAPE: Shape = Shape::fixed(16, 16);

/// Entries that there is room for.
const ENTRIES: u64 = 4 << 20;

/// The map of a peer.
pub(super) struct PeerMap {
    store: Box<dyn Entrant>,
    name: &'static str,
    exchanges: Mutex<()>,
}

impl PeerMap {
    /// Opens the store in the folder `dir`, which is made if it is not there.
    pub(super) fn open(contender: Contender, dir: &Path) -> Result<Self> {
        let name = contender.argument();
        let shape = if contender.takes(SHAPE) { SHAPE } else { Shape::WORDS };
        let place = Place::new(dir.into(), shape, ENTRIES);
        let store = contender.open(&place).map_err(|error| refused(name, error))?;
        Ok(Self { store, name, exchanges: Mutex::default() })
    }

    /// Bytes of its files.
    pub(super) fn file_bytes(&self) -> Result<u64> {
        let footprint = self.store.footprint().map_err(|error| refused(self.name, error))?;
        Ok(footprint.file_bytes)
    }

    fn ask<T>(&self, ask: impl FnOnce(&mut dyn Session) -> endura_bench::Result<T>) -> Result<T> {
        let answer = self.store.session().and_then(|mut session| ask(session.as_mut()));
        answer.map_err(|error| refused(self.name, error))
    }

    fn alone(&self) -> MutexGuard<'_, ()> {
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, key: u64) -> Result<Option<u64>> {
        self.ask(|session| session.get(key))
    }

    pub(super) fn insert(&self, key: u64, value: u64) -> Result<Option<u64>> {
        self.ask(|session| {
            let old = session.get(key)?;
            session.insert(key, value)?;
            Ok(old)
        })
    }

    pub(super) fn insert_new(&self, key: u64, value: u64) -> Result<bool> {
        self.ask(|session| match session.get(key)? {
            Some(_) => Ok(false),
            None => session.insert(key, value).map(|()| true),
        })
    }

    pub(super) fn update(&self, key: u64, value: u64) -> Result<Option<u64>> {
        self.ask(|session| {
            let old = session.get(key)?;
            if old.is_some() {
                session.update(key, value)?;
            }
            Ok(old)
        })
    }

    pub(super) fn remove(&self, key: u64) -> Result<Option<u64>> {
        self.ask(|session| {
            let old = session.get(key)?;
            if old.is_some() {
                session.remove(key)?;
            }
            Ok(old)
        })
    }

    pub(super) fn compare_exchange(
        &self,
        key: u64,
        expected: Option<u64>,
        new: Option<u64>,
    ) -> Result<Result<(), Option<u64>>> {
        let _alone = self.alone();
        self.ask(|session| {
            let old = session.get(key)?;
            if old != expected {
                return Ok(Err(old));
            }
            match new {
                Some(new) => session.insert(key, new)?,
                None if old.is_some() => session.remove(key).map(drop)?,
                None => {}
            }
            Ok(Ok(()))
        })
    }

    pub(super) fn fetch_update(
        &self,
        key: u64,
        mut update: impl FnMut(Option<u64>) -> Option<u64>,
    ) -> Result<Option<u64>> {
        let _alone = self.alone();
        self.ask(|session| {
            let old = session.get(key)?;
            match update(old) {
                Some(new) => session.insert(key, new)?,
                None => session.remove(key).map(drop)?,
            }
            Ok(old)
        })
    }

    /// All entries, read one after the other before the first is given.
    pub(super) fn iter(&self) -> Box<dyn DoubleEndedIterator<Item = Result<(u64, u64)>>> {
        let all = self.ask(|session| {
            let (mut all, mut from) = (Vec::new(), 0);
            while let Some((key, value)) = session.first(from)? {
                all.push((key, value));
                let Some(next) = key.checked_add(1) else { break };
                from = next;
            }
            Ok(all)
        });
        match all {
            Ok(all) => Box::new(all.into_iter().map(Ok)),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }
}

fn refused(name: &str, error: endura_bench::Error) -> Error {
    Error::io(name, std::io::Error::other(error))
}
