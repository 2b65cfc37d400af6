//! The maps of the pool: one of each kind, and of each way in which a kind holds entries, among which the steps are dealt.

use endura::{Error, Kind, Map, MapOptions, Pool};

use super::history::Step;
use super::moment::Entries;

pub(super) struct Maps {
    fast_fair: Map<u64, u64>,
    nbtree: Map<u64, u64>,
    roart: Map<[u8], [u8]>,
    records: Map<u64, [u8]>,
    strings: Map<[u8], [u8]>,
    blocks: Map<[u8], [u8]>,
    block_records: Map<u64, [u8]>,
}

/// The number of maps.
const MAPS: u32 = 7;
/// The most that a value in a record repeats its number.
const REPEATS: u32 = 40;

impl Maps {
    pub(super) fn open(pool: &Pool) -> Result<Self, Error> {
        let kind = |kind| MapOptions::new().kind(kind);
        Ok(Self {
            fast_fair: pool.map_with("fast-fair", kind(Kind::FastFair))?,
            nbtree: pool.map_with("nbtree", kind(Kind::NbTree))?,
            roart: pool.map_with("roart", kind(Kind::Roart))?,
            records: pool.map_with("records", kind(Kind::FastFair))?,
            strings: pool.map_with("strings", kind(Kind::FastFair))?,
            blocks: pool.map_with("blocks", kind(Kind::NbTree))?,
            block_records: pool.map_with("block-records", kind(Kind::NbTree))?,
        })
    }

    pub(super) fn insert(&self, step: Step, seen: u32) -> Result<(), Error> {
        let (key, value) = (step.key(), step.value(seen));
        match step.position % MAPS {
            0 => self.fast_fair.put(key, value).map(drop),
            1 => self.nbtree.put(key, value).map(drop),
            2 => self.roart.put(&key.to_be_bytes(), &repeated(step, value)).map(drop),
            3 => self.records.put(key, &repeated(step, value)).map(drop),
            4 => self.strings.put(&key.to_be_bytes(), &repeated(step, value)).map(drop),
            5 => self.blocks.put(&key.to_be_bytes(), &repeated(step, value)).map(drop),
            _ => self.block_records.put(key, &repeated(step, value)).map(drop),
        }
    }

    pub(super) fn remove(&self, step: Step) -> Result<(), Error> {
        let key = step.key();
        match step.position % MAPS {
            0 => self.fast_fair.delete(key).map(drop),
            1 => self.nbtree.delete(key).map(drop),
            2 => self.roart.delete(&key.to_be_bytes()).map(drop),
            3 => self.records.delete(key).map(drop),
            4 => self.strings.delete(&key.to_be_bytes()).map(drop),
            5 => self.blocks.delete(&key.to_be_bytes()).map(drop),
            _ => self.block_records.delete(key).map(drop),
        }
    }

    /// All entries, or what is wrong with one of them.
    pub(super) fn entries(&self) -> Result<Entries, String> {
        let mut all = Entries::default();
        let mut add = |map, key, value| {
            let step = all.add(key, value)?;
            match step.position % MAPS == map {
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
        let number = |bytes: &[u8]| Some(u64::from_be_bytes(*bytes.first_chunk::<8>()?));
        let mut add_record = |map, key, value: Vec<u8>| {
            let (Some(key), Some(first)) = (key, number(&value)) else {
                return Err("an entry is too short".to_owned());
            };
            let step = add(map, key, first)?;
            match value == repeated(step, first) {
                true => Ok(()),
                false => Err(format!("{step:?} has a torn value")),
            }
        };
        for (map, tree) in [(2, &self.roart), (4, &self.strings), (5, &self.blocks)] {
            for entry in tree {
                let (key, value) = entry.map_err(|error| error.to_string())?;
                add_record(map, number(&key), value)?;
            }
        }
        for (map, tree) in [(3, &self.records), (6, &self.block_records)] {
            for entry in tree {
                let (key, value) = entry.map_err(|error| error.to_string())?;
                add_record(map, Some(key), value)?;
            }
        }
        Ok(all)
    }
}

/// A value of a length that differs from step to step, so that records of many sizes come and go.
fn repeated(step: Step, value: u64) -> Vec<u8> {
    value.to_be_bytes().repeat(1 + (step.position % REPEATS) as usize)
}
