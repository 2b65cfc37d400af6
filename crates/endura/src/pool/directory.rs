//! The named maps of a pool.
//!
//! # An entry
//!
//! | word | what | written |
//! | --- | --- | --- |
//! | 0 | state: FREE 0, LIVE 1, DROPPING 2, RENAMED 12 | commits, by one 8-byte store |
//! | 1 | kind (bits 0..8), parameters (8..56), bytes of the name (56..64) | before LIVE; the last also while RENAMED |
//! | 2 | root | by the tree |
//! | 3 | entries at a clean close | at the close |
//! | 4 | the generation that wrote word 3; it counts only if that session was the last and clean | at the close |
//! | 5..8 | spare | |
//! | 8..40 | name, filled up with zeros | before LIVE, and while RENAMED |
//! | 40..64 | spare, for the tree | by the tree |
//!
//! Entries lie side by side in page 0, then in pages of the kind DIRECTORY that are chained from
//! DIRECTORY_NEXT through the second word of their headers. They are used in order, and word 1 of
//! an entry that was ever used is not zero: the first that is free with a word 1 of zero ends the
//! directory.
//!
//! # Create, drop and rename
//!
//! | step | a crash after it | the next open sees |
//! | --- | --- | --- |
//! | create: words 1 to 63 stored | FREE | no map |
//! | create: the tree makes its first nodes | FREE | no map; the nodes are stranded |
//! | create: root stored; all flushed and fenced | FREE | no map; the nodes are stranded |
//! | create: LIVE stored | FREE or LIVE | no map, or the whole map |
//! | create: fenced, returns | LIVE | the map |
//! | drop: DROPPING stored | LIVE or DROPPING | the map, or none |
//! | drop: fenced, returns | DROPPING | no map; the open makes the entry FREE, the nodes are stranded |
//! | drop: nodes freed after a grace period, piece by piece ([`drops`](super::drops)) | DROPPING | the same |
//! | drop: FREE stored | DROPPING or FREE | no map |
//! | drop: drained | FREE | no map |
//! | rename: the new name stored in the place of new names; flushed and fenced | LIVE | the old name |
//! | rename: RENAMED stored | LIVE or RENAMED | the old name, or the new one |
//! | rename: drained | RENAMED | the new name, in the place of new names; the open does the rest |
//! | rename: name and its bytes stored in the entry; flushed and fenced | RENAMED | the same |
//! | rename: LIVE stored | RENAMED or LIVE | the new name, in one place or the other |
//! | rename: drained, returns | LIVE | the new name |
//! | new page: entries cleared, fenced; link stored | no link or link | a full directory, or one with room |
//!
//! The place of new names (`NEW_NAME`) is laid out as an entry, in front of the first one, and counts only
//! while an entry is RENAMED. At most one is: the next new name is written when LIVE is durable. Everything else
//! in the entry stays as and where it is, so that operations go on in the map meanwhile. A read-only open takes
//! the name from there and leaves the rest to the next one that writes.
//!
//! None of these orders rests on the lock that passes an entry from thread to thread: whoever lets go of it has
//! made durable what it stored in there.
//!
//! All of it happens under one lock, which is taken inside a pin, never the other way round: whoever
//! waits for writers to leave must not hold it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::alloc::{Kind, Pages, header};
use super::drops::Drops;
use super::entry::{
    self, DROPPING, Entry, FREE, KIND, LIVE, PARAMETER_BITS, RENAMED, ROOT, STATE, WORDS,
    check_name, corrupt, kind_of, name_of, set_state, settle, write_name,
};
use super::guard::Guard;
use super::layout::{DIRECTORY, DIRECTORY_END, DIRECTORY_NEXT, ENTRY, PAGE};
use super::lengths;
use super::map::MapState;
use super::space::{Session, Space};
use crate::media::{Mark, Media, Ordering, Span};
use crate::runtime::epoch::before_reuse;
use crate::sync::Mutex;
use crate::{Error, Result};

/// The maps of an open pool.
pub(super) struct Directory<M: Media> {
    pub(super) registry: Mutex<Registry<M>>,
}

pub(super) struct Registry<M: Media> {
    maps: BTreeMap<String, Arc<MapState>>,
    /// Entries that can be used again.
    free: BTreeSet<u64>,
    /// The first entry never used, and the end of its block.
    next: u64,
    end: u64,
    /// Where the next block has to be linked.
    link: u64,
    pub(super) drops: Drops<M>,
}

