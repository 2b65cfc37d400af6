//! A map of any types: how it is opened, and how its input is checked.

use std::fmt;
use std::sync::Arc;

use super::form::{Argument, WordWidth, in_form};
use super::types::Type;
use super::untyped::{self, UntypedMap};
use crate::kind::Kind;
use crate::map::MapOptions;
use crate::pool::Pool;
use crate::types::Types;
use crate::{BoxError, Error, Result};

/// A map whose types are known only at run time. It has the operations of a [`Map`](crate::Map), with its promises, its
/// complexity and its errors, for keys and values as they are stored.
///
/// Each method checks its arguments ([`Type::check`]). It fails with [`Error::Encode`] if one is not an encoding of the
/// map's types, and then changes nothing. Handles are cheap to clone, and any number of threads may use them.
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

/// How keys, or values, are checked and converted to words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conversion {
    /// Bytes of an encoding, if all encodings have the same length.
    width: Option<usize>,
    /// Whether any bytes of that length are an encoding.
    is_any_bytes: bool,
    /// Whether the encodings are all texts.
    is_text: bool,
    /// Bytes of the encoding that a word represents.
    word_width: usize,
}

impl Conversion {
    fn of(kind: &Type, are_words: bool) -> Self {
        // For a type unknown to this build, the encoding has all 8 bytes of the word.
        let width = kind.width().or(are_words.then_some(8));
        let word_width = width.unwrap_or(8).min(8);
        let is_text = *kind == Type::Str;
        Self { width, is_any_bytes: kind.is_any_bytes(), is_text, word_width }
    }

    /// Bytes of the encoding that a word represents.
    #[inline]
    pub(super) fn word_width(self) -> WordWidth {
        WordWidth(self.word_width)
    }

    /// Whether these bytes are an encoding, of the types for which that is quickly said. `false` says nothing.
    #[inline]
    fn is_good(self, encoded: &[u8]) -> bool {
        if self.is_any_bytes {
            return self.width.is_none_or(|width| width == encoded.len());
        }
        self.is_text && str::from_utf8(encoded).is_ok()
    }
}

impl DynamicMap {
    /// Opens the map `name` with the types that it has.
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
        let are_words = [&types.key, &types.value].map(|name| Type::named(name).is_word());
        let map = untyped::open_as(pool, name, options, types.clone(), are_words == [true; 2])?;
        Ok(Self::over(map, types))
    }

    fn over(map: UntypedMap, types: Types) -> Self {
        let (key, value) = (Type::named(&types.key), Type::named(&types.value));
        let are_words = matches!(map, UntypedMap::Words(_));
        let sides = (Conversion::of(&key, are_words), Conversion::of(&value, are_words));
        let schema = Arc::new(Schema { types, key, value });
        Self { map, key: sides.0, value: sides.1, schema }
    }

    /// The map below, which checks nothing: for callers that have words, or bytes that they know to be valid.
    pub fn map(&self) -> &UntypedMap {
        &self.map
    }

    /// The name it was opened by.
    pub fn name(&self) -> &str {
        in_form!(&self.map, map => map.name())
    }

    /// The kind of its index.
    pub fn kind(&self) -> Kind {
        in_form!(&self.map, map => map.kind())
    }

    /// Its types, by name.
    pub fn types(&self) -> &Types {
        &self.schema.types
    }

    /// The type of its keys.
    pub fn key_type(&self) -> &Type {
        &self.schema.key
    }

    /// The type of its values.
    pub fn value_type(&self) -> &Type {
        &self.schema.value
    }

    /// The key, if it is an encoding of the key type.
    #[inline]
    fn checked_key<'k>(&self, key: &'k [u8]) -> Result<&'k [u8]> {
        match self.key.is_good(key) {
            true => Ok(key),
            false => check(&self.schema.key, self.key, key),
        }
    }

    /// The value, if it is an encoding of the value type.
    #[inline]
    pub(super) fn checked_value<'v>(&self, value: &'v [u8]) -> Result<&'v [u8]> {
        match self.value.is_good(value) {
            true => Ok(value),
            false => check(&self.schema.value, self.value, value),
        }
    }

    /// The key as the map below takes it, if it is an encoding of the key type.
    #[inline]
    pub(super) fn key<'k, A: Argument<'k>>(&self, key: &'k [u8]) -> Result<A> {
        self.checked_key(key).map(A::of)
    }

    /// The value as the map below takes it, if it is an encoding of the value type.
    #[inline]
    pub(super) fn value<'v, A: Argument<'v>>(&self, value: &'v [u8]) -> Result<A> {
        self.checked_value(value).map(A::of)
    }
}

/// The bytes, if they are an encoding of this type.
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
