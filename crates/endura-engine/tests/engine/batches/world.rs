//! A pool with maps of all kinds, and changes of several of them at once.

use std::path::Path;
use std::sync::Arc;

use endura_engine::index::commit::{Act, Operation, same_bytes};
use endura_engine::index::{Entries, Tree};
use endura_engine::media::Mapped;
use endura_engine::session::{Handle, Locked, MapAsked, Open, Options};
use endura_engine::space::Events;
use endura_engine::tree::ByteChange;
use endura_engine::{Bytes, Kind, Result, Types};

pub(super) const KINDS: [(Kind, Entries); 7] = [
    (Kind::FastFair, Entries::Words),
    (Kind::NbTree, Entries::Words),
    (Kind::FastFair, Entries::WordKeys),
    (Kind::NbTree, Entries::WordKeys),
    (Kind::FastFair, Entries::Bytes),
    (Kind::NbTree, Entries::Bytes),
    (Kind::Roart, Entries::Bytes),
];

/// A map of numbers, of any kind.
pub(super) struct Numbers(Handle);

/// A pool and its maps.
pub(super) struct World {
    pub(super) maps: Vec<Numbers>,
    pub(super) pool: Arc<Open>,
}

/// One change: of which map, which key, to which value.
pub(super) type Step = (usize, u64, Option<u64>);

/// A pool at `path`, new or not, with one map for each number, of the kind with that number.
pub(super) fn open(path: &Path, kinds: &[usize]) -> Result<World> {
    let options = Options { max_size: Some(1 << 30), ..Options::default() };
    let locked = match path.exists() {
        true => Locked::existing(&options, path),
        false => Locked::new(&options, path),
    };
    let pool = locked?.open(Events::default())?;
    let mut maps = Vec::new();
    for (i, &kind) in kinds.iter().enumerate() {
        let (kind, entries) = KINDS[kind];
        let asked = MapAsked { kind: Some(kind), layout: None, create: true };
        let map = pool.open_map(&i.to_string(), asked, Types::default(), entries)?;
        maps.push(Numbers(map));
    }
    Ok(World { maps, pool })
}

fn word(value: Bytes<'_>) -> u64 {
    u64::from_le_bytes(value.to_vec()[..8].try_into().unwrap())
}

/// A value of a number: of some length.
fn value_of(number: u64) -> Vec<u8> {
    let mut value = number.to_le_bytes().to_vec();
    value.resize(8 + (number % 90) as usize, 7);
    value
}

impl Numbers {
    pub(super) fn get(&self, key: u64) -> Option<u64> {
        match &self.0.tree {
            Tree::Words(tree) => tree.get(key).unwrap(),
            Tree::Bytes(tree) => {
                let mut found = None;
                let read = &mut |value: Bytes<'_>| found = Some(word(value));
                tree.read(&key.to_be_bytes(), read).unwrap();
                found
            }
        }
    }

    /// The values of many keys.
    pub(super) fn get_many(&self, keys: &[u64]) -> Vec<Option<u64>> {
        match &self.0.tree {
            Tree::Words(tree) => tree.get_many(keys).unwrap(),
            Tree::Bytes(tree) => {
                let keys: Vec<_> = keys.iter().map(|key| key.to_be_bytes()).collect();
                let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
                let word = |value: Vec<u8>| u64::from_le_bytes(value[..8].try_into().unwrap());
                tree.get_many(&keys).unwrap().into_iter().map(|found| found.map(word)).collect()
            }
        }
    }

    /// Gives the key the number that `make` makes of its number, and returns it.
    pub(super) fn update(&self, key: u64, mut make: impl FnMut(Option<u64>) -> u64) -> u64 {
        match &self.0.tree {
            Tree::Words(tree) => loop {
                let old = tree.get(key).unwrap();
                let new = make(old);
                if tree.compare_exchange(key, old, Some(new)).unwrap().is_ok() {
                    return new;
                }
            },
            Tree::Bytes(tree) => {
                let mut new = 0;
                let change = &mut |old: Option<Bytes<'_>>| {
                    new = make(old.map(word));
                    ByteChange::Put(value_of(new).into())
                };
                tree.modify(&key.to_be_bytes(), change).unwrap();
                new
            }
        }
    }

    /// Gives the key a number, by a closure that writes it in place, if the map has byte strings.
    pub(super) fn fill(&self, key: u64, number: u64, during: &mut dyn FnMut()) {
        match &self.0.tree {
            Tree::Words(tree) => {
                during();
                tree.insert(key, number).unwrap();
            }
            Tree::Bytes(tree) => {
                let value = value_of(number);
                let fill = &mut |out: &mut dyn std::io::Write| {
                    during();
                    out.write_all(&value).unwrap();
                    Ok(())
                };
                tree.insert_from(&key.to_be_bytes(), value.len(), fill).unwrap();
            }
        }
    }

    /// The first key (the last, unless `smallest`).
    pub(super) fn end(&self, smallest: bool) -> Option<u64> {
        match &self.0.tree {
            Tree::Words(tree) => {
                let end = if smallest { tree.first().unwrap() } else { tree.last().unwrap() };
                end.map(|(key, _)| key)
            }
            Tree::Bytes(tree) => {
                let mut end = None;
                let read = &mut |key: Bytes<'_>, _: Bytes<'_>| {
                    end = Some(u64::from_be_bytes(key.to_vec().try_into().unwrap()));
                };
                let is_there = tree.end(smallest, read).unwrap();
                assert_eq!(is_there, end.is_some());
                end
            }
        }
    }

    pub(super) fn pop_first(&self) -> Option<(u64, u64)> {
        loop {
            let popped = match &self.0.tree {
                Tree::Words(tree) => {
                    let entry = tree.first().unwrap()?;
                    (tree.pop(true, entry).unwrap(), entry)
                }
                Tree::Bytes(tree) => {
                    let mut entry = None;
                    let read = &mut |key: Bytes<'_>, value: Bytes<'_>| {
                        entry = Some((key.to_vec(), value.to_vec()));
                    };
                    tree.end(true, read).unwrap();
                    let (key, value) = entry?;
                    let popped = tree.pop(true, &key, &value).unwrap();
                    let number = u64::from_le_bytes(value[..8].try_into().unwrap());
                    (popped, (u64::from_be_bytes(key.try_into().unwrap()), number))
                }
            };
            if let (endura_engine::tree::Popped::Taken, entry) = popped {
                return Some(entry);
            }
        }
    }
}

impl World {
    /// Makes all changes at once.
    pub(super) fn commit(&self, steps: &[Step]) -> Result<()> {
        let bytes: Vec<_> =
            steps.iter().map(|&(_, key, value)| (key.to_be_bytes(), value.map(value_of))).collect();
        let operations: Vec<Operation<'_, Mapped>> = steps
            .iter()
            .zip(&bytes)
            .map(|(&(map, key, value), bytes)| match &self.maps[map].0.tree {
                Tree::Words(tree) => {
                    Operation::Word { tree, key, act: value.map_or(Act::Delete, Act::Put) }
                }
                Tree::Bytes(tree) => {
                    let act = bytes.1.as_deref().map_or(Act::Delete, Act::Put);
                    Operation::Bytes { tree, key: &bytes.0, act, is_same: same_bytes }
                }
            })
            .collect();
        self.pool.commit(&operations)
    }
}
