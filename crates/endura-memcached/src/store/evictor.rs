//! The thread that evicts, so that stores find room. It keeps free chunks of each size that is in use, and a reserve of free
//! space for other sizes.
//!
//! While the reserve is above its high mark, nothing is evicted. Below it, items of the sizes that have few free chunks go.
//! Below the low mark, items that have spans of their own go, and from time to time a [window](super::windows) is cleared.

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
use super::remembered::Remembered;
use super::windows::{clear_one, window_bytes};
use crate::clock::now;
use crate::eviction::{Sample, Worth};

/// The pause of a thread that has nothing to do, unless it is called.
const PAUSE: Duration = Duration::from_millis(200);
/// The share of the items with spans of their own that go in one round.
const ALONE: f64 = 0.25;
/// While fewer of the items have spans of their own, it is not worth while to look for them.
const FEW: f64 = 1.0 / 256.0;
/// A window is cleared after so many times its bytes were stored.
const CLEARS: u64 = 8;

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
    let (mut work, mut remembered) = (Work::default(), None);
    loop {
        let Some(store) = store.upgrade() else { return };
        let Some(evictions) = store.evictions() else { return };
        remembered.get_or_insert_with(|| Remembered::load(&store, evictions)).save(evictions);
        // If the pool fails, the replies to clients say so.
        if !work.turn(&store, evictions, now()).unwrap_or(false) {
            evictions.wait_for_call(PAUSE);
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
    /// The bytes that had been stored when a window was cleared.
    cleared_at: u64,
}

impl Work {
    /// One step, if one is due. Returns whether one was.
    pub(super) fn turn(&mut self, store: &Store, evictions: &Evictions, now: u32) -> Result<bool> {
        evictions.fetches.grow(store.count()?);
        let mut levels = Levels::of(&store.pool().stats()?);
        if levels.reserve >= levels.high {
            self.is_filling = false;
            return Ok(false);
        }
        let is_low = levels.reserve < levels.low && !levels.is_unknown;
        self.is_filling |= levels.are_short();
        let (mut gone, mut hand) = (0, evictions.hand());
        let is_alone = |record| levels.room(record) == Room::Alone;
        let has_alone = is_low && hand.sample.share_of(is_alone) > FEW;
        if self.is_filling || has_alone {
            let plan = self.plan(&levels, &hand.sample, has_alone);
            let decide = |_: &Sample, met: Met| plan.fate(&mut levels, met);
            let done = hand.step(store, evictions, (PIECE, now), decide)?;
            gone = done.gone;
            self.is_filling &=
                !done.is_round && levels.sizes.iter().any(|size| size.free < size.target);
        }
        drop(hand);
        let (window, stored) = (window_bytes(&levels, 0), evictions.stored());
        if is_low && stored - self.cleared_at >= CLEARS * window {
            clear_one(store, evictions, window, &mut BTreeSet::new())?;
            self.cleared_at = stored;
        }
        Ok(self.is_filling || gone > 0)
    }

    /// What goes in the next step.
    fn plan(&self, levels: &Levels, sample: &Sample, has_alone: bool) -> Plan {
        let sizes = levels.sizes.iter();
        let below = |size: &Size| match size.share() {
            0.0 => Worth::LEAST,
            _ if !self.is_filling => Worth::LEAST,
            share => sample.below(share),
        };
        Plan {
            below: sizes.map(below).collect(),
            keeps: levels.sizes.iter().map(|size| size.target).collect(),
            alone: if has_alone { sample.below(ALONE) } else { Worth::LEAST },
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

#[cfg(test)]
mod tests {
    use endura::Pool;

    use super::super::{About, StoreOptions, Stored, Stores};
    use super::*;
    use crate::clock::Expiry;

    const NOW: u32 = 1_000;
    const BYTES: usize = 1_000;

    fn open(folder: &std::path::Path) -> Store {
        let pool = Pool::options().max_size(32 << 20);
        let options = StoreOptions { pool, max_item: 1 << 20, evicts: true };
        Store::open(&folder.join("pool"), &options, NOW).unwrap()
    }

    fn set(store: &Store, n: usize, expiry: u32) {
        let about = About { flags: 0, expiry: Expiry(expiry), has_binary_key: false };
        let (key, data) = (format!("item {n}"), [b'd'; BYTES]);
        let stored = store.store(Stores::Set, key.as_bytes(), about, &data, NOW).unwrap();
        assert!(matches!(stored, Stored::Yes(_)));
    }

    fn is_there(store: &Store, n: usize) -> bool {
        store.get_quietly(format!("item {n}").as_bytes(), NOW, |_| ()).unwrap()
    }

    /// All turns that are due; they end.
    fn work(store: &Store, work: &mut Work) -> usize {
        let evictions = store.evictions().unwrap();
        let turns = (0..10_000).take_while(|_| work.turn(store, evictions, NOW).unwrap()).count();
        assert!(turns < 10_000);
        turns
    }

    #[test]
    fn nothing_goes_while_there_is_space() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        (0..1_000).for_each(|n| set(&store, n, 0));
        assert_eq!(work(&store, &mut Work::default()), 0);
        assert_eq!(store.count().unwrap(), 1_000);
    }

    /// Old items that nobody fetches go before new ones and before those that are fetched, and no more than there is need of.
    #[test]
    fn what_is_least_worth_keeping_goes() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        const HOT: usize = 1_000;
        let (mut thread, mut n) = (Work::default(), 0);
        while n < 40_000 {
            set(&store, n, 0);
            n += 1;
            if n == HOT {
                let fetch = |n| store.get(format!("item {n}").as_bytes(), NOW, |_| ()).unwrap();
                (0..HOT).for_each(|n| (0..15).for_each(|_| assert!(fetch(n))));
            }
            if n % 200 == 0 {
                work(&store, &mut thread);
            }
        }
        let count = |range: std::ops::Range<usize>| range.filter(|&n| is_there(&store, n)).count();
        let (hot, newest) = (count(0..HOT), count(n - 10_000..n));
        let all = store.count().unwrap();
        assert!(hot > HOT * 9 / 10, "{hot} of {HOT} that were fetched");
        assert!(newest > 9_500, "{newest} of the newest 10,000");
        // A chunk for one has 1,280 bytes.
        assert!(all * 1_280 > 28 << 20, "{all} items are few for the pool");
    }

    #[test]
    fn dead_items_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let (mut thread, mut n) = (Work::default(), 0);
        while n < 40_000 {
            set(&store, n, if n % 2 == 0 { NOW - 1 } else { 0 });
            n += 1;
            if n % 200 == 0 {
                work(&store, &mut thread);
            }
        }
        let counters = store.counters();
        let dead = counters.get(super::super::Counter::Reclaimed);
        let evicted = counters.get(super::super::Counter::Evictions);
        assert!(dead > 15_000 && evicted < 2_000, "{dead} dead ones, {evicted} others");
    }

    /// A thread that is to end does so although nobody calls it.
    #[test]
    fn the_thread_ends_with_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(open(folder.path()));
        let thread = Evictor::start(&store).unwrap();
        let begun = std::time::Instant::now();
        drop(thread);
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert_eq!(Arc::strong_count(&store), 1);
    }
}
