//! Copies of maps from one pool to another.

use super::form::in_form;
use super::untyped::{self, UntypedMap};
use crate::map::MapOptions;
use crate::pool::Pool;
use crate::{Error, Result};

impl Pool {
    /// Copies the map `name`, of any kind and any types, into the pool `to`, and returns the number of entries. The
    /// copy has the same name, kind and node layout. Entries are inserted in order, so that the copy takes less space
    /// than a map from which many entries were removed. Both pools can be used meanwhile; a change that is made to the
    /// map while it is copied may or may not be in the copy. O(n).
    ///
    /// To compact a pool, copy all its maps into a new one; `endura compact` does this.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchMap`]; [`Error::MapExists`] if `to` has a map of this name; [`Error::UnknownNodes`]; those of
    /// [`Map`](crate::Map) for methods that read, and in `to` for methods that write and need space. After an error
    /// there is no copy, unless `to` can no longer be written.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use endura::Pool;
    ///
    /// let old = Pool::open(folder.path().join("old.endura"))?;
    /// old.map::<str, u64>("visits")?.extend([("ada", 3), ("alan", 5)])?;
    /// let new = Pool::open(folder.path().join("new.endura"))?;
    /// for map in old.maps()? {
    ///     assert_eq!(old.copy_map(&map.name, &new)?, 2);
    /// }
    /// assert_eq!(new.map::<str, u64>("visits")?.get("alan")?, Some(5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_map(&self, name: &str, to: &Self) -> Result<u64> {
        let (from, types) = untyped::open(self, name)?;
        let found = self.session().map_info(name)?;
        let found = found.ok_or_else(|| Error::NoSuchMap { name: name.to_owned() })?;
        if to.session().map_info(name)?.is_some() {
            return Err(Error::MapExists { name: name.to_owned() });
        }
        let mut options = MapOptions::new();
        if let Some(kind) = found.kind {
            options = options.kind(kind);
        }
        if let Some(layout) = found.layout {
            options = options.node_layout(layout);
        }
        let entries = in_form!(&from, map => map.entries());
        let copy = untyped::open_as(to, name, options, types, entries)?;
        fill(&copy, &from).inspect_err(|_| _ = to.drop_map(name))
    }
}

/// Inserts all entries of `from` into `copy`, a map of the same form. Returns the number of entries.
fn fill(copy: &UntypedMap, from: &UntypedMap) -> Result<u64> {
    match (copy, from) {
        (UntypedMap::Words(copy), UntypedMap::Words(from)) => {
            let (mut entries, mut failed) = (from.iter(), None);
            let count = copy.extend(std::iter::from_fn(|| {
                let entry = entries.next()?;
                entry.map_err(|error| failed = Some(error)).ok()
            }))?;
            failed.map_or(Ok(()), Err)?;
            from.check_len(count as u64)?;
            Ok(count as u64)
        }
        (UntypedMap::Bytes(copy), UntypedMap::Bytes(from)) => {
            let mut count = 0;
            for entry in from.iter() {
                let (key, value) = entry?;
                copy.put(&key, &value)?;
                count += 1;
            }
            from.check_len(count)?;
            Ok(count)
        }
        // A copy has the kind of the original, and so the same form.
        _ => Err(Error::Corrupt { offset: 0, what: "a map of words with bytes" }),
    }
}
