//! What all handles of one map share, in DRAM.

use std::any::Any;
use std::sync::Arc;

use super::layout::ENTRY;
use crate::media::LINE;
use crate::sync::{AtomicBool, AtomicI64, AtomicU64, Mutex, OnceLock, Ordering};
use crate::volatile::thread;

/// Counters of a map's entries: one for each of the first threads, the last for all others.
const SHARDS: usize = 64;

#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard(AtomicI64);

/// Which entries the sum of a map's counters stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// All of them.
    All,
    /// Those with a key below this one: a count is under way, or has not begun.
    Below(u64),
}

/// The state of a named map that all its handles share. Volatile, except for the words of the
/// directory entry that it points to.
#[derive(Debug)]
pub struct MapState {
    name: String,
    kind: u8,
    parameters: u64,
    entry: u64,
    dropped: AtomicBool,
    shards: [Shard; SHARDS],
    all_counted: AtomicBool,
    counted_below: AtomicU64,
    counting: AtomicBool,
    known_root: AtomicU64,
    root_lock: Mutex<()>,
    beside: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl MapState {
    /// A map whose entries are not counted yet; with `len`, one that has exactly so many.
    pub(super) fn new(
        name: String,
        kind: u8,
        parameters: u64,
        entry: u64,
        len: Option<u64>,
    ) -> Self {
        let state = Self {
            name,
            kind,
            parameters,
            entry,
            dropped: AtomicBool::new(false),
            shards: std::array::from_fn(|_| Shard::default()),
            all_counted: AtomicBool::new(len.is_some()),
            counted_below: AtomicU64::new(0),
            counting: AtomicBool::new(false),
            known_root: AtomicU64::new(0),
            root_lock: Mutex::new(()),
            beside: OnceLock::new(),
        };
        state.shards[SHARDS - 1].0.store(len.unwrap_or(0) as i64, Ordering::Relaxed);
        state
    }

    /// The map's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which index it is; never 0. The numbers belong to the layer above.
    pub fn kind(&self) -> u8 {
        self.kind
    }

    /// The 48 bits that were recorded when the map was made.
    pub fn parameters(&self) -> u64 {
        self.parameters
    }

    /// Where the map's directory entry starts, in bytes.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// Where the map's root word lies. It belongs to the tree, which replaces it by one 8-byte
    /// store.
    pub fn root(&self) -> u64 {
        self.entry + 8 * super::directory::ROOT as u64
    }

    /// A copy of the root word in memory, 0 = not known yet: every operation begins with it.
    #[inline(always)]
    pub fn known_root(&self) -> u64 {
        // Pairs with the Release in `set_known_root`: a new root is whole, and durable, when it is
        // seen.
        self.known_root.load(Ordering::Acquire)
    }

    /// Keeps the root word that was read in the pool, unless one is known by now; returns what is.
    pub fn first_root(&self, word: u64) -> u64 {
        let first = self.known_root.compare_exchange(0, word, Ordering::AcqRel, Ordering::Acquire);
        first.map_or_else(|known| known, |_| word)
    }

    /// Tells all threads of a new root, once it is durable and before the old one is retired.
    pub fn set_known_root(&self, word: u64) {
        self.known_root.store(word, Ordering::Release);
    }

    /// Where three lines of the entry lie that the tree may use as it likes; zero in a new map.
    pub fn spare(&self) -> u64 {
        Self::spare_of(self.entry)
    }

    /// The same of the directory entry that starts at `entry`.
    pub(crate) fn spare_of(entry: u64) -> u64 {
        entry + ENTRY - 3 * LINE
    }

    /// Whether the map was dropped. To be asked after the pin: a drop waits for all pins that may
    /// have been told no.
    #[inline]
    pub fn is_dropped(&self) -> bool {
        // Pairs with `mark_dropped`; the grace period behind it does the rest.
        self.dropped.load(Ordering::Acquire)
    }

    pub(super) fn mark_dropped(&self) {
        self.dropped.store(true, Ordering::Release);
    }

    /// Counts entries that came (positive) or went, on the calling thread's counter.
    #[inline]
    pub fn add(&self, entries: i64) {
        // Relaxed: a counter orders nothing. A thread's own counter needs no locked instruction,
        // which would hold up the misses of the next operation; who inherits a thread's index has
        // seen all that the thread did.
        let index = thread::current();
        if index < SHARDS - 1 {
            let own = &self.shards[index].0;
            own.store(own.load(Ordering::Relaxed).wrapping_add(entries), Ordering::Relaxed);
        } else {
            self.shards[SHARDS - 1].0.fetch_add(entries, Ordering::Relaxed);
        }
    }

    /// The sum of the counters: exact when no operation is under way, for the entries that
    /// [`counted`](Self::counted) names.
    pub fn sum(&self) -> u64 {
        let counts = self.shards.iter().map(|shard| shard.0.load(Ordering::Relaxed));
        // Wrapping, as each of them: it is the sum that has to be a number of entries, and no part.
        let sum = counts.fold(0_i64, i64::wrapping_add);
        // One thread's removes may be seen before another's inserts.
        u64::try_from(sum).unwrap_or(0)
    }

    /// Which entries are counted.
    #[inline]
    pub fn counted(&self) -> Counted {
        // Pairs with the Release in `set_counted`: the cursor that goes with it.
        if self.all_counted.load(Ordering::Acquire) {
            Counted::All
        } else {
            Counted::Below(self.counted_below.load(Ordering::Acquire))
        }
    }

    /// Says which entries are counted from now on. It is up to the tree to let no operation count
    /// an entry twice or not at all meanwhile.
    pub fn set_counted(&self, counted: Counted) {
        if let Counted::Below(key) = counted {
            self.counted_below.store(key, Ordering::Release);
        }
        // Release: whoever sees that all are counted sees the counters that say so.
        self.all_counted.store(counted == Counted::All, Ordering::Release);
    }

    /// Whether the caller is the first that wants to count the entries, and so the one to do it.
    pub fn claim_count(&self) -> bool {
        // Relaxed: the counters have their own order.
        !self.counting.swap(true, Ordering::Relaxed)
    }

    /// What the tree keeps in DRAM beside its words in the pool, shared by all handles of the map;
    /// made by the first that asks. `None` if an earlier one made something else.
    pub(crate) fn beside<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<Arc<T>> {
        Arc::clone(self.beside.get_or_init(|| Arc::new(make()))).downcast().ok()
    }

    /// Held by the tree while it replaces its root.
    pub(crate) fn root_lock(&self) -> &Mutex<()> {
        &self.root_lock
    }
}
