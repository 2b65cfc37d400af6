//! The thread that evicts, so that stores find room. It keeps free chunks of each size that is in use, and a reserve of free
//! space for other sizes.
//!
//! While the reserve is above its high mark, nothing is evicted. Below it, items of the sizes that have few free chunks go.
//! Below the low mark, items that have spans of their own go, and if that is not enough, one size *gives*: so many of its
//! items go that their chunks fill some spans, then all others of its items move to the lowest spans, and the highest ones
//! become free.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use endura::Result;

use super::evictions::{Evictions, PIECE};
use super::hand::{Fate, Met};
use super::items::Store;
use super::levels::{Levels, Room, Size};
use crate::clock::now;
use crate::eviction::{Sample, Worth};

/// The pause of a thread that has nothing to do, unless it is called.
const PAUSE: Duration = Duration::from_millis(200);
/// The share of the items with spans of their own that go in one round.
const ALONE: f64 = 0.25;

/// A size gives after one in so many of all items was evicted, unless a store waits.
const GIVES: usize = 8;

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Evictor {
    ends: Arc<AtomicBool>,
    store: Weak<Store>,
    thread: Option<JoinHandle<()>>,
}

impl Evictor {
    /// Starts the thread, if the store evicts.
    pub(crate) fn start(store: &Arc<Store>) -> std::io::Result<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        let weak = Arc::downgrade(store);
        let thread = match store.evictions() {
            None => None,
            Some(_) => {
                let (store, ends) = (weak.clone(), Arc::clone(&ends));
                let work = move || evict(&store, &ends);
                Some(thread::Builder::new().name("endura-evict".into()).spawn(work)?)
            }
        };
        Ok(Self { ends, store: weak, thread })
    }
}

impl Drop for Evictor {
    fn drop(&mut self) {
        // Release pairs with the Acquire in `evict`.
        self.ends.store(true, Ordering::Release);
        if let Some(store) = self.store.upgrade()
            && let Some(evictions) = store.evictions()
        {
            evictions.call();
        }
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

fn evict(store: &Weak<Store>, ends: &AtomicBool) {
    let mut work = Work::default();
    loop {
        let Some(store) = store.upgrade() else { return };
        let Some(evictions) = store.evictions() else { return };
        // If the pool fails, the replies to clients say so.
        if !work.turn(&store, evictions, now()).unwrap_or(false) {
            evictions.wait_for_call(PAUSE);
        }
        evictions.end_turn();
        if ends.load(Ordering::Acquire) {
            return;
        }
    }
}

/// What the thread is about.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Whether items of sizes with few free chunks go, until there are enough.
    is_filling: bool,
    /// The size that gives.
    giving: Option<Giving>,
    /// The items that have gone since a size has given.
    gone: usize,
    /// How many sizes have given for stores that wait.
    waits: u32,
}

/// A size that gives.
#[derive(Debug, Clone, Copy)]
struct Giving {
    chunk: u64,
    /// Bytes of its spans when it began.
    spans: u64,
    /// The bytes of chunks that are free before the others move, or were given.
    bytes: u64,
    /// The share of its items that go.
    share: f64,
    moves: bool,
    /// The items that the hand has met since it began to do this.
    met: usize,
}

impl Giving {
    /// The free bytes up to which its items go.
    fn keeps(&self, size: &Size) -> u64 {
        self.bytes.saturating_sub(self.spans.saturating_sub(size.spans))
    }
}

impl Work {
    /// One step of the hand, if one is due. Returns whether one was.
    pub(super) fn turn(&mut self, store: &Store, evictions: &Evictions, now: u32) -> Result<bool> {
        let items = store.count()?;
        evictions.fetches.grow(items);
        let mut levels = Levels::of(&store.pool().stats()?);
        // Relaxed, because the number orders nothing: a store that waits asks again.
        let wanted = evictions.wanted.swap(0, Ordering::Relaxed);
        if wanted > 0 {
            // Space that is free but of no use to the store that waits counts as none.
            let more = wanted.next_multiple_of(64 << 10) << self.waits.min(20);
            (levels.low, levels.high) = (levels.reserve + 1, levels.reserve + more);
        }
        if levels.reserve >= levels.high && self.giving.is_none() {
            (self.is_filling, self.waits) = (false, 0);
            return Ok(false);
        }
        self.is_filling |= levels.are_short();
        let is_low = levels.reserve < levels.low && !levels.is_unknown;
        let mut hand = evictions.hand();
        if is_low && self.giving.is_none() && (wanted > 0 || self.gone > items / GIVES) {
            self.waits = if wanted > 0 { self.waits + 1 } else { 0 };
            self.gone = 0;
            self.giving = giver(&levels, &hand.sample);
        }
        if !self.is_filling && !is_low && self.giving.is_none() {
            return Ok(false);
        }
        let plan = self.plan(&levels, &hand.sample, is_low);
        let decide = |_: &Sample, met: Met| plan.fate(&mut levels, met);
        let done = hand.step(store, evictions, (PIECE, now), decide)?;
        drop(hand);
        self.gone += done.gone.len();
        self.end(&levels, items, done.is_round);
        Ok(self.is_filling || self.giving.is_some() || !done.gone.is_empty())
    }

