//! The maps of the pool: one of each kind, among which the steps are dealt.

use endura::{Error, Kind, Map, MapOptions, Pool};

use super::history::Step;
use super::moment::Entries;

pub(super) struct Maps {
    fast_fair: Map<u64, u64>,
    nbtree: Map<u64, u64>,
    roart: Map<[u8], [u8]>,
}

/// The most that a value in the ROART tree repeats its number.
const REPEATS: u32 = 40;

impl Maps {
    pub(super) fn open(pool: &Pool) -> Result<Self, Error> {
        let kind = |kind| MapOptions::new().kind(kind);
        Ok(Self {
            fast_fair: pool.map_with("fast-fair", kind(Kind::FastFair))?,
            nbtree: pool.map_with("nbtree", kind(Kind::NbTree))?,
            roart: pool.map_with("roart", kind(Kind::Roart))?,
        })
    }

    pub(super) fn insert(&self, step: Step, seen: u32) -> Result<(), Error> {
        let (key, value) = (step.key(), step.value(seen));
        match step.position % 3 {
            0 => self.fast_fair.put(key, value).map(drop),
            1 => self.nbtree.put(key, value).map(drop),
            _ => self.roart.put(&key.to_be_bytes(), &repeated(step, value)).map(drop),
        }
    }

    pub(super) fn remove(&self, step: Step) -> Result<(), Error> {
        let key = step.key();
        match step.position % 3 {
            0 => self.fast_fair.delete(key).map(drop),
            1 => self.nbtree.delete(key).map(drop),
            _ => self.roart.delete(&key.to_be_bytes()).map(drop),
        }
    }

    /// All entries, or what is wrong with one of them.
    pub(super) fn entries(&self) -> Result<Entries, String> {
        let mut all = Entries::default();
        let mut add = |map, key, value| {
            let step = all.add(key, value)?;
            match step.position % 3 == map {
                true => Ok(step),
                false => Err(format!("{step:?} is in another map")),
            }
        };
        for (map, tree) in [(0, &self.fast_fair), (1, &self.nbtree)] {
            for entry in tree {
                let (key, value) = entry.map_err(|error| error.to_string())?;
                add(map, key, value)?;
            }
        }
        for entry in &self.roart {
            let (key, value) = entry.map_err(|error| error.to_string())?;
            let number = |bytes: &[u8]| Some(u64::from_be_bytes(*bytes.first_chunk::<8>()?));
            let (Some(key), Some(first)) = (number(&key), number(&value)) else {
                return Err("an entry of the ROART tree is too short".into());
            };
            let step = add(2, key, first)?;
            if value != repeated(step, first) {
                return Err(format!("{step:?} has a torn value"));
            }
        }
        Ok(all)
    }
}

/// A value of a length that differs from step to step, so that records of many sizes come and go.
fn repeated(step: Step, value: u64) -> Vec<u8> {
    value.to_be_bytes().repeat(1 + (step.position % REPEATS) as usize)
}
