//! An open map: opening and releasing.

use std::ffi::c_char;
use std::sync::Arc;

use endura::dynamic::{DynamicMap, Type, UntypedMap};
use endura::{Kind, MapOptions, Types};

use super::integers::{Form, Integers};
use super::numbers::{Encoded, Numbers};
use crate::failure::{Failure, Outcome, call};
use crate::handles::{MapHandle, Object, PoolHandle, add, hold, release};
use crate::memory::{out, text, text_or_none};
use crate::pool::OpenPool;
use crate::status::{E_CLOSED, E_TYPE, OK, Status};

/// A map that the program has opened.
pub(crate) struct OpenMap {
    pub(crate) map: DynamicMap,
    /// The handle of its pool.
    pub(crate) pool: u64,
    keys: Option<Numbers>,
    values: Option<Numbers>,
}

impl Object for OpenMap {
    const KIND: u64 = 2;
    const NAME: &'static str = "map";
}

impl OpenMap {
    /// The map as one of integers.
    #[inline(always)]
    pub(crate) fn integers(&self) -> Outcome<Integers<'_>> {
        let (Some(keys), Some(values)) = (self.keys, self.values) else {
            return Err(self.without_numbers());
        };
        let form = match self.map.map() {
            UntypedMap::Words(map) => Form::Words(map),
            UntypedMap::Bytes(map) => Form::Bytes(map),
        };
        Ok(Integers { form, keys, values })
    }

    /// Its keys as integers.
    pub(crate) fn key_numbers(&self) -> Outcome<Numbers> {
        self.keys.ok_or_else(|| self.without_numbers())
    }

    /// Its values as integers.
    pub(crate) fn value_numbers(&self) -> Outcome<Numbers> {
        self.values.ok_or_else(|| self.without_numbers())
    }

    /// The encoding of a key.
    pub(crate) fn number_key(&self, number: u64) -> Outcome<Encoded> {
        let keys = self.key_numbers()?;
        Ok(keys.encoded(keys.word(number)?))
    }

    /// The encoding of a value.
    pub(crate) fn number_value(&self, number: u64) -> Outcome<Encoded> {
        let values = self.value_numbers()?;
        Ok(values.encoded(values.word(number)?))
    }

    #[cold]
    fn without_numbers(&self) -> Failure {
        let Types { key, value } = self.map.types();
        let text = format!(
            "the map `{}` has keys `{key}` and values `{value}`, which are not both integers of at most 64 bits: use the \
             functions that take slices",
            self.map.name()
        );
        Failure::new(E_TYPE, text)
    }
}

/// A name of a type that the library knows. Another one would be recorded for ever.
fn known<'a>(name: &'a str, side: &str) -> Outcome<&'a str> {
    match Type::named(name) {
        Type::Unknown(_) => Err(Failure::argument(format!(
            "`{name}` is no type of a {side}: use u8 to u128, i8 to i128, f32, f64, bool, char, (), str, [u8], [u8; N], \
             Option<T>, Reverse<T>, (A, B) or json"
        ))),
        _ => Ok(name),
    }
}

/// Opens a map, and creates it if its types are given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_map_open(
    pool: PoolHandle,
    name: *const c_char,
    key: *const c_char,
    value: *const c_char,
    kind: *const c_char,
    map: *mut MapHandle,
) -> Status {
    call(|| {
        let handle = out(map, "map")?;
        *handle = MapHandle::NONE;
        let (own, name) = (hold::<OpenPool>(pool.id)?, text(name, "name")?);
        let types = (text_or_none(key, "key")?, text_or_none(value, "value")?);
        let kind = text_or_none(kind, "kind")?;
        let kind = kind.map(|kind| kind.parse::<Kind>().map_err(Failure::argument)).transpose()?;
        let map = match types {
            (None, None) => DynamicMap::open(&own.pool, name)?,
            (Some(key), Some(value)) => {
                let types =
                    Types { key: known(key, "key")?.into(), value: known(value, "value")?.into() };
                let options = MapOptions::new();
                let options = kind.into_iter().fold(options, MapOptions::kind);
                DynamicMap::open_as(&own.pool, name, options, types)?
            }
            _ => {
                let text = "one of the types `key` and `value` is NULL: give both, or none to open a map as it is";
                return Err(Failure::argument(text));
            }
        };
        let (keys, values) = (Numbers::of(map.key_type()), Numbers::of(map.value_type()));
        let opened = Arc::new(OpenMap { map, pool: pool.id, keys, values });
        handle.id = add(opened, pool.id)?;
        Ok(OK)
    })
}

/// Releases a map's handle. The map stays.
#[unsafe(no_mangle)]
pub extern "C" fn endura_map_release(map: MapHandle) -> Status {
    call(|| {
        if map != MapHandle::NONE {
            drop(hold::<OpenMap>(map.id)?);
            if !release(map.id) {
                return Err(Failure::new(E_CLOSED, "another thread has released the map"));
            }
        }
        Ok(OK)
    })
}
