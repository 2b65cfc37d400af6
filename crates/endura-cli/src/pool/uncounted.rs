//! Maps whose number of entries an unclean end has lost.

use endura::{MapInfo, Pool};

use crate::values::map::OpenMap;

/// The number of entries of a map, if it is known.
pub(crate) fn counted(map: &MapInfo) -> Option<u64> {
    map.is_counted.then_some(map.approximate_len as u64)
}

/// Whether the number of entries of any map is unknown.
pub(crate) fn has_unknown(pool: &Pool) -> endura::Result<bool> {
    Ok(pool.maps()?.iter().any(|map| !map.is_counted))
}

/// Counts the maps whose number of entries is unknown; the next clean close records the numbers. A map of a kind that
/// this build does not know is not counted.
pub(crate) fn count_unknown(pool: &Pool) -> endura::Result<()> {
    for map in pool.maps()? {
        if !map.is_counted && map.is_known {
            OpenMap::open(pool, &map.name)?.len()?;
        }
    }
    Ok(())
}
