//! Looks for every key that must be there, and for every key that must not.

use endura::AnyMap;
use endura_bench::keys;

use super::load::Loaded;
use crate::outcome::Result;

/// What was found in a map.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// Keys that must be there and are, with their values.
    pub(crate) right: u64,
    /// Keys that must be there and are not.
    pub(crate) missing: u64,
    /// Keys with another value than the one stored, or out of order.
    pub(crate) wrong: u64,
    /// Keys that nobody stored.
    pub(crate) strangers: u64,
    /// Keys whose insert was in flight and took effect.
    pub(crate) kept_in_flight: u64,
}

impl Found {
    pub(crate) fn is_sound(&self) -> bool {
        self.missing == 0 && self.wrong == 0 && self.strangers == 0
    }

    fn look_up(&mut self, map: &AnyMap, index: u64) -> Result<()> {
        match map.get(keys::key(index))? {
            Some(value) if value == keys::value(index) => self.right += 1,
            Some(_) => self.wrong += 1,
            None => self.missing += 1,
        }
        Ok(())
    }

    /// Reads the whole map in order; gives how many entries it has.
    fn search(&mut self, map: &AnyMap, may_exist: impl Fn(u64) -> bool) -> Result<u64> {
        let (mut entries, mut previous) = (0, None);
        for entry in map.iter() {
            let (key, value) = entry?;
            let index = keys::index(key);
            if !may_exist(index) {
                self.strangers += 1;
            } else if value != keys::value(index) || previous >= Some(key) {
                self.wrong += 1;
            }
            previous = Some(key);
            entries += 1;
        }
        Ok(entries)
    }
}

/// After the kill: all that was acknowledged, and nothing that had not begun.
pub(crate) fn after_kill(map: &AnyMap, loaded: &Loaded) -> Result<Found> {
    let mut found = Found::default();
    for index in loaded.acknowledged_keys() {
        found.look_up(map, index)?;
    }
    let entries = found.search(map, |index| loaded.has_begun(index))?;
    // Lookups and the scan must agree on how many there are.
    let known = found.right + found.strangers;
    found.kept_in_flight = entries.saturating_sub(known);
    if found.is_sound() && (entries < known || found.kept_in_flight > loaded.in_flight()) {
        found.wrong += 1;
    }
    Ok(found)
}

/// After the whole load: all keys, and nothing else.
pub(crate) fn complete(map: &AnyMap, count: u64) -> Result<Found> {
    let mut found = Found::default();
    for index in 0..count {
        found.look_up(map, index)?;
    }
    let entries = found.search(map, |index| index < count)?;
    found.wrong += u64::from(found.is_sound() && entries != count);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use endura_bench::keys::{key, value};

    #[test]
    fn every_kind_of_damage_is_found() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let pool = endura::Pool::options().create(dir.path().join("pool")).expect("a pool");
        let map = pool.any_map("demo", None).expect("a map");
        // Two threads with 100 keys each: 50 acknowledged and one in flight, 60 acknowledged.
        let loaded = Loaded { threads: vec![(0..100, 50, 51), (100..200, 60, 60)] };
        for index in (0..51).chain(100..160) {
            map.insert(key(index), value(index)).expect("an insert");
        }
        let look = || after_kill(&map, &loaded).expect("a look");
        let sound = Found { right: 110, kept_in_flight: 1, ..Found::default() };
        assert_eq!(look(), sound);
        map.remove(key(50)).expect("a remove");
        assert_eq!(look(), Found { kept_in_flight: 0, ..sound });
        map.remove(key(120)).expect("a remove");
        assert_eq!(look().missing, 1);
        map.insert(key(120), 0).expect("an insert");
        assert!(look().wrong > 0 && look().missing == 0);
        map.insert(key(120), value(120)).expect("an insert");
        map.insert(key(160), value(160)).expect("an insert");
        assert_eq!(look().strangers, 1);
        assert!(!complete(&map, 200).expect("a look").is_sound());
        for index in 0..200 {
            map.insert(key(index), value(index)).expect("an insert");
        }
        assert_eq!(complete(&map, 200).expect("a look"), Found { right: 200, ..Found::default() });
    }
}
