//! The registry of maps: how an open reads it from the directory, and how entries change.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::media::{Mark, Media, Ordering, Span};
use crate::numbered::Numbers;
use crate::runtime::epoch::before_reuse;
use crate::space::alloc::allocator::Allocator;
use crate::space::alloc::page::table::SpanKind;
use crate::space::alloc::pages::Pages;
use crate::space::directory::drops::Drops;
use crate::space::directory::entry;
use crate::space::directory::entry::{
    DROPPING, FREE, KIND, LIVE, MapEntry, RENAMED, ROOT, STATE, WORDS, corrupt, kind_of, name_of,
    set_state, settle, types_of, write_name, write_types,
};
use crate::space::directory::lengths;
use crate::space::directory::map_state::{MapFacts, MapState};
use crate::space::layout::{
    DIRECTORY, DIRECTORY_END, DIRECTORY_NEXT, DIRECTORY_UNITS, ENTRY, UNIT,
};
use crate::space::session::Session;
use crate::sync::Mutex;
use crate::types::Types;
use crate::{Error, Result};

/// The maps of an open pool.
pub(crate) struct Directory<M> {
    pub(crate) registry: Mutex<Registry<M>>,
}

pub(crate) struct Registry<M> {
    pub(crate) maps: BTreeMap<String, Arc<MapState>>,
    /// Entries that can be used again.
    pub(crate) free: Numbers,
    /// The first entry that was never used, and the end of its block.
    pub(crate) next: u64,
    pub(crate) end: u64,
    /// The offset of the word that will link the next block.
    pub(crate) link: u64,
    pub(crate) drops: Drops<M>,
}

/// One block of entries: where it begins, where it ends, and the offset of the word that links the next block.
#[derive(Clone, Copy)]
struct Block {
    from: u64,
    to: u64,
    link: u64,
}

impl Block {
    const FIRST: Self = Self { from: DIRECTORY, to: DIRECTORY_END, link: DIRECTORY_NEXT };

    /// The block in a span of its own. The link takes the place of its first entry.
    fn in_span(at: u64) -> Self {
        Self { from: at + ENTRY, to: at + DIRECTORY_UNITS * UNIT, link: at }
    }
}

impl<M: Media> Directory<M> {
    /// Reads the directory. Completes drops and renames that were interrupted, unless the session is read-only.
    pub(crate) fn load(media: &M, session: Session, pages: &Pages) -> Result<Self> {
        let mut registry = Registry {
            maps: BTreeMap::new(),
            free: Numbers::default(),
            next: 0,
            end: 0,
            link: 0,
            drops: Drops::default(),
        };
        let mut block = Block::FIRST;
        let mut seen = Numbers::default();
        loop {
            registry.load_block(media, session, block)?;
            let link = word(media, block.link)?;
            let at = link.load(0, Ordering::Acquire);
            if may_be_volatile(session) {
                // The fence below comes before a map is created in that span. The first link lies in the line of
                // NEXT_PAGE, so this also flushes that word, for what `Allocator::load` has found.
                link.flush(0, 1);
            }
            if at == 0 {
                break;
            }
            let damage = |what| Err(Error::Corrupt { offset: block.link, what });
            let found = pages.find_span(media, at / UNIT)?;
            let is_one = found.header.kind == SpanKind::Directory
                && found.header.units == DIRECTORY_UNITS
                && found.first * UNIT == at;
            if !is_one {
                return damage("a directory that goes on in a span of another kind");
            }
            if seen.insert(at, ()).is_some() {
                return damage("a directory that leads back into itself");
            }
            if registry.next != registry.end {
                return damage("a directory that goes on before its end");
            }
            block = Block::in_span(at);
        }
        lengths::check_maps(media, session, registry.maps.len())?;
        if !session.read_only {
            // Before a leak recovery frees the nodes of a map whose drop a killed process had not made durable; before
            // the first use of a map that a killed process had just created; and before space is allocated that the
            // open found to be free without a leak recovery (`Allocator::load`). A drain: FREE in place of DROPPING
            // must not become durable after the LIVE of another thread, which knows of FREE only through DRAM.
            media.drain();
        }
        Ok(Self { registry: Mutex::new(registry) })
    }
}

/// Whether words of the directory may not be durable, because a killed process stored them last. The work of this
/// session relies on them, so they must become durable before that work does.
fn may_be_volatile(session: Session) -> bool {
    !session.clean && !session.read_only
}

/// The offsets of the further spans of the directory of an open pool.
pub(crate) fn directory_spans<M: Media>(media: &M) -> Result<Numbers> {
    let mut spans = Numbers::default();
    let mut link = DIRECTORY_NEXT;
    loop {
        // Acquire: pairs with the Release of the thread that appended the span.
        let at = word(media, link)?.load(0, Ordering::Acquire);
        if at == 0 {
            return Ok(spans);
        }
        if !at.is_multiple_of(UNIT) || spans.insert(at, ()).is_some() {
            let what = "a directory that leads back into itself";
            return Err(Error::Corrupt { offset: link, what });
        }
        link = at;
    }
}

/// The word at `at`.
fn word<M: Media>(media: &M, at: u64) -> Result<crate::media::Region<'_, M>> {
    crate::media::Region::new(media, at, 1)
}

