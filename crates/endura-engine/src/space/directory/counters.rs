//! The counters of a map, sharded so that the first threads of a program have a shard each.
//!
//! The shards are in groups, each for a few threads with neighbouring numbers. A group is allocated when the first of
//! its threads counts. So a map that is only read has none, and a map that few threads write to has a group or two.

use crate::runtime::once_box::OnceBox;
use crate::runtime::thread;
use crate::sync::{AtomicU64, Ordering};

/// Threads of a group. (Thread numbers are assigned from 0 on, so that a program with few threads has few groups.)
const IN_GROUP: usize = if cfg!(all(test, loom)) { 2 } else { 4 };
/// The number of groups. All further threads share one shard.
const GROUPS: usize = if cfg!(all(test, loom)) { 1 } else { 16 };

/// How many times [`Counters::sum`] counts before it takes the best result.
const MOST_COUNTS: usize = 64;

/// The counts of one thread: entries that came, entries that went, and leaves or nodes that were retired. No count ever
/// decreases.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    came: AtomicU64,
    went: AtomicU64,
    retired: AtomicU64,
}

/// The counters of a map.
#[derive(Debug)]
pub(crate) struct Counters {
    groups: [OnceBox<[Shard; IN_GROUP]>; GROUPS],
    /// The shard of all further threads.
    rest: OnceBox<Shard>,
    /// Entries that the map had when these counters were made.
    before: u64,
}

impl Counters {
    /// The counters of a map that has `entries` entries now.
    pub(crate) fn new(entries: u64) -> Self {
        let groups = [const { OnceBox::new() }; GROUPS];
        Self { groups, rest: OnceBox::new(), before: entries }
    }

    /// Counts entries that came (a positive number) or went (a negative one).
    #[inline(always)]
    pub(crate) fn add(&self, entries: i64) {
        match entries {
            ..0 => self.add_to(|shard| &shard.went, entries.unsigned_abs()),
            0.. => self.add_to(|shard| &shard.came, entries.unsigned_abs()),
        }
    }

    /// Counts a leaf or node that is about to be retired.
    #[inline(always)]
    pub(crate) fn note_retired(&self) {
        self.add_to(|shard| &shard.retired, 1);
    }

    /// Adds to a counter of the calling thread's shard.
    #[inline(always)]
    fn add_to(&self, counter: fn(&Shard) -> &AtomicU64, n: u64) {
        let thread = thread::current();
        match self.groups.get(thread / IN_GROUP).and_then(OnceBox::get) {
            Some(group) => add_alone(counter(&group[thread % IN_GROUP]), n),
            None => self.add_first(thread, counter, n),
        }
    }

    /// Does what `add_to` does, for a thread that has no shard of its own, or whose group does not exist yet.
    #[cold]
    #[inline(never)]
    fn add_first(&self, thread: usize, counter: fn(&Shard) -> &AtomicU64, n: u64) {
        if let Some(group) = self.groups.get(thread / IN_GROUP) {
            add_alone(counter(&group.make(Default::default)[thread % IN_GROUP]), n);
        } else {
            // Release, as in `add_alone`.
            counter(self.rest.make(Shard::default)).fetch_add(n, Ordering::Release);
        }
    }

    /// The sum of one counter over all threads, without `before`. A group that does not exist yet counts as zeros,
    /// which is right for a moment of the call: a thread that has seen the effect of a counted operation sees the shard
    /// of the thread that counted it.
    fn total(&self, counter: fn(&Shard) -> &AtomicU64) -> u64 {
        let shards = self.groups.iter().filter_map(OnceBox::get).flatten().chain(self.rest.get());
        // Acquire: no later read is older than the counts. Pairs with the Release of `add_alone` and `add_first`.
        shards.map(|shard| counter(shard).load(Ordering::Acquire)).fold(0, u64::wrapping_add)
    }

    /// How many leaves and nodes were retired.
    pub(crate) fn retired(&self) -> u64 {
        self.total(|shard| &shard.retired)
    }

