//! [`UntypedMap`]: the map below a [`DynamicMap`](super::DynamicMap), which checks nothing.

use endura_engine::Types;
use endura_engine::index::{Entries, Tree};
use endura_engine::session::Handle;

use super::form::Form;
use super::types::Type;
use crate::map::{Map, MapOptions, check_names};
use crate::pool::pool::Pool;
use crate::{Error, Result};

/// A map of any types, whose keys and values are passed as they are stored ([`Value::encode`](crate::Value::encode)).
/// The map does not check that they are encodings of its types.
pub type UntypedMap = Form<Map<u64, u64>, Map<[u8], [u8]>>;

/// Opens the map `name` with the types that the pool records for it, and returns the map and these types. If it is a
/// map of words, and one of the types is known not to be stored as words, the map is damaged.
pub(super) fn open(pool: &Pool, name: &str) -> Result<(UntypedMap, Types)> {
    let Some(map) = pool.session().map_info(name)? else {
        return Err(Error::NoSuchMap { name: name.to_owned() });
    };
    let types = map.types;
    let may_be_words = |name: &str| {
        let found = Type::named(name);
        found.is_word() || matches!(found, Type::Unknown(_))
    };
    let entries = Entries::of(may_be_words(&types.key), may_be_words(&types.value));
    let handle = pool.open_map(name, MapOptions::new().create(false), types, entries)?;
    let types = handle.types.clone();
    Ok((UntypedMap::over(handle), types))
}

/// Opens the map `name` with these types, which have such encodings, or creates it.
pub(super) fn open_as(
    pool: &Pool,
    name: &str,
    options: MapOptions,
    types: Types,
    entries: Entries,
) -> Result<UntypedMap> {
    check_names(&types)?;
    pool.open_map(name, options, types, entries).map(UntypedMap::over)
}

impl UntypedMap {
    fn over(handle: Handle) -> Self {
        match handle.tree {
            Tree::Bytes(_) => Self::Bytes(Map::new(handle)),
            Tree::Words(_) => Self::Words(Map::new(handle)),
        }
    }
}
