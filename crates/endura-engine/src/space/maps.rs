//! Named maps: creating, finding and renaming them. The words and the crash table are in
//! [`directory`](crate::space::directory::registry).

use std::sync::Arc;

use crate::media::{Mark, Media, Ordering};
use crate::space::directory::entry::{
    LIVE, MapEntry, PARAMETER_BITS, ROOT, WORDS, check_name, check_types, set_state,
};
use crate::space::directory::map_state::{MapFacts, MapState};
use crate::space::directory::registry::write;
use crate::space::layout::ENTRY;
use crate::space::pins::guard::Guard;
use crate::space::space::Space;
use crate::types::Types;
use crate::{Error, Result};

/// Makes the first nodes of a new map, whose entry it gets, and returns the root word. It is a `dyn`, so that the
/// creation of a map is compiled once, and not once for each kind of tree.
type Init<'i, M> = &'i dyn Fn(&Guard<'_, M>, u64) -> Result<u64>;

impl<M: Media> Space<M> {
    /// Does what [`open_typed_map`](Self::open_typed_map) does, for a map whose types are not recorded.
    ///
    /// # Errors
    ///
    /// As for [`open_typed_map`](Self::open_typed_map).
    pub fn open_map(
        &self,
        name: &str,
        kind: u8,
        parameters: u64,
        init: impl Fn(&Guard<'_, M>, u64) -> Result<u64>,
    ) -> Result<Arc<MapState>> {
        self.open_typed_map(name, kind, parameters, &Types::default(), init)
    }

    /// Returns the map of this name, and creates it if there is none. The caller has to compare kind, parameters and
    /// types of an existing map. `init` makes the first nodes of a new map, flushes them, and returns its root word; it
    /// must not open or drop maps. Its stores to the entry are flushed with the entry, and fenced before LIVE is
    /// stored.
    ///
    /// Two calls with the same name return the same state, until the map is dropped.
    ///
    /// # Errors
    ///
    /// [`Error::BadName`]; [`Error::BadTypeName`]; [`Error::NoSuchMap`] if the pool is read-only; the errors of `init`,
    /// after which there is no map; the errors of [`pin_mut`](Self::pin_mut) and of [`with_room`](Self::with_room).
    /// `with_room` may call `init` again after it has freed space.
    pub fn open_typed_map(
        &self,
        name: &str,
        kind: u8,
        parameters: u64,
        types: &Types,
        init: impl Fn(&Guard<'_, M>, u64) -> Result<u64>,
    ) -> Result<Arc<MapState>> {
        self.open_or_make(name, (kind, parameters), types, &init)
    }

    fn open_or_make(
        &self,
        name: &str,
        form: (u8, u64),
        types: &Types,
        init: Init<'_, M>,
    ) -> Result<Arc<MapState>> {
        check_name(name)?;
        check_types(types)?;
        if let Some(map) = self.find_map(name)? {
            return Ok(map);
        }
        if self.session.read_only {
            return Err(Error::NoSuchMap { name: name.to_owned() });
        }
        self.with_room(|| self.make_map(name, form, types, init))
    }

    fn make_map(
        &self,
        name: &str,
        (kind, parameters): (u8, u64),
        types: &Types,
        init: Init<'_, M>,
    ) -> Result<Arc<MapState>> {
        let guard = self.pin_mut()?;
        let mut registry = self.directory.registry.lock();
        if let Some(map) = registry.maps.get(name) {
            return Ok(Arc::clone(map));
        }
        debug_assert!(kind != 0 && parameters >> PARAMETER_BITS == 0);
        let at = registry.vacant(&self.media, &self.allocator)?;
        let entry = MapEntry::new(&self.media, at)?;
        write(entry, name, kind, parameters, types);
        if !registry.free.contains(at) {
            registry.next += ENTRY;
            registry.free.insert(at, ());
        }
        let root = init(&guard, at).inspect_err(|_| {
            // Another thread may use the entry next, and the span in which the entry may lie. These stores must not
            // become durable after the LIVE of that thread: pairs with its drain.
            self.media.drain();
        })?;
        // Relaxed, as in `write`.
        entry.store(ROOT, root, Ordering::Relaxed);
        entry.flush(0, WORDS);
        self.media.mark(Mark::Step("pool.create.entry"));
        // Before LIVE, which must not become durable without the name, the root and the first nodes, nor without the
        // link of the span. Also before a later entry is used, because word 1 says that this one was.
        self.media.fence();
        set_state(entry, LIVE);
        self.media.mark(Mark::Step("pool.create.live"));
        // Before the caller knows that the map exists.
        self.media.drain();
        registry.free.remove(at);
        let facts = MapFacts { kind, parameters, types: types.clone(), entry: at };
        let map = Arc::new(MapState::new(name.to_owned(), facts, Some(0)));
        registry.maps.insert(name.to_owned(), Arc::clone(&map));
        Ok(map)
    }

    /// Gives the map `from` the name `to`. The new name is durable on return. O(1). Operations of the map continue
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::BadName`]; [`Error::NoSuchMap`]; [`Error::MapExists`] if there is a map `to`, even the same map; the
    /// errors of [`pin_mut`](Self::pin_mut).
    pub fn rename_map(&self, from: &str, to: &str) -> Result<()> {
        check_name(to)?;
        let _guard = self.pin_mut()?;
        self.directory.registry.lock().rename(&self.media, from, to)
    }

    /// The map of this name, if there is one.
    ///
    /// # Errors
    ///
    /// The errors of [`pin`](Self::pin).
    pub fn find_map(&self, name: &str) -> Result<Option<Arc<MapState>>> {
        let _guard = self.pin()?;
        Ok(self.directory.registry.lock().maps.get(name).cloned())
    }

    /// All maps, by name.
    ///
    /// # Errors
    ///
    /// The errors of [`pin`](Self::pin).
    pub fn maps(&self) -> Result<Vec<Arc<MapState>>> {
        let _guard = self.pin()?;
        Ok(self.all_maps())
    }

    /// All maps with the names that they had at one moment.
    ///
    /// # Errors
    ///
    /// The errors of [`pin`](Self::pin).
    pub fn named_maps(&self) -> Result<Vec<(String, Arc<MapState>)>> {
        let _guard = self.pin()?;
        let registry = self.directory.registry.lock();
        Ok(registry.maps.iter().map(|(name, map)| (name.clone(), Arc::clone(map))).collect())
    }

    /// All maps, by name, whether or not the pool admits operations.
    pub(crate) fn all_maps(&self) -> Vec<Arc<MapState>> {
        self.directory.registry.lock().maps.values().cloned().collect()
    }
}
