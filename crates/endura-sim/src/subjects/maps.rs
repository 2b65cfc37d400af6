//! What all maps from `u64` to `u64` are asked, and what of it maps of byte strings are.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use endura_engine::space::Space;
use endura_engine::tree::{Change, Index, Popped};
use endura_variants::sessions;

use super::leak_recovery::Recovery;
use super::op::{Key, MapOp};
use crate::choose::Random;
use crate::sim::Sim;
use crate::subject::Finding;

pub(super) fn told<T, E: Debug>(result: Result<T, E>) -> Result<T, Finding> {
    result.map_err(|error| format!("{error:?}"))
}

/// Opens the pool on a medium for the `session`-th time.
pub(super) fn mounted(medium: Sim, session: u64) -> Result<Arc<Space<Sim>>, Finding> {
    told(sessions::begin(medium, session, false))
}

/// Gives the entry that it put out.
pub(super) fn apply(index: &impl Index, op: &MapOp) -> Result<Option<(u64, u64)>, Finding> {
    let (key, change) = match *op {
        MapOp::Put(key, value) => (key, Change::Put(value)),
        MapOp::Remove(key) => (key, Change::Remove),
        MapOp::PopFirst => return pop(index, true),
        MapOp::PopLast => return pop(index, false),
    };
    let old = told(index.modify(key, |_| change))?;
    Ok(old.map(|old| (key, old)))
}

/// Nobody else is there: the first attempt succeeds.
fn pop(index: &impl Index, smallest: bool) -> Result<Option<(u64, u64)>, Finding> {
    let entry = if smallest { told(index.first())? } else { told(index.last())? };
    let Some(entry) = entry else { return Ok(None) };
    match told(index.pop(smallest, entry))? {
        Popped::Taken => Ok(Some(entry)),
        other => Err(format!("a pop of {entry:?} without rivals: {other:?}")),
    }
}

fn scan<I: Index>(index: &I, up: bool) -> Result<Vec<(u64, u64)>, Finding> {
    let mut cursor = I::Cursor::default();
    let mut next = Some(if up { 0 } else { u64::MAX });
    let mut entries = Vec::new();
    while let Some(key) = next {
        let at_hand = if up { index.next_up(&mut cursor) } else { index.next_down(&mut cursor) };
        let found = match at_hand.filter(|entry| if up { entry.0 >= key } else { entry.0 <= key }) {
            None if up => told(index.scan_up(&mut cursor, key))?,
            None => told(index.scan_down(&mut cursor, key))?,
            found => found,
        };
        let Some(entry) = found else { break };
        entries.push(entry);
        next = if up { entry.0.checked_add(1) } else { entry.0.checked_sub(1) };
    }
    if !up {
        entries.reverse();
    }
    match entries.is_sorted_by(|a, b| a.0 < b.0) {
        true => Ok(entries),
        false => Err(format!("a scan gives {entries:?}")),
    }
}

/// Reads everything by scans in both directions, and `keys` by lookups one by one and together.
pub(super) fn observe(index: &impl Index, keys: &[u64]) -> Result<BTreeMap<u64, u64>, Finding> {
    let (up, down) = (scan(index, true)?, scan(index, false)?);
    if up != down {
        return Err(format!("up {up:?}, down {down:?}"));
    }
    let found: BTreeMap<u64, u64> = up.into_iter().collect();
    let many = told(index.get_many(keys))?;
    for (&key, many) in keys.iter().zip(many) {
        let one = told(index.get(key))?;
        let scanned = found.get(&key).copied();
        if one != scanned || many != scanned {
            return Err(format!("key {key}: get {one:?}, get_many {many:?}, scan {scanned:?}"));
        }
    }
    Ok(found)
}

/// Checks a tree that should have so many entries, and who owns what: reached by the tree, free,
/// waiting for a grace period; nothing twice, and nothing not at all.
pub(super) fn verify(
    space: &Space<Sim>,
    leak_recovery: &Recovery,
    check: impl FnOnce(&mut dyn FnMut(u64, u64)) -> endura_engine::Result<u64>,
    entries: usize,
) -> Result<(), Finding> {
    let mut nodes = Vec::new();
    let found = told(check(&mut |at, bytes| nodes.push((at, bytes))))?;
    leak_recovery.check(space, &nodes)?;
    match found == entries as u64 {
        true => Ok(()),
        false => Err(format!("the tree says {found} entries, there are {entries}")),
    }
}

/// Removes and puts back, fills and drains: whatever a crash left, a writer comes across it. What is put is
/// new, by so much more than for other keys.
pub(super) fn continuation<K: Key, V>(
    keys: &[K],
    model: &BTreeMap<K, V>,
    random: &mut Random,
    more: impl Fn(&K) -> u64,
) -> Vec<MapOp<K>> {
    let fresh = 1_000 + random.below(1_000);
    let put = |key: &K| MapOp::Put(key.clone(), fresh + more(key));
    let remove = |key: &K| MapOp::Remove(key.clone());
    match random.below(6) {
        0 => keys.iter().map(put).collect(),
        1 => keys.iter().rev().map(put).collect(),
        2 => keys.iter().map(remove).collect(),
        3 => keys.iter().rev().map(remove).collect(),
        4 => model.keys().flat_map(|key| [remove(key), put(key)]).collect(),
        _ => (0..2 * keys.len())
            .map(|_| {
                let key = random.pick(keys);
                if random.one_in(2) { put(key) } else { remove(key) }
            })
            .collect(),
    }
}
