//! The thread that evicts, so that stores find room. It keeps free chunks of each size that is in use, and a reserve of free
//! space for other sizes.
//!
//! While the reserve is above its high mark, nothing is evicted. Below it, items of the sizes that have few free chunks go.
//! Below the low mark, items that have spans of their own go, and if that is not enough, [windows](super::windows) are
//! cleared. So they are for a store that has found no room of its size; and if that does not help, all items go that the
//! hand meets until the store has room.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use endura::Result;

use super::evictions::{Evictions, PIECE};
use super::hand::{Fate, Met};
use super::items::Store;
use super::levels::{Levels, Room, Size};
use super::windows::{Progress, Windows};
use crate::clock::now;
use crate::eviction::{Sample, Worth};

/// The pause of a thread that has nothing to do, unless it is called.
const PAUSE: Duration = Duration::from_millis(200);
/// The share of the items with spans of their own that go in one round.
const ALONE: f64 = 0.25;
/// The most bytes of a window that is cleared for the reserve.
const MOST_EACH: u64 = 1 << 20;

/// Windows are cleared after one in so many of all items was evicted, unless a store waits.
const CLEARS: usize = 8;

/// How many windows are not cleared again while stores wait.
const MOST_TRIED: usize = 24;

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
        // A store that waits tries again after each turn, which is in vain before the windows are clear.
        if work.windows.is_none() {
            evictions.end_turn();
        }
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
    windows: Option<Windows>,
    /// The windows that were cleared for stores that still wait.
    tried: BTreeSet<u64>,
    /// The items that have gone since windows were cleared.
    gone: usize,
}

impl Work {
    /// One step, if one is due. Returns whether one was.
    pub(super) fn turn(&mut self, store: &Store, evictions: &Evictions, now: u32) -> Result<bool> {
        let items = store.count()?;
        evictions.fetches.grow(items);
        let mut levels = Levels::of(&store.pool().stats()?);
        // Relaxed, because the number orders nothing: a store that waits asks again.
        let wanted = evictions.wanted.swap(0, Ordering::Relaxed);
        let is_low = wanted > 0 || levels.reserve < levels.low && !levels.is_unknown;
        if levels.reserve >= levels.high && wanted == 0 && self.windows.is_none() {
            self.is_filling = false;
            self.tried.clear();
            return Ok(false);
        }
        self.is_filling |= levels.are_short();
        let takes_all = evictions.takes_all.swap(false, Ordering::Relaxed);
        let is_due = is_low && (wanted > 0 || self.gone > items / CLEARS);
        if is_due && self.windows.is_none() && !takes_all {
            if wanted == 0 || self.tried.len() > MOST_TRIED {
                self.tried.clear();
            }
            let missing = if wanted > 0 { levels.high } else { levels.high - levels.reserve };
            let each = if wanted > 0 { wanted } else { (levels.high / 4).min(MOST_EACH) };
            self.windows = Some(Windows::new(&levels, missing, each));
        }
        let mut hand = evictions.hand();
        let mut gone = 0;
        if self.is_filling || is_low {
            let plan = self.plan(&levels, &hand.sample, is_low, takes_all);
            let decide = |_: &Sample, met: Met| plan.fate(&mut levels, met);
            let done = hand.step(store, evictions, (PIECE, now), decide)?;
            gone = done.gone.len();
            self.is_filling &=
                !done.is_round && levels.sizes.iter().any(|size| size.free < size.target);
        }
        self.gone += gone;
        if let Some(windows) = &mut self.windows
            && let Progress::Over(more) =
                windows.step(store, evictions, &hand.sample, &mut self.tried)?
        {
            self.windows = None;
            self.gone = 0;
            evictions.cleared.fetch_add(1, Ordering::Relaxed);
            gone += more;
        }
        Ok(self.is_filling || self.windows.is_some() || gone > 0)
    }

    /// What goes in the next step.
    fn plan(&self, levels: &Levels, sample: &Sample, is_low: bool, takes_all: bool) -> Plan {
        let sizes = levels.sizes.iter();
        if takes_all {
            let below = sizes.map(|_| Worth::MOST).collect();
            return Plan { below, keeps: vec![u64::MAX; levels.sizes.len()], alone: Worth::MOST };
        }
        let below = |size: &Size| match size.share() {
            0.0 => Worth::LEAST,
            _ if !self.is_filling => Worth::LEAST,
            share => sample.below(share),
        };
        Plan {
            below: sizes.map(below).collect(),
            keeps: levels.sizes.iter().map(|size| size.target).collect(),
            alone: if is_low { sample.below(ALONE) } else { Worth::LEAST },
        }
    }
}

/// What goes.
struct Plan {
    /// For each size, the worth below which items go.
    below: Vec<Worth>,
    /// For each size, the bytes of free chunks from which on none goes.
    keeps: Vec<u64>,
    /// The same worth for items with spans of their own.
    alone: Worth,
}

impl Plan {
    fn fate(&self, levels: &mut Levels, met: Met) -> Fate {
        match levels.room(met.record) {
            Room::Chunk(index) => {
                let size = &mut levels.sizes[index];
                if met.worth < self.below[index] && size.free < self.keeps[index] {
                    size.free += size.chunk;
                    Fate::Goes
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
