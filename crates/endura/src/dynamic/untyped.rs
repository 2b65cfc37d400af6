//! The two maps below a [`DynamicMap`](super::DynamicMap), which check nothing.

use super::form::Form;
use super::types::Type;
use crate::index::Tree;
use crate::map::handle::Handle;
use crate::map::{Map, MapOptions, check_names};
use crate::pool::pool::Pool;
use crate::types::Types;
use crate::{Error, Result};

/// A map of any types, whose keys and values are passed as they are stored ([`Value::encode`](crate::Value::encode)).
/// It does not check that they are encodings of the map's types.
pub type UntypedMap = Form<Map<u64, u64>, Map<[u8], [u8]>>;

/// Opens the map `name` with the types that it has, and returns these as well. A map of words whose types are known to
/// have other encodings is damaged.
pub(super) fn open(pool: &Pool, name: &str) -> Result<(UntypedMap, Types)> {
    let Some(map) = pool.space().find_map(name)? else {
        return Err(Error::NoSuchMap { name: name.to_owned() });
    };
    let types = map.types().clone();
    let may_be_words = [&types.key, &types.value].into_iter().all(|name| {
        let found = Type::named(name);
        found.is_word() || matches!(found, Type::Unknown(_))
    });
    let handle = pool.open_map(name, MapOptions::new().create(false), types, may_be_words)?;
    let types = handle.types.clone();
    Ok((UntypedMap::over(handle), types))
}

/// Opens the map `name` with these types, or creates it. `are_words`: all encodings of its keys have one length of at
/// most 8 bytes, and so have those of its values.
pub(super) fn open_as(
    pool: &Pool,
    name: &str,
    options: MapOptions,
    types: Types,
    are_words: bool,
) -> Result<UntypedMap> {
    check_names(&types)?;
    pool.open_map(name, options, types, are_words).map(UntypedMap::over)
}

impl UntypedMap {
    fn over(handle: Handle) -> Self {
        match handle.tree {
            Tree::Bytes(_) => Self::Bytes(Map::new(handle)),
            Tree::Words(_) => Self::Words(Map::new(handle)),
        }
    }
}
