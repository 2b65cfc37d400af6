//! Maps whose number of entries an unclean end has lost.

use std::time::{Duration, Instant};

use endura::lab::tree::Len;
use endura::{Kind, MapInfo, Pool};

use crate::values::entries::{Entries, OpenMap, on_map};

/// A count that comes no further for so long has ended with an error, which the next operation reports.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of entries, where it is known.
pub(crate) fn exact(len: Len) -> Option<u64> {
    match len {
        Len::Exact(entries) => Some(entries),
        _ => None,
    }
}

/// The number of entries of a map, where it is known.
pub(crate) fn counted(map: &MapInfo) -> Option<u64> {
    map.is_counted.then_some(map.approximate_len as u64)
}

/// Whether the number of entries of some map is not known.
pub(crate) fn has_unknown(pool: &Pool) -> endura::Result<bool> {
    Ok(pool.maps()?.iter().any(|map| !map.is_counted))
}

/// Counts the maps whose number of entries is not known; the next clean close records it. A map of a kind
/// that this build does not know stays as it is.
pub(crate) fn count_unknown(pool: &Pool) -> endura::Result<()> {
    for map in pool.maps()? {
        if !map.is_counted && !has_unknown_nodes(&map) {
            let map = OpenMap::open(pool, &map.name, None)?;
            on_map!(&map, map => count_map(map))?;
        }
    }
    Ok(())
}

/// Whether this build does not know the nodes of a map.
pub(crate) fn has_unknown_nodes(map: &MapInfo) -> bool {
    map.kind == Kind::FastFair && map.layout.is_none()
}

/// Waits for the thread that counts, which pins one leaf at a time.
fn count_map(map: &impl Entries) -> endura::Result<()> {
    let (mut seen, mut since) = (None, Instant::now());
    let mut pause = Duration::from_micros(100);
    loop {
        let len = map.len()?;
        if exact(len).is_some() || since.elapsed() > PATIENCE {
            return Ok(());
        }
        if seen.replace(len) != Some(len) {
            since = Instant::now();
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(5));
    }
}
