//! A map of any types, with encoded keys and values.

use std::ops::Bound;

use endura::dynamic::{DynamicMap, Encoding, Type};
use endura::{Error, LONGEST_KEY, LONGEST_VALUE, MapOptions, Pool, Result, Types};

use endura_console::outcome::{self, Failure, tell};
use endura_console::text::printable;

use crate::values::notation::{Notation, Written};

/// The types of the keys and values of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schema {
    pub(crate) types: Types,
    pub(crate) key: Type,
    pub(crate) value: Type,
}

impl Schema {
    pub(crate) fn of(types: Types) -> Self {
        let (key, value) = (Type::named(&types.key), Type::named(&types.value));
        Self { types, key, value }
    }

    /// Appends a value as text for people.
    pub(crate) fn write_value(
        &self,
        notation: Notation,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> outcome::Result<()> {
        write(&self.value, notation, value, out)
    }

    /// The JSON text of a key.
    pub(crate) fn key_json(&self, key: &[u8]) -> outcome::Result<String> {
        json(&self.key, key)
    }

    /// The JSON text of a value; `null` if there is none.
    pub(crate) fn value_json(&self, value: Option<&Vec<u8>>) -> outcome::Result<String> {
        value.map_or_else(|| Ok("null".into()), |value| json(&self.value, value))
    }

    /// Reports the types that are shown as bytes, if there are any.
    pub(crate) fn tell_unknown(&self) {
        for (kind, what) in [(&self.key, "keys"), (&self.value, "values")] {
            if let Type::Unknown(name) = kind {
                let name = printable(name, false);
                tell(format_args!(
                    "endura: the {what} are `{name}`, which only its program can read: bytes follow"
                ));
            }
        }
    }

    /// Fails if no map can hold a key or a value of this length.
    pub(crate) fn check_lengths((key, value): &Entry) -> Result<()> {
        let (len, max) = (key.len() as u64, LONGEST_KEY as u64);
        if len > max {
            return Err(Error::KeyTooLong { len, max });
        }
        let (len, max) = (value.len() as u64, LONGEST_VALUE as u64);
        if len > max { Err(Error::ValueTooLong { len, max }) } else { Ok(()) }
    }
}

/// Appends the result of [`Type::write`]. An encoding that does not fit the map's type means damage, or a program's
/// mistake.
pub(crate) fn write(
    kind: &Type,
    notation: Notation,
    encoded: &[u8],
    out: &mut Vec<u8>,
) -> outcome::Result<()> {
    let written = kind.write(notation, encoded, out);
    written.map_err(|what| {
        let text = format!("an entry is none of the map's types: {what}");
        let code = Error::Decode { type_name: String::new(), source: what.into() }.code();
        Failure::Pool { code, text }
    })
}

fn json(kind: &Type, encoded: &[u8]) -> outcome::Result<String> {
    let mut text = Vec::new();
    write(kind, Notation::Json, encoded, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// A key and a value as they are stored.
pub(crate) type Entry = (Vec<u8>, Vec<u8>);

/// An open map.
pub(crate) struct OpenMap {
    map: DynamicMap,
    pub(crate) schema: Schema,
}

impl OpenMap {
    /// Opens the map `name`, whatever its types.
    pub(crate) fn open(pool: &Pool, name: &str) -> Result<Self> {
        DynamicMap::open(pool, name).map(Self::over)
    }

    /// Opens the map `name`, which must have these types; creates it if there is none.
    pub(crate) fn open_as(
        pool: &Pool,
        name: &str,
        options: MapOptions,
        schema: &Schema,
    ) -> Result<Self> {
        DynamicMap::open_as(pool, name, options, schema.types.clone()).map(Self::over)
    }

    fn over(map: DynamicMap) -> Self {
        let schema = Schema::of(map.types().clone());
        Self { map, schema }
    }

    /// The map, for a batch.
    pub(crate) fn dynamic(&self) -> &DynamicMap {
        &self.map
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.map.get(key).map(bytes)
    }

    pub(crate) fn insert(&self, (key, value): &Entry) -> Result<Option<Vec<u8>>> {
        self.map.insert(key, value).map(bytes)
    }

    /// Inserts `key` if it is absent; otherwise returns its value.
    pub(crate) fn insert_new(&self, (key, value): &Entry) -> Result<Option<Vec<u8>>> {
        Ok(self.map.compare_exchange(key, None, Some(value))?.err().and_then(bytes))
    }

    pub(crate) fn remove(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.map.remove(key).map(bytes)
    }

    /// Restores what `key` had before a command changed it, because the command could not report the change; `failure`
    /// is the reason. No other process has seen the change, because this one has the pool locked.
    pub(crate) fn taken_back(
        &self,
        key: &[u8],
        previous: Option<Vec<u8>>,
        failure: Failure,
    ) -> Failure {
        let restored = match previous {
            Some(value) => self.insert(&(key.to_vec(), value)),
            None => self.remove(key),
        };
        match restored {
            Ok(_) => failure,
            Err(error) => {
                failure.noted(format!("the change is done, and could not be undone: {error}"))
            }
        }
    }

    pub(crate) fn range(
        &self,
        from: &Bound<Vec<u8>>,
        to: &Bound<Vec<u8>>,
    ) -> impl DoubleEndedIterator<Item = Result<Entry>> + use<> {
        let bound = |bound| Bound::map(Bound::as_ref(bound), Vec::as_slice);
        let range = self.map.range(bound(from), bound(to));
        range.map(|entry| entry.map(|(key, value)| (key.into(), value.into())))
    }

    /// The name by which the map was opened.
    pub(crate) fn name(&self) -> &str {
        self.map.name()
    }

    /// The number of entries that a pass over all of them finds.
    pub(crate) fn count_one_by_one(&self) -> Result<u64> {
        let mut keys = self.map.range(Bound::Unbounded, Bound::Unbounded).keys();
        keys.try_fold(0, |found, key| key.map(|_| found + 1))
    }

    /// Fails if another number of entries is recorded.
    pub(crate) fn check_len(&self, found: u64) -> Result<()> {
        self.map.check_len(found)
    }

    /// The number of entries. If an unclean end has lost the number, the entries are counted first.
    pub(crate) fn len(&self) -> Result<usize> {
        self.map.len()
    }
}

fn bytes(found: Option<Encoding>) -> Option<Vec<u8>> {
    found.map(Vec::from)
}
