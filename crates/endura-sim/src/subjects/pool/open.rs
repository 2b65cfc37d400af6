//! The open pool, and what operations do to it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use endura_engine::Error;
use endura_engine::media::{Media, Ordering, Region, STEP};
use endura_engine::space::{Counted, Guard, MapState, PAGE, Session, Space, Worker};

use super::super::leak_recovery::{Recovery, complete};
use super::ops::{PoolModel, PoolOp, SIZES, SLOTS, UNIT};
use super::walk::{Links, NODE_BYTES, chunk};
use crate::model::Domain;
use crate::sim::{Sim, act_as};
use crate::subject::Finding;

/// Where the layer above would keep its superblock. This one is a word: how often the pool was opened,
/// and how its last session ended. 0 = there is no pool yet.
const SUPERBLOCK: u64 = 0;
const IN_USE: u64 = 1;
const CLOSED: u64 = 2;
/// Closed, and nothing has leaked so far.
const CLOSED_TIGHT: u64 = 3;

/// The thread that reads links for others.
const READER: u32 = 99;

/// The word of the first span of page 0, in unit 3, which is that page's table.
const FIRST_SPAN: u64 = 3 * UNIT + 8 * 12;

/// The session word that has the number of maps at the last clean close, and in its upper half the generation.
const MAPS: u64 = 8248;

/// The names of maps that a continuation can drop.
const NAMES: [&str; 3] =
    ["first", "second map, with a name beyond one line of sixty-four bytes", "another"];

/// Of a map's name, the one in the source.
pub(super) fn known(name: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|known| *known == name)
}

/// What the chunk of a map holds.
const NODE: u64 = 0xC0_FFEE;

/// An open pool.
pub struct OpenPool {
    session: RefCell<OpenSession>,
    workers: RefCell<[Worker; 2]>,
    turn: Cell<usize>,
    /// Whether no session of this pool has ended uncleanly, so that nothing has leaked.
    is_tight: bool,
}

struct OpenSession {
    space: Arc<Space<Sim>>,
    links: Arc<MapState>,
    leak_recovery: Recovery,
}

fn told<T, E: Debug>(result: Result<T, E>) -> Result<T, Finding> {
    result.map_err(|error| format!("{error:?}"))
}

fn load(medium: &Sim, at: u64) -> Result<u64, Finding> {
    Ok(told(Region::new(medium, at, 1))?.load(0, Ordering::Acquire))
}

/// Stores a word; not durably.
fn store(medium: &Sim, at: u64, value: u64) -> Result<(), Finding> {
    let word = told(Region::new(medium, at, 1))?;
    word.store(0, value, Ordering::Release);
    word.flush(0, 1);
    Ok(())
}

