//! A map of any types, in encodings.

use std::ops::Bound;

use endura::dynamic::{DynamicMap, UntypedMap};
use endura::{Error, LONGEST_KEY, LONGEST_VALUE, MapOptions, Pool, Result, Types};

use endura_console::outcome::{self, Failure, tell};
use endura_console::text::printable;

use crate::values::notation::Notation;
use crate::values::types::Type;

/// What the keys and values of a map are.
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

    /// Whether such maps can be made of every kind.
    pub(crate) fn is_words(&self) -> bool {
        self.key.is_word() && self.value.is_word()
    }

    /// Appends a value as people read it.
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

    /// The JSON text of a value; `null` for none.
    pub(crate) fn value_json(&self, value: Option<&Vec<u8>>) -> outcome::Result<String> {
        value.map_or_else(|| Ok("null".into()), |value| json(&self.value, value))
    }

    /// Says which types are shown as bytes, if any are.
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

    /// Fails if a map holds no key or no value as long as these.
    pub(crate) fn check_lengths((key, value): &Entry) -> Result<()> {
        let (len, max) = (key.len() as u64, LONGEST_KEY as u64);
        if len > max {
            return Err(Error::KeyTooLong { len, max });
        }
        let (len, max) = (value.len() as u64, LONGEST_VALUE as u64);
        if len > max { Err(Error::ValueTooLong { len, max }) } else { Ok(()) }
    }
}

/// Appends what [`Type::write`] does; what a map holds against its types is damage, or a program's mistake.
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
    map: UntypedMap,
    pub(crate) schema: Schema,
}

/// A range of one.
pub(crate) type Entries = Box<dyn DoubleEndedIterator<Item = Result<Entry>>>;

impl OpenMap {
    /// The map `name`, whatever it is.
    pub(crate) fn open(pool: &Pool, name: &str) -> Result<Self> {
        let map = DynamicMap::open(pool, name)?;
        Ok(Self { map: map.map().clone(), schema: Schema::of(map.types().clone()) })
    }

    /// The map `name`, which has to be of these types; made if there is none.
    pub(crate) fn open_as(
        pool: &Pool,
        name: &str,
        options: MapOptions,
        schema: &Schema,
    ) -> Result<Self> {
        let (types, schema) = (schema.types.clone(), schema.clone());
        let map = DynamicMap::open_as(pool, name, options, types)?;
        Ok(Self { map: map.map().clone(), schema })
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match &self.map {
            UntypedMap::Words(map) => self.value(map.get(word(key))),
            UntypedMap::Bytes(map) => map.get(key),
        }
    }

    pub(crate) fn insert(&self, (key, value): &Entry) -> Result<Option<Vec<u8>>> {
        match &self.map {
            UntypedMap::Words(map) => self.value(map.insert(word(key), word(value))),
            UntypedMap::Bytes(map) => map.insert(key, value),
        }
    }

    /// Enters `key` if it is absent; gives the value that it has otherwise.
    pub(crate) fn insert_new(&self, (key, value): &Entry) -> Result<Option<Vec<u8>>> {
        match &self.map {
            UntypedMap::Words(map) => {
                let stored = map.compare_exchange(word(key), None, Some(word(value)))?;
                self.value(Ok(stored.err().flatten()))
            }
            UntypedMap::Bytes(map) => {
                Ok(map.compare_exchange(key, None, Some(value))?.err().flatten())
            }
        }
    }

    pub(crate) fn remove(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match &self.map {
            UntypedMap::Words(map) => self.value(map.remove(word(key))),
            UntypedMap::Bytes(map) => map.remove(key),
        }
    }

    /// Puts back what `key` had before a command changed it, because the command could not say so; `failure` is why.
    /// No other process has seen the change: this one has the pool locked.
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

    pub(crate) fn range(&self, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Entries {
        match &self.map {
            UntypedMap::Words(map) => {
                let bound = |bound: Bound<Vec<u8>>| bound.map(|key| word(&key));
                let (key_width, value_width) = self.widths();
                Box::new(map.range((bound(from), bound(to))).map(move |entry| {
                    let (key, value) = entry?;
                    Ok((unfolded(key, key_width), unfolded(value, value_width)))
                }))
            }
            UntypedMap::Bytes(map) => Box::new(map.range((from, to))),
        }
    }

    /// How many entries it has; counted first where an unclean end has lost it.
    pub(crate) fn len(&self) -> Result<usize> {
        match &self.map {
            UntypedMap::Words(map) => map.len(),
            UntypedMap::Bytes(map) => map.len(),
        }
    }

    /// The bytes of a key and of a value, where a word stands for them. What this command cannot name it shows whole.
    fn widths(&self) -> (usize, usize) {
        let width = |kind: &Type| kind.width().unwrap_or(8).min(8);
        (width(&self.schema.key), width(&self.schema.value))
    }

    fn value(&self, found: Result<Option<u64>>) -> Result<Option<Vec<u8>>> {
        Ok(found?.map(|value| unfolded(value, self.widths().1)))
    }
}

fn word(encoded: &[u8]) -> u64 {
    encoded.iter().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

fn unfolded(word: u64, width: usize) -> Vec<u8> {
    word.to_be_bytes()[8 - width..].to_vec()
}
