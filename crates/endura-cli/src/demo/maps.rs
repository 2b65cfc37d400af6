//! The maps of the demo: one for each index. The keys are distributed among them.

use endura::{Error, Key, Kind, Map, MapOptions, Pool, Result};
use endura_console::keys;

/// The prefix of keys that are strings.
const PREFIX: &str = "user:";

/// The maps of a pool, named after their kinds. Key number `i` is in map number `i` modulo the number of maps.
pub(crate) struct Maps(Vec<(String, AnyMap)>);

enum AnyMap {
    Numbers(Map<u64, u64>),
    Strings(Map<str, str>),
}

/// The result of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    Right,
    Wrong,
    Missing,
}

/// An entry that a scan returned: the number of its key, if the key belongs to this demo and is in the right map, and
/// whether it has the value that was stored.
pub(crate) struct Seen {
    pub(crate) index: Option<u64>,
    pub(crate) right: bool,
}

fn string_key(index: u64) -> String {
    format!("{PREFIX}{:016x}", keys::key(index))
}

fn string_value(index: u64) -> String {
    format!("visitor {index}")
}

/// The number of a key; `None` if the key does not belong to this demo.
fn string_index(key: &str) -> Option<u64> {
    let digits = key.strip_prefix(PREFIX)?;
    let index = keys::index(u64::from_str_radix(digits, 16).ok()?);
    (string_key(index) == key).then_some(index)
}

impl AnyMap {
    /// Opens the map that is named after `kind` and of that kind; creates it if there is none.
    fn open(pool: &Pool, kind: Kind) -> Result<Self> {
        fn open<T: Key + ?Sized>(pool: &Pool, kind: Kind) -> Result<Map<T, T>> {
            pool.map_with(kind.name(), MapOptions::new().kind(kind))
        }
        match kind.holds_words() {
            true => open(pool, kind).map(Self::Numbers),
            false => open(pool, kind).map(Self::Strings),
        }
    }
}

impl Maps {
    /// Creates an empty map of each of `kinds`.
    pub(crate) fn create(pool: &Pool, kinds: &[Kind]) -> Result<()> {
        kinds.iter().try_for_each(|&kind| AnyMap::open(pool, kind).map(drop))
    }

    /// The maps of a pool, by name.
    pub(crate) fn open(pool: &Pool) -> Result<Self> {
        let maps = pool.maps()?.into_iter();
        let maps = maps.filter_map(|map| Some((map.name, map.kind?)));
        let maps = maps.map(|(name, kind)| AnyMap::open(pool, kind).map(|open| (name, open)));
        let maps = maps.collect::<Result<Vec<_>>>()?;
        if maps.is_empty() {
            return Err(Error::NoSuchMap { name: Kind::FastFair.name().into() });
        }
        Ok(Self(maps))
    }

    fn of(&self, index: u64) -> &AnyMap {
        &self.0[(index % self.0.len() as u64) as usize].1
    }

    /// Stores key number `index`.
    pub(crate) fn insert(&self, index: u64) -> Result<()> {
        match self.of(index) {
            AnyMap::Numbers(map) => map.insert(keys::key(index), keys::value(index)).map(drop),
            AnyMap::Strings(map) => map.insert(&string_key(index), &string_value(index)).map(drop),
        }
    }

    /// Looks up key number `index`.
    pub(crate) fn look_up(&self, index: u64) -> Result<Lookup> {
        let right = match self.of(index) {
            AnyMap::Numbers(map) => {
                map.get(keys::key(index))?.map(|value| value == keys::value(index))
            }
            AnyMap::Strings(map) => {
                map.get(&string_key(index))?.map(|value| value == string_value(index))
            }
        };
        Ok(match right {
            Some(true) => Lookup::Right,
            Some(false) => Lookup::Wrong,
            None => Lookup::Missing,
        })
    }

    /// Reads all maps in order, and calls `see` with every entry.
    pub(crate) fn search(&self, see: &mut impl FnMut(Seen)) -> Result<()> {
        for (i, (_, map)) in self.0.iter().enumerate() {
            let ours = |index: &u64| (index % self.0.len() as u64) as usize == i;
            match map {
                AnyMap::Numbers(map) => walk(map.iter(), see, |&key, &value| {
                    let index = Some(keys::index(key)).filter(ours);
                    Seen { index, right: value == keys::value(keys::index(key)) }
                })?,
                AnyMap::Strings(map) => walk(map.iter(), see, |key: &String, value: &String| {
                    let index = string_index(key).filter(ours);
                    Seen { index, right: index.is_some_and(|index| *value == string_value(index)) }
                })?,
            }
        }
        Ok(())
    }

    /// A few entries of each map, as text: its name, keys and values.
    pub(crate) fn samples(&self, count: usize) -> Result<Vec<[String; 3]>> {
        let mut rows = Vec::new();
        for (name, map) in &self.0 {
            match map {
                AnyMap::Numbers(map) => {
                    for entry in map.range(1 << 63..).take(count) {
                        let (key, value) = entry?;
                        rows.push([name.clone(), key.to_string(), value.to_string()]);
                    }
                }
                AnyMap::Strings(map) => {
                    for entry in map.prefix(&format!("{PREFIX}8")).take(count) {
                        let (key, value) = entry?;
                        rows.push([name.clone(), key, value]);
                    }
                }
            }
        }
        Ok(rows)
    }
}

/// Calls `see` with the verdict of `judge` on each entry; an entry out of order is wrong.
fn walk<K: Ord, V>(
    entries: impl Iterator<Item = Result<(K, V)>>,
    see: &mut impl FnMut(Seen),
    judge: impl Fn(&K, &V) -> Seen,
) -> Result<()> {
    let mut previous = None;
    for entry in entries {
        let (key, value) = entry?;
        let seen = judge(&key, &value);
        let in_order = previous.as_ref().is_none_or(|previous| *previous < key);
        see(Seen { right: seen.right && in_order, ..seen });
        previous = Some(key);
    }
    Ok(())
}