    /// How many entries the map has, of those that are counted.
    ///
    /// The number is exact when no operation is running. Beside writers it is the number at one moment of the call,
    /// except for operations that were running then. (If entries came and went during each of many short counts in a
    /// row, it is off by no more than came and went in one of them.)
    pub(crate) fn sum(&self) -> u64 {
        let (mut best, mut error) = self.count();
        for _ in 1..MOST_COUNTS {
            if error == 0 {
                break;
            }
            let again = self.count();
            if again.1 < error {
                (best, error) = again;
            }
        }
        // The difference may be negative, because some entries are counted as gone before they go.
        u64::try_from(best).unwrap_or(0)
    }

    /// The entries that came minus those that went, and by how much this may exceed the number at one moment of the
    /// call.
    ///
    /// Four sums are taken: first of the entries that came, then of those that went, then again of those that came, and
    /// again of those that went. Entries go one by one, so there is a moment during the first sum of entries that went
    /// at which exactly that many had gone. By that moment, at most as many had come as the second sum of entries that
    /// came says, and at least as many as the first says. So the result is too large by at most the difference of the
    /// two sums of entries that came. If the two are equal, the result is right for that moment, and the fourth sum is
    /// not needed. In the same way, there is a moment during the second sum of entries that came at which exactly that
    /// many had come, so the difference of the two sums of entries that went is a limit as well.
    fn count(&self) -> (i64, u64) {
        let earlier = self.total(|shard| &shard.came);
        let went = self.total(|shard| &shard.went);
        let came = self.total(|shard| &shard.came);
        let more = came.wrapping_sub(earlier);
        let error = match more {
            0 => 0,
            _ => self.total(|shard| &shard.went).wrapping_sub(went).min(more),
        };
        (self.before.wrapping_add(came).wrapping_sub(went) as i64, error)
    }
}

/// Adds to a counter that no other thread adds to.
#[inline(always)]
fn add_alone(counter: &AtomicU64, n: u64) {
    // Release: pairs with the Acquire of `total`, so that a thread that sees that an entry went also sees that it came.
    // A thread's own counter needs no locked instruction, which would delay the cache misses of the next operation. A
    // thread that inherits a number has seen all stores of the thread that had it before.
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(n), Ordering::Release);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::PoisonError;

    use super::*;
    use crate::runtime::MANY;
    use crate::space::MapState;

    #[test]
    fn a_map_that_nobody_writes_to_is_small() {
        assert!(size_of::<MapState>() <= 512, "{}", size_of::<MapState>());
        let counters = Counters::new(7);
        assert_eq!((counters.sum(), counters.retired()), (7, 0));
        assert_eq!(groups(&counters), 0, "nobody has counted");
        counters.add(1);
        assert_eq!((counters.sum(), groups(&counters)), (8, 1));
    }

    fn groups(counters: &Counters) -> usize {
        counters.groups.iter().filter_map(OnceBox::get).count()
    }

    /// More threads run at once than have a shard of their own.
    #[test]
    fn every_thread_is_counted() {
        let _alone = MANY.lock().unwrap_or_else(PoisonError::into_inner);
        let (counters, threads) = (Counters::new(5), 2 * GROUPS * IN_GROUP);
        let together = std::sync::Barrier::new(threads);
        std::thread::scope(|scope| {
            for number in 0..threads as u64 {
                let (counters, together) = (&counters, &together);
                scope.spawn(move || {
                    together.wait();
                    (0..100).for_each(|_| counters.add(3));
                    (0..number).for_each(|_| counters.add(-1));
                    counters.note_retired();
                    together.wait();
                });
            }
        });
        let threads = threads as u64;
        assert_eq!(counters.sum(), 5 + 300 * threads - threads * (threads - 1) / 2);
        assert_eq!(counters.retired(), threads);
        // Threads of other tests have numbers as well.
        assert!(groups(&counters) > GROUPS / 2 && counters.rest.get().is_some());
    }
}