/// Stores a word, durably.
fn commit(medium: &Sim, at: u64, value: u64) -> Result<(), Finding> {
    store(medium, at, value)?;
    medium.drain();
    Ok(())
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

impl OpenSession {
    fn begin(medium: Sim) -> Result<(Self, bool), Finding> {
        // Of large chunks there would be megabytes to poison.
        medium.set_poison(None);
        // No more than a pool has at the least: that it grows, and by how much, is its own.
        told(medium.grow(STEP))?;
        let before = load(&medium, SUPERBLOCK)?;
        if before == 0 {
            told(Space::format(&medium))?;
        }
        let (generation, clean) = ((before >> 8) + 1, before & 0xFF != IN_USE);
        commit(&medium, SUPERBLOCK, generation << 8 | IN_USE)?;
        let session = Session { generation, clean, read_only: false };
        let space = Arc::new(told(Space::mount(medium, session))?);
        let links = told(space.open_map("links", 1, 0, |_, _| Ok(0)))?;
        let walk = Links { links: Arc::clone(&links), next: 0 };
        let leak_recovery = Recovery::of(&space, vec![Box::new(walk)]);
        let is_tight = before == 0 || before & 0xFF == CLOSED_TIGHT;
        Ok((Self { space, links, leak_recovery }, is_tight))
    }

    fn slot(&self, slot: usize) -> u64 {
        self.links.spare() + 8 * slot as u64
    }

    fn link(&self, slot: usize) -> Result<Option<(u64, u64)>, Finding> {
        load(self.space.media(), self.slot(slot)).map(chunk)
    }

    /// Makes durable what a killed process may have stored last, before anybody is told of it. As a thread of its own, so
    /// that its fence covers nothing else.
    fn settle_links(&self) -> Result<(), Finding> {
        if !self.space.session().clean {
            let by = act_as(READER);
            told(Region::new(self.space.media(), self.slot(0), SLOTS))?.flush(0, SLOTS);
            self.space.media().drain();
            act_as(by);
        }
        Ok(())
    }

    /// All chunks that something durable leads to.
    fn reached(&self) -> Result<Vec<(u64, u64)>, Finding> {
        let mut reached = Vec::new();
        for slot in 0..SLOTS {
            reached.extend(self.link(slot)?);
        }
        for map in told(self.space.maps())? {
            let root = load(self.space.media(), map.root())?;
            reached.extend((root != 0).then_some((root, NODE_BYTES)));
        }
        Ok(reached)
    }

    /// Links a new chunk, which `alloc` allocates.
    fn put(
        &self,
        slot: usize,
        size: usize,
        alloc: impl Fn(&Guard<'_, Sim>, u64) -> endura_engine::Result<u64>,
    ) -> Result<bool, Finding> {
        if self.link(slot)?.is_some() {
            return Ok(false);
        }
        let (space, medium) = (&self.space, self.space.media());
        let bytes = SIZES[size];
        let at = told(space.with_room(|| alloc(&space.pin_mut()?, bytes)))?;
        let link = at << 3 | (size as u64 + 1);
        store(medium, at, link)?;
        store(medium, at + bytes / 8 * 8 - 8, !link)?;
        if bytes > PAGE {
            // Data where the header of the second page would be, made to look like one, with a table that begins as
            // that of page 0.
            let page = at / PAGE * PAGE;
            store(medium, page + PAGE, load(medium, page)? | 0xFF00)?;
            store(medium, page + PAGE + 8, load(medium, FIRST_SPAN)?)?;
        }
        // Before the link: what it leads to must be durable.
        medium.fence();
        commit(medium, self.slot(slot), link)?;
        self.links.add(1);
        Ok(true)
    }

    fn take(&self, slot: usize) -> Result<bool, Finding> {
        let Some((at, bytes)) = self.link(slot)? else { return Ok(false) };
        commit(self.space.media(), self.slot(slot), 0)?;
        self.links.add(-1);
        told(self.space.pin_mut())?.retire(at, bytes);
        Ok(true)
    }

    fn make(&self, name: &str, kind: u8) -> Result<bool, Finding> {
        let is_new = told(self.space.find_map(name))?.is_none();
        let map = told(self.space.open_map(name, kind, 11 * u64::from(kind), |guard, _| {
            let at = guard.alloc(NODE_BYTES)?;
            let node = Region::new(guard.media(), at, 1)?;
            node.store(0, NODE, Ordering::Release);
            node.flush(0, 1);
            guard.media().fence();
            Ok(at)
        }))?;
        if is_new {
            // What is the tree's is empty in a new map, whatever an earlier one left in the entry.
            let (medium, spare) = (self.space.media(), map.spare());
            for at in (spare..spare + 8 * SLOTS as u64).step_by(8) {
                match load(medium, at)? {
                    0 => store(medium, at, u64::from(kind))?,
                    found => return Err(format!("a new map begins with {found:#x} at {at:#x}")),
                }
            }
        }
        Ok(is_new)
    }

    fn drop_map(&self, name: &str) -> Result<bool, Finding> {
        told(self.space.drop_map(name, |_| {
            Ok(Box::new(|media, map, note, _| {
                let root = Region::new(media, map.root(), 1)?;
                note(root.load(0, Ordering::Acquire), NODE_BYTES);
                Ok(true)
            }))
        }))
    }

    fn spend(&self, count: usize, bytes: u64) -> Result<(), Finding> {
        let guard = told(self.space.pin_mut())?;
        let taken = (0..count).map(|_| told(self.space.with_room(|| guard.alloc(bytes))));
        let taken = taken.collect::<Result<Vec<u64>, Finding>>()?;
        taken.into_iter().for_each(|at| guard.retire(at, bytes));
        Ok(())
    }

    fn soil(&self, units: u64) -> Result<(), Finding> {
        let guard = told(self.space.pin_mut())?;
        let bytes = units * UNIT;
        let run = told(self.space.with_room(|| guard.alloc(bytes)))?;
        for at in (run..run + bytes).filter(|at| at.is_multiple_of(NODE_BYTES)) {
            // A live map of kind 9 with a name of 77 letters.
            store(guard.media(), at, 1)?;
            store(guard.media(), at + 8, 77 << 56 | 9)?;
        }
        guard.discard(run, bytes);
        drop(guard);
        self.space.media().drain();
        told(self.space.relieve()).map(drop)
    }

    fn probe(&self) -> Result<(), Finding> {
        let mut owned: Vec<Range<u64>> =
            self.reached()?.into_iter().map(|(at, bytes)| at..at + bytes).collect();
        let mut taken = Vec::new();
        let guard = told(self.space.pin_mut())?;
        for bytes in [512, 1024, 2 * PAGE, 20 << 10, 512, 70 << 10, PAGE] {
            // A pool that does not know all free space may not grow at once.
            let at = told(self.space.with_room(|| guard.alloc(bytes)))?;
            let new = at..at + bytes;
            if let Some(old) = owned.iter().find(|old| overlap(old, &new)) {
                return Err(format!("{old:x?} belongs to somebody, and {new:x?} is handed out"));
            }
            store(guard.media(), at, 0)?;
            store(guard.media(), at + bytes - 8, 0)?;
            owned.push(new);
            taken.push((at, bytes));
        }
        taken.into_iter().for_each(|(at, bytes)| guard.discard(at, bytes));
        Ok(())
    }
}

impl OpenPool {
    pub(super) fn over(medium: Sim) -> Result<Self, Finding> {
        let (session, is_tight) = OpenSession::begin(medium)?;
        let workers = RefCell::new([Worker::new(), Worker::new()]);
        let open = Self { session: RefCell::new(session), workers, turn: Cell::new(0), is_tight };
        open.check_tight()?;
        Ok(open)
    }

    /// What a clean close promises: the next session, even after a power failure, knows what is free
    /// and how many maps and entries there are.
    fn check_tight(&self) -> Result<(), Finding> {
        let session = self.session.borrow();
        if self.is_tight && session.links.counted() != Counted::All {
            return Err("a clean close forgets how many entries there are".to_owned());
        }
        let recorded = load(session.space.media(), MAPS)? >> 32;
        if self.is_tight && recorded + 1 != session.space.session().generation {
            return Err("a clean close forgets how many maps there are".to_owned());
        }
        if self.is_tight && !session.space.leak_recovery().is_done() {
            return Err("a clean close forgets what is free".to_owned());
        }
        complete(&session.space, &session.reached()?).map(drop)
    }

    /// Does an operation as the thread whose turn it is.
    pub(super) fn take_turn(&self, op: &PoolOp) -> Result<bool, Finding> {
        let turn = self.turn.get();
        self.turn.set(1 - turn);
        // Store buffers drain by the locks that threads share, of which a medium hears nothing: what
        // one thread did before it let go of a lock is not lost once the other has taken it.
        if self.session.borrow().space.media().model().domain == Domain::Adr {
            act_as(turn as u32 + 1);
        }
        self.workers.borrow_mut()[turn].run(|| self.apply(op))
    }

    fn apply(&self, op: &PoolOp) -> Result<bool, Finding> {
        if *op == PoolOp::Reopen {
            return self.reopen().map(|()| true);
        }
        let session = self.session.borrow();
        let answer = match *op {
            PoolOp::Link { slot, size } => {
                session.put(slot, size, |guard, bytes| guard.alloc(bytes))?
            }
            PoolOp::LinkAside { slot, size } => {
                session.put(slot, size, |guard, bytes| Ok(guard.alloc_aside(&[bytes])?[0]))?
            }
            PoolOp::Unlink(slot) => session.take(slot)?,
            PoolOp::Make(name, kind) => session.make(name, kind)?,
            PoolOp::Drop(name) => session.drop_map(name)?,
            PoolOp::DropInside(name) => {
                let _inside = told(session.space.pin())?;
                session.drop_map(name)?
            }
            PoolOp::Rename(from, to) => match session.space.rename_map(from, to) {
                Err(Error::NoSuchMap { .. } | Error::MapExists { .. }) => false,
                renamed => told(renamed).map(|()| true)?,
            },
            PoolOp::MakeMany(count) => {
                for i in 0..count {
                    told(session.space.open_map(&format!("other {i}"), 1, 0, |_, _| Ok(0)))?;
                }
                true
            }
            PoolOp::Spend(count, size) => session.spend(count, SIZES[size]).map(|()| true)?,
            PoolOp::Soil(units) => session.soil(units).map(|()| true)?,
            PoolOp::Probe => session.probe().map(|()| true)?,
            PoolOp::Collect => session.leak_recovery.step().map(|_| true)?,
            PoolOp::Relieve | PoolOp::Reopen => told(session.space.relieve()).map(|_| true)?,
        };
        match session.space.is_poisoned() {
            true => Err("the pool is poisoned".to_owned()),
            false => Ok(answer),
        }
    }

    fn reopen(&self) -> Result<(), Finding> {
        let mut session = self.session.borrow_mut();
        let length = told(session.space.save())?;
        let medium = session.space.media().clone();
        let word = load(&medium, SUPERBLOCK)?;
        let closed = if self.is_tight { CLOSED_TIGHT } else { CLOSED };
        commit(&medium, SUPERBLOCK, word & !0xFF | closed)?;
        told(medium.cut(length))?;
        let (next, _) = OpenSession::begin(medium)?;
        *session = next;
        drop(session);
        self.check_tight()
    }

    pub(super) fn observe(&self) -> Result<PoolModel, Finding> {
        let session = self.session.borrow();
        let medium = session.space.media();
        session.settle_links()?;
        let mut model = PoolModel::default();
        for slot in 0..SLOTS {
            let link = load(medium, session.slot(slot))?;
            let Some((at, bytes)) = chunk(link) else { continue };
            let ends = (load(medium, at)?, load(medium, at + bytes / 8 * 8 - 8)?);
            if ends != (link, !link) {
                return Err(format!("the chunk of slot {slot} at {at:#x} holds {ends:x?}"));
            }
            model.links.insert(slot, (link & 7) as usize - 1);
        }
        for map in told(session.space.maps())? {
            let (kind, root) = (map.kind(), load(medium, map.root())?);
            if map.entry() == session.links.entry() {
                continue;
            }
            if root == 0 {
                model.others += 1;
                continue;
            }
            let node = load(medium, root)?;
            if map.parameters() != 11 * u64::from(kind) || node != NODE {
                return Err(format!("{map:?} with a node that holds {node:#x}"));
            }
            model.maps.insert(map.name().to_string(), kind);
        }
        Ok(model)
    }

    pub(super) fn verify(&self, model: &PoolModel) -> Result<(), Finding> {
        let session = self.session.borrow();
        session.leak_recovery.check(&session.space, &session.reached()?)?;
        let names: BTreeMap<String, u64> = told(session.space.maps())?
            .iter()
            .map(|map| (map.name().to_string(), map.entry()))
            .collect();
        let mut entries: Vec<u64> = names.values().copied().collect();
        entries.sort_unstable();
        entries.dedup();
        if entries.len() != names.len() {
            return Err(format!("two maps in one entry: {names:x?}"));
        }
        let (sum, links) = (session.links.sum(), model.links.len() as u64);
        match session.links.counted() {
            Counted::All if sum != links => Err(format!("{sum} links counted, {links} there")),
            _ => Ok(()),
        }
    }
}
