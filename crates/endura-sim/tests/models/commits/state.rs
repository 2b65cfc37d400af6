//! The words of a pool and its threads, and what crashes leave of them.

use super::specification::{KEYS, Op, Specification, THREADS, Values};

/// A word that is flushed by itself: what a crash may leave of it, the oldest first. The last is what is seen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Durable<T>(Vec<T>);

impl<T: Copy + PartialEq> Durable<T> {
    fn new(value: T) -> Self {
        Self(vec![value])
    }

    pub(crate) fn get(&self) -> T {
        self.0[self.0.len() - 1]
    }

    pub(crate) fn set(&mut self, value: T) {
        if self.get() != value {
            self.0.push(value);
        }
    }

    pub(crate) fn flush(&mut self) {
        self.0 = vec![self.get()];
    }
}

/// What a commit does to each key.
pub(crate) type Plan = [Option<u8>; KEYS];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Flight {
    Free,
    Locked,
    Committed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    Outside,
    Careless,
    Claimed { stripe: usize, number: u8 },
}

/// Where a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum At {
    Start,
    // A writer of one key.
    Pinned,
    Gate,
    Claimed,
    Mark,
    Looks(usize),
    Waits(usize),
    Stores,
    Stored,
    // A reader of one key; a transaction does the same for its two keys.
    Reads,
    ReadsMark,
    ReadsFlight(usize),
    ReadsIntent(usize),
    ReadsTree,
    // A commit.
    ComparesEarly(usize),
    Mode,
    Barrier,
    Entry(usize),
    Takes,
    Marks(usize),
    Claims(usize),
    Compares(usize),
    Intent,
    IntentFlushed,
    Word,
    WordFlushed,
    Commits,
    Applies(usize),
    Applied(usize),
    Clears,
    Cleared,
    Unmarks,
    Ends,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Thread {
    /// Operations that have ended.
    pub(crate) ops: usize,
    pub(crate) at: At,
    /// What a transaction has read.
    pub(crate) read: Vec<u8>,
    pub(crate) plan: Plan,
    pub(crate) told: u8,
    /// The number of a claim that is waited for.
    pub(crate) claim: Option<u8>,
    /// Whether a transaction has to begin again.
    pub(crate) again: bool,
}

impl Thread {
    pub(crate) fn new(ops: usize) -> Self {
        Self {
            ops,
            at: At::Start,
            read: Vec::new(),
            plan: [None; KEYS],
            told: 0,
            claim: None,
            again: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) tree: [Durable<u8>; KEYS],
    /// The BATCH word of each flight; thread `i` has flight `i`.
    pub(crate) word: [Durable<bool>; THREADS],
    pub(crate) intent: [Durable<Option<Plan>>; THREADS],
    pub(crate) is_on: bool,
    /// Commits under way, and whether one of them enters the mode.
    pub(crate) users: u8,
    pub(crate) enters: bool,
    pub(crate) marks: [Option<usize>; KEYS],
    pub(crate) flights: [(Flight, Plan, [bool; KEYS]); THREADS],
    pub(crate) slots: [Slot; THREADS],
    /// Claims that each thread has made.
    pub(crate) claims: [u8; THREADS],
    /// Stores of each thread to its slot that are not seen yet.
    pub(crate) buffers: [Vec<Slot>; THREADS],
    pub(crate) threads: [Thread; THREADS],
    pub(crate) specification: Specification,
}

impl State {
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            tree: [(); KEYS].map(|()| Durable::new(0)),
            word: [(); THREADS].map(|()| Durable::new(false)),
            intent: [(); THREADS].map(|()| Durable::new(None)),
            is_on,
            users: 0,
            enters: false,
            marks: [None; KEYS],
            flights: [(Flight::Free, [None; KEYS], [false; KEYS]); THREADS],
            slots: [Slot::Outside; THREADS],
            claims: [0; THREADS],
            buffers: Default::default(),
            threads: [(); THREADS].map(|()| Thread::new(0)),
            specification: Specification::new(),
        }
    }

    /// All buffered stores of a thread are seen.
    pub(crate) fn drain(&mut self, thread: usize) {
        if let Some(last) = self.buffers[thread].pop() {
            self.slots[thread] = last;
            self.buffers[thread].clear();
        }
    }

    /// The states in which one more buffered store is seen.
    pub(crate) fn drained_by_one(&self) -> Vec<Self> {
        let waiting = (0..THREADS).filter(|&thread| !self.buffers[thread].is_empty());
        let seen = |thread: usize| {
            let mut next = self.clone();
            next.slots[thread] = next.buffers[thread].remove(0);
            next
        };
        waiting.map(seen).collect()
    }

    /// The chunk of an intent may be reused, if no word that a crash leaves leads to it.
    pub(crate) fn forget_intent(&mut self, flight: usize) {
        if self.word[flight].0 == [false] {
            self.intent[flight] = Durable::new(None);
        }
    }

    pub(crate) fn begin(&mut self, thread: usize, op: Op) {
        self.specification.begin(thread, op);
    }

    pub(crate) fn end(&mut self, thread: usize, told: u8) -> Result<(), String> {
        self.threads[thread] = Thread::new(self.threads[thread].ops + 1);
        self.specification.answer(thread, told)
    }

    /// What the end of the process leaves, and a power loss.
    pub(crate) fn check_crashes(&self, replays: bool, loses_power: bool) -> Result<(), String> {
        let last = |versions: &[usize]| versions.iter().map(|count| count - 1).collect::<Vec<_>>();
        let counts = self.versions();
        self.check_left(&last(&counts), replays)?;
        if !loses_power {
            return Ok(());
        }
        let mut chosen = vec![0; counts.len()];
        loop {
            self.check_left(&chosen, replays)?;
            let Some(next) = (0..counts.len()).find(|&i| chosen[i] + 1 < counts[i]) else {
                return Ok(());
            };
            chosen[next] += 1;
            chosen[..next].fill(0);
        }
    }

    fn versions(&self) -> Vec<usize> {
        let tree = self.tree.iter().map(|word| word.0.len());
        let words = self.word.iter().map(|word| word.0.len());
        tree.chain(words).chain(self.intent.iter().map(|intent| intent.0.len())).collect()
    }

    /// One choice of what is left of each word, after the replay.
    fn check_left(&self, chosen: &[usize], replays: bool) -> Result<(), String> {
        let mut values: Values = [0; KEYS];
        values.iter_mut().enumerate().for_each(|(i, value)| *value = self.tree[i].0[chosen[i]]);
        for flight in (0..THREADS).filter(|_| replays) {
            if !self.word[flight].0[chosen[KEYS + flight]] {
                continue;
            }
            let Some(plan) = self.intent[flight].0[chosen[KEYS + THREADS + flight]] else {
                return Err("a BATCH word leads to an intent that is not there".to_owned());
            };
            plan.iter().zip(&mut values).for_each(|(new, value)| *value = new.unwrap_or(*value));
        }
        match self.specification.allows(values) {
            true => Ok(()),
            false => Err(format!("a crash leaves {values:?}, which no order of the calls tells")),
        }
    }
}
