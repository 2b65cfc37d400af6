//! The maps of the demo: one per index, among which the keys are dealt out.

use crate::mixed;
use endura::{Error, Kind, Pool, Result};

use crate::values::entries::OpenMap;

/// The kinds that there are.
pub(crate) const KINDS: [Kind; 3] = [Kind::FastFair, Kind::NbTree, Kind::Roart];

/// What the keys of byte strings begin with.
const PREFIX: &[u8] = b"user:";

/// The maps of a pool, called after their kinds. Key number `i` is in the map number `i` modulo how
/// many there are.
pub(crate) struct Maps(Vec<(String, OpenMap)>);

/// What a lookup found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    Right,
    Wrong,
    Missing,
}

/// What a scan came by: the number of a key, if it is one of ours in its place, and whether the value
/// is the one stored.
pub(crate) struct Seen {
    pub(crate) index: Option<u64>,
    pub(crate) right: bool,
}

fn byte_key(index: u64) -> Vec<u8> {
    let mut key = PREFIX.to_vec();
    key.extend(format!("{:016x}", mixed::key(index)).into_bytes());
    key
}

fn byte_value(index: u64) -> Vec<u8> {
    format!("visitor {index}").into_bytes()
}

/// The number of a key; `None` if it is none of ours.
fn byte_index(key: &[u8]) -> Option<u64> {
    let digits = str::from_utf8(key.strip_prefix(PREFIX)?).ok()?;
    let index = mixed::index(u64::from_str_radix(digits, 16).ok()?);
    (byte_key(index) == key).then_some(index)
}

impl Maps {
    /// Makes an empty map of each of `kinds`.
    pub(crate) fn create(pool: &Pool, kinds: &[Kind]) -> Result<()> {
        kinds.iter().try_for_each(|&kind| OpenMap::open(pool, kind.name(), Some(kind)).map(drop))
    }

    /// The maps of a pool, by name.
    pub(crate) fn open(pool: &Pool) -> Result<Self> {
        let names = pool.maps()?.into_iter().map(|map| map.name);
        let maps = names.map(|name| OpenMap::open(pool, &name, None).map(|map| (name, map)));
        let maps = maps.collect::<Result<Vec<_>>>()?;
        if maps.is_empty() {
            return Err(Error::NoSuchMap { name: Kind::FastFair.name().into() });
        }
        Ok(Self(maps))
    }

    fn of(&self, index: u64) -> &OpenMap {
        &self.0[(index % self.0.len() as u64) as usize].1
    }

    /// Stores key number `index`.
    pub(crate) fn insert(&self, index: u64) -> Result<()> {
        match self.of(index) {
            OpenMap::Numbers(map) => map.insert(mixed::key(index), mixed::value(index)).map(drop),
            OpenMap::Bytes(map) => map.insert(byte_key(index), byte_value(index)).map(drop),
        }
    }

    /// Looks key number `index` up.
    pub(crate) fn look_up(&self, index: u64) -> Result<Lookup> {
        let right = match self.of(index) {
            OpenMap::Numbers(map) => {
                map.get(mixed::key(index))?.map(|value| value == mixed::value(index))
            }
            OpenMap::Bytes(map) => {
                map.get(byte_key(index))?.map(|value| value == byte_value(index))
            }
        };
        Ok(match right {
            Some(true) => Lookup::Right,
            Some(false) => Lookup::Wrong,
            None => Lookup::Missing,
        })
    }

    /// Reads all maps in order, and tells `see` of every entry.
    pub(crate) fn search(&self, see: &mut impl FnMut(Seen)) -> Result<()> {
        for (i, (_, map)) in self.0.iter().enumerate() {
            let ours = |index: &u64| (index % self.0.len() as u64) as usize == i;
            match map {
                OpenMap::Numbers(map) => walk(map.iter(), see, |&key, &value| {
                    let index = Some(mixed::index(key)).filter(ours);
                    Seen { index, right: value == mixed::value(mixed::index(key)) }
                })?,
                OpenMap::Bytes(map) => walk(map.iter(), see, |key: &Vec<u8>, value: &Vec<u8>| {
                    let index = byte_index(key).filter(ours);
                    Seen { index, right: index.is_some_and(|index| *value == byte_value(index)) }
                })?,
            }
        }
        Ok(())
    }

    /// A few entries of each map, in words: its name, keys and values.
    pub(crate) fn samples(&self, count: usize) -> Result<Vec<[String; 3]>> {
        let mut rows = Vec::new();
        for (name, map) in &self.0 {
            match map {
                OpenMap::Numbers(map) => {
                    for entry in map.range(1 << 63..).take(count) {
                        let (key, value) = entry?;
                        rows.push([name.clone(), key.to_string(), value.to_string()]);
                    }
                }
                OpenMap::Bytes(map) => {
                    for entry in map.prefix([PREFIX, b"8"].concat()).take(count) {
                        let (key, value) = entry?;
                        let text = |bytes: Vec<u8>| bytes.escape_ascii().to_string();
                        rows.push([name.clone(), text(key), text(value)]);
                    }
                }
            }
        }
        Ok(rows)
    }
}

/// Tells `see` what `judge` says of each entry; one out of order is not right.
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
