//! The numbers of entries of maps: recorded ones, those that an unclean end has lost, and their comparison with what a
//! pass over a map finds.

use endura::{MapInfo, Pool};
use endura_console::outcome::{Failure, Result};
use endura_console::text::{grouped, printable};

use crate::values::map::OpenMap;

/// Fails if a pass over the whole map has found another number of entries than is recorded. `left` says what the command
/// has done until then.
pub(crate) fn check_len(map: &OpenMap, found: u64, left: &str) -> Result<()> {
    map.check_len(found).map_err(|error| {
        let recorded = map.len().map_or_else(|_| "the".into(), |len| grouped(len as u64));
        let (name, found) = (printable(map.name(), false), grouped(found));
        Failure::from(error)
            .noted(format!("{name}: {found} of {recorded} entries were found; {left}"))
    })
}

/// Reads all maps, and fails as [`check_len`] does. Maps of a kind that this build does not know are left out.
pub(crate) fn check_all(pool: &Pool, left: &str) -> Result<()> {
    for map in pool.maps()?.into_iter().filter(|map| map.is_known) {
        let map = OpenMap::open(pool, &map.name)?;
        check_len(&map, map.count_one_by_one()?, left)?;
    }
    Ok(())
}

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
