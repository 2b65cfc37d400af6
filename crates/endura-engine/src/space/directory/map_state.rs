//! The state in DRAM that all handles of one map share.

use std::any::Any;
use std::sync::Arc;

use crate::media::LINE;
use crate::space::directory::counters::Counters;
use crate::space::directory::pops::Pops;
use crate::space::layout::ENTRY;
use crate::sync::{AtomicBool, AtomicU64, Mutex, OnceLock, Ordering, fence};
use crate::types::Types;

/// Which entries of a map its counters include.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// All entries.
    All,
    /// The entries with a key below this one. A count is running, or has not begun.
    Below(u64),
}

/// The recorded facts about a map, which do not change.
#[derive(Debug)]
pub(crate) struct MapFacts {
    pub(crate) kind: u8,
    pub(crate) parameters: u64,
    pub(crate) types: Types,
    /// Where its directory entry starts.
    pub(crate) entry: u64,
}

/// The state of a named map that all its handles share. The state is volatile, except for the words of the directory
/// entry that it refers to.
#[derive(Debug)]
pub struct MapState {
    /// Locked only while the name is read or replaced.
    name: Mutex<Arc<str>>,
    facts: MapFacts,
    dropped: AtomicBool,
    counters: Counters,
    all_counted: AtomicBool,
    counted_below: AtomicU64,
    counting: AtomicBool,
    background_count: AtomicBool,
    known_root: AtomicU64,
    root_lock: Mutex<()>,
    pops: Pops,
    /// Commits of several changes, of this map among them, that have begun and have ended.
    commits: [AtomicU64; 2],
    beside: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl MapState {
    /// A map with `len` entries; with `None`, a map whose entries are not counted yet.
    pub(crate) fn new(name: String, facts: MapFacts, len: Option<u64>) -> Self {
        Self {
            name: Mutex::new(name.into()),
            facts,
            dropped: AtomicBool::new(false),
            counters: Counters::new(len.unwrap_or(0)),
            all_counted: AtomicBool::new(len.is_some()),
            counted_below: AtomicU64::new(0),
            counting: AtomicBool::new(false),
            background_count: AtomicBool::new(false),
            known_root: AtomicU64::new(0),
            root_lock: Mutex::new(()),
            pops: Pops::default(),
            commits: [AtomicU64::new(0), AtomicU64::new(0)],
            beside: OnceLock::new(),
        }
    }

    /// The name that the map has at this moment.
    pub fn name(&self) -> Arc<str> {
        Arc::clone(&self.name.lock())
    }

    pub(crate) fn set_name(&self, name: &str) {
        *self.name.lock() = name.into();
    }

    /// The kind of index; never 0. The numbers belong to the layer above.
    pub fn kind(&self) -> u8 {
        self.facts.kind
    }

    /// The 48 bits that were recorded when the map was made.
    pub fn parameters(&self) -> u64 {
        self.facts.parameters
    }

    /// The types that were recorded when the map was made.
    pub fn types(&self) -> &Types {
        &self.facts.types
    }

    /// Where the map's directory entry starts, in bytes.
    pub fn entry(&self) -> u64 {
        self.facts.entry
    }

    /// Where the map's root word lies. The word belongs to the tree, which replaces it by one 8-byte store.
    pub fn root(&self) -> u64 {
        self.facts.entry + 8 * crate::space::directory::entry::ROOT as u64
    }

    /// A copy of the root word in memory; 0 = not known yet. Every operation begins with it.
    #[inline(always)]
    pub fn known_root(&self) -> u64 {
        // Pairs with the Release in `set_known_root`: a thread that sees a new root finds it complete and durable.
        self.known_root.load(Ordering::Acquire)
    }

    /// Keeps the root word that was read in the pool, unless one is known already. Returns the root word that is known
    /// now.
    pub fn first_root(&self, word: u64) -> u64 {
        let first = self.known_root.compare_exchange(0, word, Ordering::AcqRel, Ordering::Acquire);
        first.map_or_else(|known| known, |_| word)
    }

    /// Publishes a new root to all threads, once it is durable and before the old one is retired.
    pub fn set_known_root(&self, word: u64) {
        self.known_root.store(word, Ordering::Release);
    }

    /// Where the three lines begin that the tree may use freely in the map's directory entry. The lines are zero in a
    /// new map.
    pub fn spare(&self) -> u64 {
        Self::spare_of(self.facts.entry)
    }

    /// Where those three lines begin in the directory entry that starts at `entry`.
    pub(crate) fn spare_of(entry: u64) -> u64 {
        entry + ENTRY - 3 * LINE
    }

    /// Whether the map was dropped. This must be read after the pin has begun, because a drop waits for every pin that
    /// may have read "not dropped".
    #[inline]
    pub fn is_dropped(&self) -> bool {
        // Pairs with `mark_dropped`. The drop then waits for a grace period.
        self.dropped.load(Ordering::Acquire)
    }

    pub(crate) fn mark_dropped(&self) {
        self.dropped.store(true, Ordering::Release);
    }

    /// Counts entries that came (a positive number) or went (a negative one), on the calling thread's counter. It must
    /// be called before the operation's last locked instruction, so that every count after the operation has returned
    /// includes them.
    #[inline(always)]
    pub fn add(&self, entries: i64) {
        self.counters.add(entries);
    }

    /// Counts a leaf or node that has been removed from the tree and is about to be retired.
    #[inline]
    pub(crate) fn note_retired(&self) {
        self.counters.note_retired();
    }

    /// How many leaves and nodes were retired. If two calls return the same number, no chunk of the map that the caller
    /// saw before the first call, or between the two, has been reused. The reason: a reuse follows
    /// [`note_retired`](Self::note_retired), and a thread that sees a store of the new owner sees that count (both
    /// reads are Acquire).
    pub(crate) fn retired(&self) -> u64 {
        self.counters.retired()
    }

    /// How many of the entries that [`counted`](Self::counted) names the map has.
    ///
    /// The number is exact when no operation is running. Beside writers it is the number at one moment of the call,
    /// except for operations that were running then. (If entries came and went during each of many short counts in a
    /// row, it is off by no more than came and went in one of them.)
    pub fn sum(&self) -> u64 {
        self.counters.sum()
    }

    /// Which entries are counted.
    #[inline]
    pub fn counted(&self) -> Counted {
        // Pairs with the Release in `set_counted`: a thread that sees the state sees the counters that go with it.
        if self.all_counted.load(Ordering::Acquire) {
            Counted::All
        } else {
            Counted::Below(self.counted_below.load(Ordering::Acquire))
        }
    }

    /// Sets which entries are counted. While this changes, the tree must make sure that each operation counts its entry
    /// exactly once.
    pub fn set_counted(&self, counted: Counted) {
        if let Counted::Below(key) = counted {
            self.counted_below.store(key, Ordering::Release);
        }
        // Release: a thread that sees that all entries are counted sees their counters.
        self.all_counted.store(counted == Counted::All, Ordering::Release);
    }

    /// Whether the caller is the first that wants to count the entries, and so has to do it.
    pub fn claim_count(&self) -> bool {
        // Relaxed: the counters have their own order.
        !self.counting.swap(true, Ordering::Relaxed)
    }

    /// Does what [`claim_count`](Self::claim_count) does, for a count in the background. Such a count is tried once:
    /// after a failure it would fail again, and a caller that wants the exact number gets the error.
    pub(crate) fn claim_background_count(&self) -> bool {
        !self.background_count.swap(true, Ordering::Relaxed) && self.claim_count()
    }

    /// Lets another caller count, if some entries are not counted yet.
    pub(crate) fn give_back_count(&self) {
        self.counting.store(false, Ordering::Relaxed);
    }

    /// The tree's own state in DRAM, shared by all handles of the map. The first handle that needs it makes it. `None`
    /// if it was made as another type.
    pub(crate) fn beside<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<Arc<T>> {
        Arc::clone(self.beside.get_or_init(|| Arc::new(make()))).downcast().ok()
    }

    /// Notes that a commit is about to change the map. Several may do so at the same time.
    pub(crate) fn begin_commit(&self) {
        // Release: who sees a change that is made after this sees the count (`commits`).
        self.commits[0].fetch_add(1, Ordering::Release);
    }

    /// Notes that the commit that has begun is applied.
    pub(crate) fn end_commit(&self) {
        // Release: pairs with the Acquire of `commits`: who sees the end finds all changes.
        self.commits[1].fetch_add(1, Ordering::Release);
    }

    /// How many commits have begun, and how many have ended. If the numbers are equal, none was under way at the moment at
    /// which the second one was read.
    pub(crate) fn commits(&self) -> [u64; 2] {
        // The ends are read first: each commit that counts as ended has begun before. Acquire: pairs with the Release of
        // `end_commit`, and comes before the look at the map.
        let ended = self.commits[1].load(Ordering::Acquire);
        [self.commits[0].load(Ordering::Acquire), ended]
    }

    /// Whether no commit is changing the map.
    pub(crate) fn is_quiet(&self) -> bool {
        let [begun, ended] = self.commits();
        begun == ended
    }

    /// How many commits have begun, for who has looked at the map since it knew the number.
    pub(crate) fn commits_begun(&self) -> u64 {
        // Pairs with the Release of the stores of a commit: the look at the map comes before this load, and has seen the
        // count if it has seen a change.
        fence(Ordering::Acquire);
        self.commits[0].load(Ordering::Relaxed)
    }

    /// The announcement of the running pop.
    #[inline(always)]
    pub(crate) fn pops(&self) -> &Pops {
        &self.pops
    }

    /// A lock that the tree holds while it replaces its root.
    pub(crate) fn root_lock(&self) -> &Mutex<()> {
        &self.root_lock
    }
}