/// One block of entries: from, to, and where the next one is linked.
#[derive(Clone, Copy)]
struct Block {
    from: u64,
    to: u64,
    link: u64,
}

impl Block {
    const FIRST: Self = Self { from: DIRECTORY, to: DIRECTORY_END, link: DIRECTORY_NEXT };

    /// The block in a page of its own; the header takes the place of the first entry.
    fn in_page(page: u64) -> Self {
        let at = page * PAGE;
        Self { from: at + ENTRY, to: at + PAGE, link: at + 8 }
    }
}

impl<M: Media> Directory<M> {
    /// Reads the directory; completes interrupted drops unless the session is read-only.
    pub(super) fn load(media: &M, session: Session, pages: &Pages) -> Result<Self> {
        let mut registry = Registry {
            maps: BTreeMap::new(),
            free: BTreeSet::new(),
            next: 0,
            end: 0,
            link: 0,
            drops: Drops::default(),
        };
        let mut block = Block::FIRST;
        let mut seen = BTreeSet::new();
        loop {
            registry.load_block(media, session, block)?;
            let link = word(media, block.link)?;
            let page = link.load(0, Ordering::Acquire);
            if may_be_volatile(session) {
                // Fenced below, before a map is made in that page. The first link lies in the line of
                // NEXT_PAGE, which is flushed by that, for what `Allocator::load` has found.
                link.flush(0, 1);
            }
            if page == 0 {
                break;
            }
            let damage = |what| Err(Error::Corrupt { offset: block.link, what });
            if !pages.is_taken(page) || header::read(media, page)? != Kind::Directory {
                return damage("a directory that goes on in a page of another kind");
            }
            if !seen.insert(page) {
                return damage("a directory that leads back into itself");
            }
            if registry.next != registry.end {
                return damage("a directory that goes on before its end");
            }
            block = Block::in_page(page);
        }
        if !session.read_only {
            // Before a collection frees the nodes of a map whose drop a killed process had not made
            // durable, and before anyone uses a map that one had just made. And before what an open found
            // to be free without a collection (`Allocator::load`) is handed out. A drain: FREE in place of DROPPING
            // must not come behind the LIVE of another thread, which goes by this one's word only.
            media.drain();
        }
        Ok(Self { registry: Mutex::new(registry) })
    }
}

/// Whether what the directory says may not be durable: a killed process may have stored it last. What
/// this session does rests on it, and must not outlive it.
fn may_be_volatile(session: Session) -> bool {
    !session.clean && !session.read_only
}

