//! Verification of everything in a pool, used by `Pool::verify`, the command and the tests.

use crate::index::{replay, table};
use crate::kind::Kind;
use crate::media::Media;
use crate::space::{Counted, Shares, Space};
use crate::tree::Repairs;
use crate::{Error, Result};

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Every map, by name.
    pub maps: Vec<MapReport>,
    /// How the bytes of the pages are divided among maps, free space and retired memory.
    pub shares: Shares,
}

impl Report {
    /// Incomplete changes, in all maps, that later writers will repair.
    pub fn repairs_pending(&self) -> u64 {
        self.maps.iter().map(|map| map.repairs.total()).sum()
    }
}

/// The result of a verification for one map.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapReport {
    /// The map's name.
    pub name: String,
    /// The kind of its index.
    pub kind: Kind,
    /// Entries, counted one by one.
    pub entries: u64,
    /// Nodes of all levels.
    pub nodes: u64,
    /// Levels of the index.
    pub height: u64,
    /// Incomplete changes that an interrupted session left. Readers handle them, and the next writer that locks the
    /// node repairs them.
    pub repairs: Repairs,
}

/// Checks all maps of a pool. Writers wait meanwhile.
pub(crate) fn verify<M: Media>(space: &Space<M>) -> Result<Report> {
    let quiesced = space.quiesce()?;
    let guard = space.pin()?;
    let mut maps = Vec::new();
    let mut chunks = Vec::new();
    for (name, map) in space.named_maps()? {
        let structure = table::of(&map)?;
        let found = structure.check(&guard, &map, &mut |at, bytes| chunks.push((at, bytes)))?;
        if map.counted() == Counted::All && map.sum() != found.entries {
            let what = "a recorded number of entries that is not the true one";
            return Err(Error::Corrupt { offset: map.entry(), what });
        }
        maps.push(MapReport {
            name,
            kind: structure.kind(),
            entries: found.entries,
            nodes: found.nodes,
            height: found.height,
            repairs: found.repairs,
        });
    }
    // Of a session that writes, all changes are applied.
    let unfinished = replay::chunks(space.media())?;
    if !unfinished.is_empty() {
        chunks.extend(unfinished);
        // A record that was linked already is in both.
        chunks.sort_unstable();
        chunks.dedup();
    }
    let mut check = quiesced.check()?;
    chunks.into_iter().try_for_each(|(at, bytes)| check.reach(at, bytes))?;
    for map in space.dropped_maps() {
        let (mut inventory, mut waited) = (table::of(&map)?.inventory(), Ok(()));
        let mut wait = |at, bytes| {
            if waited.is_ok() {
                waited = check.wait(at, bytes);
            }
            // The walk stops at the first damage.
            waited.is_ok()
        };
        while !inventory(space.media(), &map, &mut wait, usize::MAX)? {}
        waited?;
    }
    Ok(Report { maps, shares: check.finish()? })
}
