//! What threads know of each other's stores on a machine that does not show them in one order.
//!
//! Each word has a history of stores. A thread may load the last one, or an older one as long as it
//! need not know of a later: a load with `Acquire` that meets a store with `Release` makes it know of
//! everything that the storing thread knew of. These are the views of C++'s memory model, without
//! loads of stores that are yet to come.
//!
//! Whatever is handed over outside of the medium is taken for handed over: a thread that begins an
//! operation, or is given a chunk, knows of everything.

use std::collections::BTreeMap;

use crate::choose::Random;

/// Which store a load gives, where it may be one of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stale {
    /// The last one, until the thread has met a store whose `Release` a mutant took away; the oldest
    /// from there to the end of the operation.
    Misled,
    /// An older one, once in so many loads.
    OneIn(u64),
}

/// So many threads are told apart.
const THREADS: usize = 8;

/// How many stores of each thread somebody knows of.
type Known = [u32; THREADS];

fn join(into: &mut Known, from: Known) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into = (*into).max(from));
}

/// A store to a word.
#[derive(Debug, Clone, Copy)]
struct Message {
    value: u64,
    by: usize,
    /// Which store of its thread.
    number: u32,
    /// What whoever loads it with `Acquire` knows of.
    carries: Known,
    misleads: bool,
}

/// What a thread knows.
#[derive(Debug, Clone, Default)]
struct Thread {
    known: Known,
    /// What it knew at its last fence: relaxed stores carry that.
    fenced: Known,
    /// What it will know after a fence between loads.
    pending: Known,
    /// Of words that it has loaded: no older store than that one, from now on.
    least: BTreeMap<u64, usize>,
    is_misled: bool,
    /// Stale loads of this operation.
    stale: u32,
}

/// A thread that waits for a word sees it in the end.
const MOST_STALE: u32 = 200;

/// The views of all threads.
#[derive(Debug)]
pub(super) struct Views {
    stale: Stale,
    random: Random,
    words: BTreeMap<u64, Vec<Message>>,
    threads: [Thread; THREADS],
    /// How many stores each thread has made.
    made: Known,
    /// What was known at the last store of each volatile word.
    outside: BTreeMap<u64, Known>,
}

impl Views {
    pub(super) fn new(stale: Stale, seed: u64) -> Self {
        Self {
            stale,
            random: Random::new(seed ^ 0x57A1_E000),
            words: BTreeMap::new(),
            threads: Default::default(),
            made: Known::default(),
            outside: BTreeMap::new(),
        }
    }

    /// A store that is `Release`, or not; `before` is what the word held so far.
    pub(super) fn store(
        &mut self,
        by: u32,
        (at, before, value): (u64, u64, u64),
        release: bool,
        misleads: bool,
    ) {
        let by = by as usize % THREADS;
        self.made[by] += 1;
        let thread = &mut self.threads[by];
        thread.known[by] = self.made[by];
        let carries = if release { thread.known } else { thread.fenced };
        let word = self.words.entry(at).or_insert_with(|| vec![Message::first(before)]);
        word.push(Message { value, by, number: self.made[by], carries, misleads });
        thread.least.insert(at, word.len() - 1);
    }

    /// What a load gives; `None`: what the word holds. `is_free`: whether an older store will do.
    pub(super) fn load(&mut self, by: u32, at: u64, acquire: bool, is_free: bool) -> Option<u64> {
        let word = self.words.get(&at)?;
        let thread = &mut self.threads[by as usize % THREADS];
        let last = word.len() - 1;
        let known = word.iter().rposition(|m| m.number <= thread.known[m.by]).unwrap_or(0);
        let least = known.max(thread.least.get(&at).copied().unwrap_or(0));
        let mut chosen = last;
        if is_free && least < last && thread.stale < MOST_STALE {
            chosen = match self.stale {
                Stale::Misled if thread.is_misled => least,
                Stale::OneIn(n) if self.random.one_in(n) => {
                    least + self.random.below((last - least) as u64) as usize
                }
                _ => last,
            };
            thread.stale += u32::from(chosen != last);
        }
        thread.least.insert(at, chosen);
        let message = word[chosen];
        join(if acquire { &mut thread.known } else { &mut thread.pending }, message.carries);
        thread.is_misled |= message.misleads && message.by != by as usize % THREADS;
        (chosen != last).then_some(message.value)
    }

    /// A fence: of stores, after which they are seen in order, and of loads.
    pub(super) fn fence(&mut self, by: u32) {
        self.fence_loads(by);
        let thread = &mut self.threads[by as usize % THREADS];
        thread.fenced = thread.known;
    }

    /// What was loaded so far comes before what is loaded from now on.
    pub(super) fn fence_loads(&mut self, by: u32) {
        let thread = &mut self.threads[by as usize % THREADS];
        join(&mut thread.known, thread.pending);
    }

    /// The thread comes to know of everything, by ways that are not those of the medium.
    pub(super) fn know_all(&mut self, by: u32) {
        let thread = &mut self.threads[by as usize % THREADS];
        thread.known = self.made;
        (thread.is_misled, thread.stale) = (false, 0);
    }

    /// A volatile word is stored with `Release`.
    pub(super) fn publish(&mut self, by: u32, what: u64) {
        join(self.outside.entry(what).or_default(), self.threads[by as usize % THREADS].known);
    }

    /// And loaded with `Acquire`.
    pub(super) fn observe(&mut self, by: u32, what: u64) {
        if let Some(&known) = self.outside.get(&what) {
            join(&mut self.threads[by as usize % THREADS].known, known);
        }
    }
}

impl Message {
    /// What a word held before anybody stored to it: everybody knows that.
    fn first(value: u64) -> Self {
        Self { value, by: 0, number: 0, carries: Known::default(), misleads: false }
    }
}