/// The pages in which the directory of an open pool goes on.
pub(super) fn directory_pages<M: Media>(media: &M) -> Result<BTreeSet<u64>> {
    let mut pages = BTreeSet::new();
    let mut link = DIRECTORY_NEXT;
    loop {
        // Acquire: pairs with the Release of whoever appended the page.
        let page = word(media, link)?.load(0, Ordering::Acquire);
        if page == 0 {
            return Ok(pages);
        }
        if !pages.insert(page) {
            let what = "a directory that leads back into itself";
            return Err(Error::Corrupt { offset: link, what });
        }
        link = page.saturating_mul(PAGE).saturating_add(8);
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
            let entry = Entry::new(media, self.next)?;
            let state = entry.load(STATE, Ordering::Acquire);
            if state == FREE && entry.load(KIND, Ordering::Acquire) == 0 {
                return Ok(());
            }
            if may_be_volatile(session) {
                // Also FREE: an open that was killed may have made it of a DROPPING that is not
                // durable either. And the root with it, by which a collection finds what is in use.
                // Fenced by `load`.
                entry.flush(STATE, ROOT + 1);
            }
            match state {
                FREE => _ = self.free.insert(self.next),
                LIVE | RENAMED => self.load_map(entry, state, session)?,
                DROPPING => {
                    if !session.read_only {
                        // What is written into the entry next follows in its line.
                        set_state(entry, FREE);
                    }
                    self.free.insert(self.next);
                }
                _ => return corrupt(entry, "a directory entry in an unknown state"),
            }
            self.next += ENTRY;
        }
        Ok(())
    }

    fn load_map(&mut self, entry: Entry<'_, M>, state: u64, session: Session) -> Result<()> {
        let (kind, parameters) = kind_of(entry);
        if kind == 0 {
            return corrupt(entry, "a map of no kind");
        }
        let name = name_of(entry, state)?;
        let len = lengths::recorded(entry.media(), entry.offset(), session)?;
        let map = MapState::new(name.clone(), kind, parameters, entry.offset(), len);
        if self.maps.insert(name.clone(), Arc::new(map)).is_some() {
            return corrupt(entry, "a second map of the same name");
        }
        if state == RENAMED && !session.read_only {
            settle(entry, &name);
        }
        Ok(())
    }

    /// Gives a map another name, durably.
    fn rename(&mut self, guard: &Guard<'_, M>, from: &str, to: &str) -> Result<()> {
        let Some(map) = self.maps.get(from).cloned() else {
            return Err(Error::NoSuchMap { name: from.to_owned() });
        };
        if self.maps.contains_key(to) {
            return Err(Error::MapExists { name: to.to_owned() });
        }
        entry::rename(Entry::new(guard.media(), map.entry())?, to)?;
        map.set_name(to);
        self.maps.remove(from);
        self.maps.insert(to.to_owned(), map);
        Ok(())
    }

    /// Takes a map out, durably; none if there is no such map.
    pub(super) fn begin_drop(
        &mut self,
        guard: &Guard<'_, M>,
        name: &str,
    ) -> Result<Option<Arc<MapState>>> {
        let Some(map) = self.maps.get(name).cloned() else { return Ok(None) };
        let media = guard.media();
        set_state(Entry::new(media, map.entry())?, DROPPING);
        media.mark(Mark::Step("pool.drop.dropping"));
        // Before the caller is told, and before any node of the map is reused.
        media.drain();
        self.maps.remove(name);
        Ok(Some(map))
    }

    /// Makes the entry of a dropped map free, all of whose chunks are.
    pub(super) fn end_drop(&mut self, guard: &Guard<'_, M>, entry: u64) -> Result<()> {
        let media = guard.media();
        set_state(Entry::new(media, entry)?, FREE);
        media.mark(Mark::Step("pool.drop.free"));
        // Before LIVE, which another thread may store there next: pairs with that one's drain. (To an open
        // DROPPING and FREE are the same.)
        media.drain();
        self.free.insert(entry);
        Ok(())
    }

    /// An entry to use.
    fn vacant(&mut self, guard: &Guard<'_, M>) -> Result<u64> {
        if let Some(&entry) = self.free.first() {
            return Ok(entry);
        }
        if self.next == self.end {
            let page = self.append_page(guard)?;
            let block = Block::in_page(page);
            (self.next, self.end, self.link) = (block.from, block.to, block.link);
        }
        Ok(self.next)
    }

    /// Links one more page of entries. The caller fences before an entry of the page becomes LIVE, and before
    /// another thread can use one.
    fn append_page(&self, guard: &Guard<'_, M>) -> Result<u64> {
        let media = guard.media();
        let page = guard.space().allocator.take_directory_page(media)?;
        let block = Block::in_page(page);
        // A leaf that a cursor remembers may have been where this page is.
        before_reuse();
        for at in (block.from..block.to).step_by(ENTRY as usize) {
            // The page may have been used for something else; one line tells that it is not.
            let line = Span::<M, 8>::new(media, at)?;
            // Relaxed: the fence before the link, and its Release.
            (0..8).for_each(|i| line.store(i, 0, Ordering::Relaxed));
            line.flush(0, 8);
        }
        media.mark(Mark::Step("pool.directory.entries"));
        // Before the link: stale bytes must not look like entries.
        media.fence();
        let link = word(media, self.link)?;
        // equivalent mutant, relaxed: not seen: pairs with a collection by another thread, and pools are not run
        // under weak visibility.
        link.store(0, page, Ordering::Release);
        link.flush(0, 1);
        media.mark(Mark::Step("pool.directory.link"));
        Ok(page)
    }
}

/// Stores all of an entry but its state; the caller flushes.
fn write<M: Media>(entry: Entry<'_, M>, name: &str, kind: u8, parameters: u64) {
    // As in `append_page`.
    before_reuse();
    // Relaxed: the caller fences before it becomes LIVE.
    for i in ROOT..WORDS {
        entry.store(i, 0, Ordering::Relaxed);
    }
    write_name(entry, name, kind, parameters);
}

