//! [`DynamicMap`]: how it is opened, and how it checks its input.

use std::fmt;
use std::sync::Arc;

use endura_engine::index::Entries;
use endura_engine::{Kind, Types};

use super::form::{Argument, WordWidth, in_form};
use super::types::Type;
use super::untyped::{self, UntypedMap};
use crate::map::MapOptions;
use crate::pool::Pool;
use crate::{BoxError, Error, Result};

/// A map whose types are known only at run time. It has the operations of a [`Map`](crate::Map), with the same
/// guarantees, complexity and errors. Keys and values are passed as they are stored.
///
/// Each method checks the keys and values that it gets ([`Type::check`]). If one is not an encoding of the map's types,
/// the method fails with [`Error::Encode`] and changes nothing, except that [`extend`](Self::extend) has inserted the
/// entries before it. Handles are cheap to clone, and any number of threads may use them.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
/// use endura::dynamic::{Datum, DynamicMap};
///
/// pool.map::<str, u32>("births")?.insert("ada", 1815)?;
/// let births = DynamicMap::open(&pool, "births")?;
/// let year = births.get(b"ada")?.expect("a birth");
/// assert_eq!(births.value_type().decode(&year)?, Datum::Unsigned(1815));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DynamicMap {
    pub(super) map: UntypedMap,
    pub(super) key: Conversion,
    pub(super) value: Conversion,
    schema: Arc<Schema>,
}

struct Schema {
    types: Types,
    key: Type,
    value: Type,
}

/// How the keys, or the values, of a map are checked and converted to words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conversion {
    /// The number of bytes of an encoding, if all encodings have the same length.
    width: Option<usize>,
    /// Whether every byte string of that length is an encoding. Where lengths differ, whether every byte string is one.
    is_any_bytes: bool,
    /// Whether the encodings are all texts, that is whether the type is `str`.
    is_text: bool,
    /// The number of bytes of the encoding that a word represents.
    word_width: usize,
}

impl Conversion {
    fn of(kind: &Type, are_words: bool) -> Self {
        // In a map of words, a type that this build does not know has encodings of 8 bytes.
        let width = kind.width().or(are_words.then_some(8));
        let word_width = width.unwrap_or(8).min(8);
        let is_text = *kind == Type::Str;
        Self { width, is_any_bytes: kind.is_any_bytes(), is_text, word_width }
    }

    /// The number of bytes of the encoding that a word represents.
    #[inline]
    pub(super) fn word_width(self) -> WordWidth {
        WordWidth(self.word_width)
    }

    /// Whether these bytes are an encoding, for the types for which this is quick to find out. If `false`, the caller
    /// has to check them in full.
    #[inline]
    fn is_good(self, encoded: &[u8]) -> bool {
        if self.is_any_bytes {
            return self.width.is_none_or(|width| width == encoded.len());
        }
        self.is_text && str::from_utf8(encoded).is_ok()
    }
}

impl DynamicMap {
    /// Opens the map `name` with the types that the pool records for it.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchMap`], and those of [`Pool::map_with`] except [`Error::WrongTypes`].
    pub fn open(pool: &Pool, name: &str) -> Result<Self> {
        let (map, types) = untyped::open(pool, name)?;
        Ok(Self::over(map, types))
    }

    /// Opens the map `name`, which must have these types; creates it if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`Pool::map_with`].
    pub fn open_as(pool: &Pool, name: &str, options: MapOptions, types: Types) -> Result<Self> {
        let is_word = |name: &str| Type::named(name).is_word();
        let entries = Entries::of(is_word(&types.key), is_word(&types.value));
        let map = untyped::open_as(pool, name, options, types.clone(), entries)?;
        Ok(Self::over(map, types))
    }

    fn over(map: UntypedMap, types: Types) -> Self {
        let (key, value) = (Type::named(&types.key), Type::named(&types.value));
        let are_words = matches!(map, UntypedMap::Words(_));
        let sides = (Conversion::of(&key, are_words), Conversion::of(&value, are_words));
        let schema = Arc::new(Schema { types, key, value });
        Self { map, key: sides.0, value: sides.1, schema }
    }

    /// The map below this one, which checks nothing. It is for callers that have words, or bytes that they know to be
    /// valid.
    pub fn map(&self) -> &UntypedMap {
        &self.map
    }

    /// The name by which the map was opened.
    pub fn name(&self) -> &str {
        in_form!(&self.map, map => map.name())
    }

    /// The kind of the map's index.
    pub fn kind(&self) -> Kind {
        in_form!(&self.map, map => map.kind())
    }

    /// The types of the map, by name.
    pub fn types(&self) -> &Types {
        &self.schema.types
    }

    /// The type of the keys.
    pub fn key_type(&self) -> &Type {
        &self.schema.key
    }

    /// The type of the values.
    pub fn value_type(&self) -> &Type {
        &self.schema.value
    }

    /// Checks that `key` is an encoding of the key type, and returns it.
    #[inline]
    pub(super) fn checked_key<'k>(&self, key: &'k [u8]) -> Result<&'k [u8]> {
        match self.key.is_good(key) {
            true => Ok(key),
            false => check(&self.schema.key, self.key, key),
        }
    }

    /// Checks that `value` is an encoding of the value type, and returns it.
    #[inline]
    pub(super) fn checked_value<'v>(&self, value: &'v [u8]) -> Result<&'v [u8]> {
        match self.value.is_good(value) {
            true => Ok(value),
            false => check(&self.schema.value, self.value, value),
        }
    }

    /// Checks `key`, and converts it to an argument of the map below.
    #[inline]
    pub(super) fn key<'k, A: Argument<'k>>(&self, key: &'k [u8]) -> Result<A> {
        self.checked_key(key).map(A::of)
    }

    /// Checks `value`, and converts it to an argument of the map below.
    #[inline]
    pub(super) fn value<'v, A: Argument<'v>>(&self, value: &'v [u8]) -> Result<A> {
        self.checked_value(value).map(A::of)
    }
}

/// The check in full: returns the bytes if they are an encoding of the type `kind`.
#[inline(never)]
fn check<'b>(kind: &Type, side: Conversion, bytes: &'b [u8]) -> Result<&'b [u8]> {
    if let Some(width) = side.width.filter(|&width| width != bytes.len()) {
        let source = BoxError::from(format!("{} bytes in place of {width}", bytes.len()));
        return Err(Error::Encode { type_name: kind.to_string(), source });
    }
    kind.check(bytes).map(|()| bytes)
}

impl fmt::Debug for DynamicMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Types { key, value } = self.types();
        let mut map = f.debug_struct("DynamicMap");
        map.field("name", &self.name()).field("kind", &self.kind());
        map.field("key", &format_args!("{key}")).field("value", &format_args!("{value}")).finish()
    }
}
