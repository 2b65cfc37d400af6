//! Batches and transactions of [`DynamicMap`]s.

use std::sync::Arc;

use endura_engine::index::commit::{Act, same_bytes};
use endura_engine::session::Handle;

use super::encoding::{Encoding, word};
use super::form::{Form, in_form};
use super::map::DynamicMap;
use crate::Result;
use crate::batch::{Batch, Encoded, Stored, Transaction};
use crate::map::shared;

impl DynamicMap {
    fn shared(&self) -> &Arc<Handle> {
        in_form!(&self.map, map => shared(map))
    }

    /// Encoded bytes, as the map stores them.
    fn stored<'e>(&self, encoded: &'e [u8]) -> Encoded<'e> {
        match &self.map {
            Form::Words(_) => Encoded::Word(word(encoded)),
            Form::Bytes(_) => Encoded::Bytes(encoded),
        }
    }

    fn stored_key<'e>(&self, key: &'e [u8]) -> Result<Encoded<'e>> {
        Ok(self.stored(self.checked_key(key)?))
    }

    fn stored_value<'e>(&self, value: &'e [u8]) -> Result<Encoded<'e>> {
        Ok(self.stored(self.checked_value(value)?))
    }
}

/// Parts of maps whose types are known only at run time. Keys and values are passed as they are stored.
impl Batch {
    /// [`put`](Self::put)
    #[doc(hidden)]
    pub fn put_encoded(&mut self, map: &DynamicMap, key: &[u8], value: &[u8]) -> Result<&mut Self> {
        let act = Act::Put(map.stored_value(value)?);
        self.add(map.shared(), map.stored_key(key)?, act, same_bytes)
    }

    /// [`delete`](Self::delete)
    #[doc(hidden)]
    pub fn delete_encoded(&mut self, map: &DynamicMap, key: &[u8]) -> Result<&mut Self> {
        self.add(map.shared(), map.stored_key(key)?, Act::Delete, same_bytes)
    }

    /// [`expect`](Self::expect)
    #[doc(hidden)]
    pub fn expect_encoded(
        &mut self,
        map: &DynamicMap,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<&mut Self> {
        let value = value.map(|value| map.stored_value(value)).transpose()?;
        self.add(map.shared(), map.stored_key(key)?, Act::Expect(value), same_bytes)
    }
}

/// Keys of maps whose types are known only at run time.
impl Transaction<'_> {
    /// [`get`](Self::get)
    #[doc(hidden)]
    pub fn get_encoded(&mut self, map: &DynamicMap, key: &[u8]) -> Result<Option<Encoding>> {
        let found = self.look(map.shared(), map.stored_key(key)?)?;
        Ok(found.map(|found| match found {
            Stored::Word(word) => Encoding::of_word(word, map.value.word_width().0),
            Stored::Bytes(bytes) => Encoding::of_bytes(bytes),
        }))
    }

    /// [`put`](Self::put)
    #[doc(hidden)]
    pub fn put_encoded(&mut self, map: &DynamicMap, key: &[u8], value: &[u8]) -> Result<()> {
        self.note(map.shared(), map.stored_key(key)?, Some(map.stored_value(value)?))
    }

    /// [`delete`](Self::delete)
    #[doc(hidden)]
    pub fn delete_encoded(&mut self, map: &DynamicMap, key: &[u8]) -> Result<()> {
        self.note(map.shared(), map.stored_key(key)?, None)
    }
}
