//! ROART trees with tiny leaf arrays.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::Bound;
use std::sync::Arc;

use endura_engine::space::Space;
use endura_engine::tree::roart::{Techniques, Tree};
use endura_variants::handles::ByteMap;

use super::leak_recovery::Recovery;
use super::maps::{self, mounted, told};
use super::op::MapOp;
use crate::choose::Random;
use crate::sim::Sim;
use crate::subject::{Finding, Subject};

/// An operation of a map of byte strings. A value is a number, written in as many bytes as its last
/// digit says.
pub type ByteOp = MapOp<Vec<u8>>;

fn value(number: u64) -> Vec<u8> {
    let digits = number.to_string().into_bytes();
    digits.repeat(1 + (number % 10) as usize)
}

/// A map of byte strings, as the specification has it.
pub type ByteModel = BTreeMap<Vec<u8>, Vec<u8>>;

/// A ROART tree.
#[derive(Debug, Clone)]
pub struct Roart<T> {
    /// The keys that operations are about, ascending; all are looked up after a crash.
    pub keys: Vec<Vec<u8>>,
    techniques: PhantomData<T>,
}

impl<T> Roart<T> {
    /// A subject about these keys.
    pub fn about<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> Self {
        let mut keys: Vec<Vec<u8>> = keys.into_iter().map(|key| key.as_ref().to_vec()).collect();
        keys.sort();
        Self { keys, techniques: PhantomData }
    }
}

/// An open pool with one tree.
pub struct OpenRoart<T: Techniques> {
    /// Its pool.
    pub space: Arc<Space<Sim>>,
    /// The map.
    pub map: ByteMap<Tree<Sim, T>>,
    /// What is found of what the last crash stranded.
    pub leak_recovery: Recovery,
}

impl<T: Techniques> OpenRoart<T> {
    fn over(medium: Sim, session: u64) -> Result<Self, Finding> {
        let space = mounted(medium, session)?;
        let map = ByteMap::over(told(Tree::open(&space, "t"))?);
        let leak_recovery = Recovery::of(&space, vec![map.index().marking()]);
        Ok(Self { space, map, leak_recovery })
    }
}

impl<T: Techniques> Subject for Roart<T> {
    type Open = OpenRoart<T>;
    type Op = ByteOp;
    type Answer = Option<(Vec<u8>, Vec<u8>)>;
    type Model = ByteModel;

    fn create(&self, medium: Sim) -> Result<Self::Open, Finding> {
        told(Space::format(&medium))?;
        OpenRoart::over(medium, 1)
    }

    fn open(&self, medium: Sim, session: u64) -> Result<Self::Open, Finding> {
        OpenRoart::over(medium, session)
    }

    fn empty(&self) -> ByteModel {
        ByteModel::new()
    }

    fn apply(&self, open: &Self::Open, op: &ByteOp) -> Result<Self::Answer, Finding> {
        open.leak_recovery.around(|| {
            let (key, old) = match op {
                ByteOp::Put(key, number) => (key, told(open.map.insert(key, value(*number)))?),
                ByteOp::Remove(key) => (key, told(open.map.remove(key))?),
                ByteOp::PopFirst => return told(open.map.pop_first()),
                ByteOp::PopLast => return told(open.map.pop_last()),
            };
            Ok(old.map(|old| (key.clone(), old)))
        })
    }

    fn specify(&self, model: &mut ByteModel, op: &ByteOp) -> Self::Answer {
        op.specify(model, value)
    }

    fn observe(&self, open: &Self::Open) -> Result<ByteModel, Finding> {
        let all = (Bound::Unbounded::<Vec<u8>>, Bound::Unbounded);
        let up: Vec<_> = told(open.map.range(all.clone()).collect())?;
        let mut down: Vec<_> = told(open.map.range(all).rev().collect())?;
        down.reverse();
        if up != down || !up.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(format!("up {up:?}, down {down:?}"));
        }
        let found: ByteModel = up.into_iter().collect();
        for key in &self.keys {
            let (one, scanned) = (told(open.map.get(key))?, found.get(key));
            if one.as_ref() != scanned {
                return Err(format!("key {}: get {one:?}, scan {scanned:?}", key.escape_ascii()));
            }
        }
        Ok(found)
    }

    fn verify(&self, open: &Self::Open, model: &ByteModel) -> Result<(), Finding> {
        let check = |visit: &mut dyn FnMut(u64, u64)| Ok(open.map.index().check(visit)?.entries);
        maps::verify(&open.space, &open.leak_recovery, check, model.len())
    }

    fn continuation(&self, model: &ByteModel, random: &mut Random) -> Vec<ByteOp> {
        maps::continuation(&self.keys, model, random, |_| 0)
    }

    fn is_structural(&self, step: &str) -> bool {
        STRUCTURAL.iter().any(|part| step.starts_with(part))
    }

    fn is_volatile(&self, at: u64, line: &[u64; 8]) -> bool {
        is_volatile(at, line)
    }
}

/// How those steps begin in which nodes and arrays are made, replaced or taken out.
pub(super) const STRUCTURAL: &[&str] = &["array.", "node.", "prefix.", "split", "prune"];

/// Locks, and the fingerprints of the smallest array.
pub(super) fn is_volatile(at: u64, line: &[u64; 8]) -> bool {
    let word = at / 8 % 8;
    match line[1] >> 48 {
        0xA47D => word == 0,
        0xA47A => word == 0 || word == 2,
        _ => false,
    }
}
