//! Verification of everything in a pool, shared by [`Pool::verify`](crate::Pool::verify), the
//! command and the tests.

use crate::media::Media;
use crate::pool::Space;
use crate::store::{MapInfo, survey};
use crate::tree::Len;
use crate::tree::fast_fair::Repairs;
use crate::{Error, Result};

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Every map, by name.
    pub maps: Vec<MapReport>,
    /// Bytes that the nodes of all maps use.
    pub reachable_bytes: u64,
}

impl Report {
    /// States that the next writers mend, in all maps.
    pub fn repairs_pending(&self) -> u64 {
        self.maps.iter().map(|map| map.repairs.total()).sum()
    }
}

/// What a verification found in one map.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapReport {
    /// Its name.
    pub name: String,
    /// The index that it is.
    pub kind: &'static str,
    /// Entries, counted one by one.
    pub entries: u64,
    /// Nodes of all levels.
    pub nodes: u64,
    /// Levels.
    pub height: u64,
    /// States that an interrupted session left. They are read correctly as they are, and the next
    /// writer that locks the node mends them.
    pub repairs: Repairs,
}

/// Checks all maps of a pool, with writers kept out.
pub(crate) fn verify<M: Media>(space: &Space<M>) -> Result<Report> {
    let _quiesced = space.quiesce()?;
    let guard = space.pin()?;
    let mut report = Report { maps: Vec::new(), reachable_bytes: 0 };
    let mut chunks = Vec::new();
    for map in space.maps()? {
        let found = survey(&guard, &map, &mut |at, bytes| chunks.push((at, bytes)))?;
        let info = MapInfo::of(&map);
        if let Len::Exact(len) = info.len
            && len != found.entries
        {
            let what = "a recorded number of entries that is not the true one";
            return Err(Error::Corrupt { offset: map.entry(), what });
        }
        report.maps.push(MapReport {
            name: info.name,
            kind: info.kind,
            entries: found.entries,
            nodes: found.nodes,
            height: found.height,
            repairs: found.repairs,
        });
    }
    chunks.sort_unstable();
    for pair in chunks.windows(2) {
        if pair[0].0 + pair[0].1 > pair[1].0 {
            return Err(Error::Corrupt { offset: pair[1].0, what: "a node inside another one" });
        }
    }
    report.reachable_bytes = chunks.iter().map(|chunk| chunk.1).sum();
    Ok(report)
}
