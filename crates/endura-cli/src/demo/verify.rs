//! Checks every key that must be present, and every key that must not.

use super::load::Loaded;
use super::maps::{Lookup, Maps};
use endura_console::outcome::Result;

/// The result of a check of the maps.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// Keys that must be present and are, with their values.
    pub(crate) right: u64,
    /// Keys that must be present and are not.
    pub(crate) missing: u64,
    /// Keys with another value than the one stored, or out of order.
    pub(crate) wrong: u64,
    /// Keys that the demo did not store.
    pub(crate) strangers: u64,
    /// Keys whose insert was in flight and took effect.
    pub(crate) kept_in_flight: u64,
}

impl Found {
    pub(crate) fn is_sound(&self) -> bool {
        self.missing == 0 && self.wrong == 0 && self.strangers == 0
    }

    fn look_up(&mut self, maps: &Maps, index: u64) -> Result<()> {
        match maps.look_up(index)? {
            Lookup::Right => self.right += 1,
            Lookup::Wrong => self.wrong += 1,
            Lookup::Missing => self.missing += 1,
        }
        Ok(())
    }

    /// Reads all maps in order; returns their number of entries.
    fn search(&mut self, maps: &Maps, may_exist: impl Fn(u64) -> bool) -> Result<u64> {
        let mut entries = 0;
        maps.search(&mut |seen| {
            entries += 1;
            if !seen.index.is_some_and(&may_exist) {
                self.strangers += 1;
            } else if !seen.right {
                self.wrong += 1;
            }
        })?;
        Ok(entries)
    }
}

/// After the kill: every acknowledged key must be present, and no key whose insert had not begun.
pub(crate) fn after_kill(maps: &Maps, loaded: &Loaded) -> Result<Found> {
    let mut found = Found::default();
    for index in loaded.acknowledged_keys() {
        found.look_up(maps, index)?;
    }
    let entries = found.search(maps, |index| loaded.has_begun(index))?;
    // Lookups and the scan must agree on the number of keys.
    let known = found.right + found.strangers;
    found.kept_in_flight = entries.saturating_sub(known);
    if found.is_sound() && (entries < known || found.kept_in_flight > loaded.in_flight()) {
        found.wrong += 1;
    }
    Ok(found)
}

/// After the whole load: all keys must be present, and no others.
pub(crate) fn complete(maps: &Maps, count: u64) -> Result<Found> {
    let mut found = Found::default();
    for index in 0..count {
        found.look_up(maps, index)?;
    }
    let entries = found.search(maps, |index| index < count)?;
    found.wrong += u64::from(found.is_sound() && entries != count);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use endura::{Kind, Pool};
    use endura_console::keys::{key, value};

    use super::*;

    #[test]
    fn every_kind_of_damage_is_found() {
        let all: Vec<_> = Kind::all().collect();
        for kinds in [&all[..], &[Kind::FastFair], &[Kind::Roart]] {
            damage(kinds);
        }
    }

    fn damage(kinds: &[Kind]) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let pool = Pool::options().create_new(dir.path().join("pool")).expect("a pool");
        Maps::create(&pool, kinds).expect("maps");
        let maps = Maps::open(&pool).expect("maps");
        // Two threads with 102 keys each: 51 acknowledged and one in flight, 60 acknowledged.
        let loaded = Loaded { threads: vec![(0..102, 51, 52), (102..204, 60, 60)] };
        for index in (0..52).chain(102..162) {
            maps.insert(index).expect("an insert");
        }
        let look = || after_kill(&maps, &loaded).expect("a look");
        let sound = Found { right: 111, kept_in_flight: 1, ..Found::default() };
        assert_eq!(look(), sound);
        maps.insert(162).expect("an insert");
        assert_eq!(look(), Found { strangers: 1, ..sound });
        for index in 0..204 {
            maps.insert(index).expect("an insert");
        }
        let whole = Found { right: 204, ..Found::default() };
        assert_eq!(complete(&maps, 204).expect("a look"), whole);
        assert_eq!(complete(&maps, 203).expect("a look").strangers, 1);

        // Contents that only one kind of map can be made to have.
        if kinds[0] == Kind::FastFair {
            let map = pool.map::<u64, u64>(Kind::FastFair.name()).expect("a map");
            map.insert(key(0), 0).expect("an insert");
            assert!(complete(&maps, 204).expect("a look").wrong > 0);
            map.remove(key(0)).expect("a remove");
            assert_eq!(complete(&maps, 204).expect("a look").missing, 1);
            map.insert(key(0), value(0)).expect("an insert");
            assert_eq!(complete(&maps, 204).expect("a look"), whole);
        }
        if kinds.contains(&Kind::Roart) {
            let map = pool.map::<str, str>(Kind::Roart.name()).expect("a map");
            map.insert("user:x", "visitor 1").expect("an insert");
            assert_eq!(complete(&maps, 204).expect("a look").strangers, 1);
            map.remove("user:x").expect("a remove");
            let (first, _) = map.first_key_value().expect("a look").expect("an entry");
            map.insert(&first, "visitor").expect("an insert");
            assert!(complete(&maps, 204).expect("a look").wrong > 0);
            map.remove(&first).expect("a remove");
            assert_eq!(complete(&maps, 204).expect("a look").missing, 1);
        }
    }
}