    /// What goes in the next step.
    fn plan(&self, levels: &Levels, sample: &Sample, is_low: bool) -> Plan {
        let below = |size: &Size| match size.share() {
            0.0 => Worth::LEAST,
            _ if !self.is_filling => Worth::LEAST,
            share => sample.below(share),
        };
        let mut plan = Plan {
            below: levels.sizes.iter().map(below).collect(),
            alone: if is_low { sample.below(ALONE) } else { Worth::LEAST },
            keeps: levels.sizes.iter().map(|size| size.target).collect(),
            moves: None,
        };
        if let Some(giving) = self.giving
            && let Room::Chunk(index) = levels.room(giving.chunk)
        {
            let is_such = |record| levels.room(record) == Room::Chunk(index);
            plan.below[index] = sample.below_of(is_such, giving.share);
            plan.keeps[index] = giving.keeps(&levels.sizes[index]);
            plan.moves = giving.moves.then_some(index);
        }
        plan
    }

    /// Goes on to what comes after a step.
    fn end(&mut self, levels: &Levels, items: usize, is_round: bool) {
        self.is_filling &= !is_round && levels.sizes.iter().any(|size| size.free < size.target);
        let Some(giving) = &mut self.giving else { return };
        giving.met += PIECE;
        let is_round = giving.met >= items + PIECE;
        match levels.sizes.iter().find(|size| size.chunk == giving.chunk) {
            Some(_) if giving.moves && is_round => self.giving = None,
            Some(size) if !giving.moves && size.free >= giving.keeps(size) => {
                (giving.moves, giving.met) = (true, 0);
            }
            Some(_) if is_round => (giving.share, giving.met) = ((2.0 * giving.share).min(1.0), 0),
            Some(_) => {}
            None => self.giving = None,
        }
    }
}

/// The size that gives spans back: the one whose items are worth least. Of those that are as large as what is missing, that
/// is; so a size with few items does not lose all of them while another has plenty.
fn giver(levels: &Levels, sample: &Sample) -> Option<Giving> {
    let missing = levels.high.saturating_sub(levels.reserve);
    let most = levels.sizes.iter().map(|size| size.spans).max()?;
    let enough = (4 * missing).min(most);
    let large = levels.sizes.iter().enumerate().filter(|(_, size)| size.spans >= enough);
    let common = sample.below(0.5);
    let (_, size) = large.max_by(|(a, _), (b, _)| {
        let cold = |index: usize| cold(levels, sample, index, common);
        cold(*a).total_cmp(&cold(*b))
    })?;
    let bytes = (size.free + missing + missing / 4).min(size.spans);
    let share = (bytes as f64 / size.spans.max(1) as f64).clamp(1.0 / 16.0, 1.0);
    let (chunk, spans) = (size.chunk, size.spans);
    Some(Giving { chunk, spans, bytes, share, moves: false, met: 0 })
}

/// The share of the items of a size that are worth less than `common`, or are chunks that are free already.
fn cold(levels: &Levels, sample: &Sample, index: usize, common: Worth) -> f64 {
    let size = &levels.sizes[index];
    let free = size.free as f64 / size.spans.max(1) as f64;
    let below = sample.share_below(|record| levels.room(record) == Room::Chunk(index), common);
    free + (1.0 - free) * below
}

/// What goes.
struct Plan {
    /// For each size, the worth below which items go.
    below: Vec<Worth>,
    /// For each size, the bytes of free chunks from which on none goes.
    keeps: Vec<u64>,
    /// The same worth for items with spans of their own.
    alone: Worth,
    /// The size whose items move.
    moves: Option<usize>,
}

impl Plan {
    fn fate(&self, levels: &mut Levels, met: Met) -> Fate {
        match levels.room(met.record) {
            Room::Chunk(index) => {
                let size = &mut levels.sizes[index];
                if met.worth < self.below[index] && size.free < self.keeps[index] {
                    size.free += size.chunk;
                    Fate::Goes
                } else if self.moves == Some(index) {
                    Fate::Moves
                } else {
                    Fate::Stays
                }
            }
            Room::Alone if met.worth < self.alone && levels.reserve < levels.high => {
                levels.reserve += met.record;
                Fate::Goes
            }
            Room::Alone => Fate::Stays,
        }
    }
}