impl<M: Media> Registry<M> {
    fn load_block(&mut self, media: &M, session: Session, block: Block) -> Result<()> {
        (self.next, self.end, self.link) = (block.from, block.to, block.link);
        while self.next < block.to {
            let entry = MapEntry::new(media, self.next)?;
            let state = entry.load(STATE, Ordering::Acquire);
            if state == FREE && entry.load(KIND, Ordering::Acquire) == 0 {
                return Ok(());
            }
            if may_be_volatile(session) {
                // This also flushes a FREE that a killed open may have stored in place of a DROPPING that is not
                // durable either, and the root, by which a leak recovery finds what is in use. The fence is in `load`.
                entry.flush(STATE, ROOT + 1);
            }
            match state {
                FREE => _ = self.free.insert(self.next, ()),
                LIVE | RENAMED => self.load_map(entry, state, session)?,
                DROPPING => {
                    if !session.read_only {
                        // The next stores to the entry follow in the same line.
                        set_state(entry, FREE);
                    }
                    self.free.insert(self.next, ());
                }
                _ => return corrupt(entry, "a directory entry in an unknown state"),
            }
            self.next += ENTRY;
        }
        Ok(())
    }

    fn load_map(&mut self, entry: MapEntry<'_, M>, state: u64, session: Session) -> Result<()> {
        let (kind, parameters) = kind_of(entry);
        if kind == 0 {
            return corrupt(entry, "a map of no kind");
        }
        let name = name_of(entry, state)?;
        let len = lengths::recorded(entry.media(), entry.offset(), session)?;
        let facts = MapFacts { kind, parameters, types: types_of(entry)?, entry: entry.offset() };
        let map = MapState::new(name.clone(), facts, len);
        if self.maps.insert(name.clone(), Arc::new(map)).is_some() {
            return corrupt(entry, "a second map of the same name");
        }
        if state == RENAMED && !session.read_only {
            settle(entry, &name);
        }
        Ok(())
    }

    /// Gives the map `from` the name `to`, durably.
    pub(crate) fn rename(&mut self, media: &M, from: &str, to: &str) -> Result<()> {
        let Some(map) = self.maps.get(from).cloned() else {
            return Err(Error::NoSuchMap { name: from.to_owned() });
        };
        if self.maps.contains_key(to) {
            return Err(Error::MapExists { name: to.to_owned() });
        }
        entry::rename(MapEntry::new(media, map.entry())?, to)?;
        map.set_name(to);
        self.maps.remove(from);
        self.maps.insert(to.to_owned(), map);
        Ok(())
    }

    /// Removes a map from the registry, durably. Returns `None` if there is no such map.
    pub(crate) fn begin_drop(&mut self, media: &M, name: &str) -> Result<Option<Arc<MapState>>> {
        let Some(map) = self.maps.get(name).cloned() else { return Ok(None) };
        set_state(MapEntry::new(media, map.entry())?, DROPPING);
        media.mark(Mark::Step("pool.drop.dropping"));
        // Before the call returns, and before any node of the map is reused.
        media.drain();
        self.maps.remove(name);
        Ok(Some(map))
    }

    /// Makes the entry of a dropped map FREE, after all chunks of the map were freed.
    pub(crate) fn end_drop(&mut self, media: &M, entry: u64) -> Result<()> {
        set_state(MapEntry::new(media, entry)?, FREE);
        media.mark(Mark::Step("pool.drop.free"));
        // Before LIVE, which another thread may store there next: pairs with that thread's drain. (For an open,
        // DROPPING and FREE are the same.)
        media.drain();
        self.free.insert(entry, ());
        Ok(())
    }

    /// Returns an entry that can be used.
    pub(crate) fn vacant(&mut self, media: &M, allocator: &Allocator) -> Result<u64> {
        if let Some(entry) = self.free.first() {
            return Ok(entry);
        }
        if self.next == self.end {
            let block = self.append_span(media, allocator)?;
            (self.next, self.end, self.link) = (block.from, block.to, block.link);
        }
        Ok(self.next)
    }

    /// Links one more span of entries. The caller fences before an entry of it becomes LIVE, and before another thread
    /// can use an entry of it.
    fn append_span(&self, media: &M, allocator: &Allocator) -> Result<Block> {
        let at = allocator.take_directory_span(media)?;
        let block = Block::in_span(at);
        // A cursor may remember a leaf that was where this span is now.
        before_reuse();
        for at in (at..block.to).step_by(ENTRY as usize) {
            // The span may have had another use. One line of zeros marks an entry as unused, and the first line is a
            // link to nowhere.
            let line = Span::<M, 8>::new(media, at)?;
            // Relaxed: a fence comes before the link, which is stored with Release.
            (0..8).for_each(|i| line.store(i, 0, Ordering::Relaxed));
            line.flush(0, 8);
        }
        media.mark(Mark::Step("pool.directory.entries"));
        // Before the link, because stale bytes must not look like entries.
        media.fence();
        let link = word(media, self.link)?;
        // equivalent mutant, relaxed: not seen: pairs with a leak recovery by another thread, and pools are not run
        // under weak visibility.
        link.store(0, at, Ordering::Release);
        link.flush(0, 1);
        media.mark(Mark::Step("pool.directory.link"));
        Ok(block)
    }
}

/// Stores all of an entry except its state; the caller flushes.
pub(crate) fn write<M: Media>(
    entry: MapEntry<'_, M>,
    name: &str,
    kind: u8,
    parameters: u64,
    types: &Types,
) {
    // A cursor may remember a leaf that was where this entry is now, as in `append_span`.
    before_reuse();
    // Relaxed: the caller fences before the entry becomes LIVE.
    for i in ROOT..WORDS {
        entry.store(i, 0, Ordering::Relaxed);
    }
    write_name(entry, name, kind, parameters);
    write_types(entry, types);
}