impl<M: Media> Space<M> {
    /// The map of this name, made if there is none. Its kind and parameters are the caller's to
    /// compare. `init` makes the first nodes of a new map, flushes them, and returns its root
    /// word; it must not open or drop maps. What it stores in the entry is flushed with that, and the
    /// fence comes before the root is named.
    ///
    /// Any two calls with one name give the same state, for as long as the map is not dropped.
    ///
    /// # Errors
    ///
    /// [`Error::BadName`]; [`Error::NoSuchMap`] if the pool is read-only; those of `init`, then there
    /// is no map; those of [`pin_mut`](Self::pin_mut), and of [`with_room`](Self::with_room), which may
    /// call `init` again after it made room.
    pub fn open_map(
        &self,
        name: &str,
        kind: u8,
        parameters: u64,
        init: impl Fn(&Guard<'_, M>, u64) -> Result<u64>,
    ) -> Result<Arc<MapState>> {
        check_name(name)?;
        if let Some(map) = self.find_map(name)? {
            return Ok(map);
        }
        if self.session.read_only {
            return Err(Error::NoSuchMap { name: name.to_owned() });
        }
        self.with_room(|| self.make_map(name, kind, parameters, &init))
    }

    fn make_map(
        &self,
        name: &str,
        kind: u8,
        parameters: u64,
        init: impl Fn(&Guard<'_, M>, u64) -> Result<u64>,
    ) -> Result<Arc<MapState>> {
        let guard = self.pin_mut()?;
        let mut registry = self.directory.registry.lock();
        if let Some(map) = registry.maps.get(name) {
            return Ok(Arc::clone(map));
        }
        debug_assert!(kind != 0 && parameters >> PARAMETER_BITS == 0);
        let at = registry.vacant(&guard)?;
        let entry = Entry::new(&self.media, at)?;
        write(entry, name, kind, parameters);
        if !registry.free.contains(&at) {
            registry.next += ENTRY;
            registry.free.insert(at);
        }
        let root = init(&guard, at).inspect_err(|_| {
            // Before the LIVE of another thread, which uses the entry, and the page it may lie in, next: pairs with
            // that one's drain.
            self.media.drain();
        })?;
        // Relaxed, as in `write`.
        entry.store(ROOT, root, Ordering::Relaxed);
        entry.flush(0, WORDS);
        self.media.mark(Mark::Step("pool.create.entry"));
        // Before LIVE, which must not come without name, root and first nodes, nor without the link of the page; and
        // before a later entry is used, for word 1 tells that this one was.
        self.media.fence();
        set_state(entry, LIVE);
        self.media.mark(Mark::Step("pool.create.live"));
        // Before anyone is told that the map exists.
        self.media.drain();
        registry.free.remove(&at);
        let map = Arc::new(MapState::new(name.to_owned(), kind, parameters, at, Some(0)));
        registry.maps.insert(name.to_owned(), Arc::clone(&map));
        Ok(map)
    }

    /// Gives the map `from` the name `to`. Durable on return, O(1). Operations of the map go on meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::BadName`]; [`Error::NoSuchMap`]; [`Error::MapExists`] if there is a map `to`, also if it is the
    /// same; those of [`pin_mut`](Self::pin_mut).
    pub fn rename_map(&self, from: &str, to: &str) -> Result<()> {
        check_name(to)?;
        let guard = self.pin_mut()?;
        self.directory.registry.lock().rename(&guard, from, to)
    }

    /// The map of this name, if there is one.
    ///
    /// # Errors
    ///
    /// Those of [`pin`](Self::pin).
    pub fn find_map(&self, name: &str) -> Result<Option<Arc<MapState>>> {
        let _guard = self.pin()?;
        Ok(self.directory.registry.lock().maps.get(name).cloned())
    }

    /// All maps, by name.
    ///
    /// # Errors
    ///
    /// Those of [`pin`](Self::pin).
    pub fn maps(&self) -> Result<Vec<Arc<MapState>>> {
        let _guard = self.pin()?;
        Ok(self.all_maps())
    }

    /// All maps with the names that they had at one moment.
    ///
    /// # Errors
    ///
    /// Those of [`pin`](Self::pin).
    pub fn named_maps(&self) -> Result<Vec<(String, Arc<MapState>)>> {
        let _guard = self.pin()?;
        let registry = self.directory.registry.lock();
        Ok(registry.maps.iter().map(|(name, map)| (name.clone(), Arc::clone(map))).collect())
    }

    /// The same, whether or not the pool may be entered.
    pub(super) fn all_maps(&self) -> Vec<Arc<MapState>> {
        self.directory.registry.lock().maps.values().cloned().collect()
    }
}
