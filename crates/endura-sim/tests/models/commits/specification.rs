//! Which orders of the operations explain what was told so far.

use std::collections::BTreeSet;

/// Keys of a model, and most of its threads.
pub(crate) const KEYS: usize = 3;
pub(crate) const THREADS: usize = 4;

/// The value of each key; 0 = none.
pub(crate) type Values = [u8; KEYS];

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Op {
    Put(usize, u8),
    Get(usize),
    /// Several changes at once; `None` leaves the key alone.
    Batch([Option<u8>; KEYS]),
    /// A batch that finds no room once it has marked its keys.
    Full([Option<u8>; KEYS]),
    /// A transaction that gives the second key the value of the first one.
    Copy(usize, usize),
    /// A transaction that gives the first key the value 1 if it and the second one have none.
    PutIfBothAbsent(usize, usize),
}

impl Op {
    /// The keys that a transaction reads.
    pub(crate) fn reads(self) -> Option<[usize; 2]> {
        match self {
            Self::Copy(first, second) | Self::PutIfBothAbsent(first, second) => {
                Some([first, second])
            }
            _ => None,
        }
    }

    /// What a transaction changes that has read these values, and what it returns.
    pub(crate) fn outcome(self, [first, second]: [u8; 2]) -> ([Option<u8>; KEYS], u8) {
        let mut plan = [None; KEYS];
        match self {
            Self::Batch(all) | Self::Full(all) => (all, 0),
            Self::Copy(_, to) => {
                plan[to] = Some(first);
                (plan, first)
            }
            Self::PutIfBothAbsent(key, _) if first == 0 && second == 0 => {
                plan[key] = Some(1);
                (plan, 1)
            }
            _ => (plan, 0),
        }
    }

    fn apply(self, mut values: Values) -> (Values, u8) {
        match self {
            Self::Put(key, value) => values[key] = value,
            Self::Get(key) => return (values, values[key]),
            Self::Full(_) => {}
            _ => {
                let read = self.reads().map_or([0; 2], |keys| keys.map(|key| values[key]));
                let (plan, told) = self.outcome(read);
                plan.iter()
                    .zip(&mut values)
                    .for_each(|(new, value)| *value = new.unwrap_or(*value));
                return (values, told);
            }
        }
        (values, 0)
    }
}

/// A way in which it may have been: the values, and what those operations in flight return that have taken effect.
type Way = (Values, [Option<u8>; THREADS]);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Specification {
    ways: BTreeSet<Way>,
    in_flight: [Option<Op>; THREADS],
}

impl Specification {
    pub(crate) fn new() -> Self {
        Self { ways: BTreeSet::from([([0; KEYS], [None; THREADS])]), in_flight: [None; THREADS] }
    }

    pub(crate) fn begin(&mut self, thread: usize, op: Op) {
        self.in_flight[thread] = Some(op);
    }

    /// All ways, with any of the operations in flight added in any order.
    fn reachable(&self) -> BTreeSet<Way> {
        let mut all = self.ways.clone();
        let mut open: Vec<Way> = all.iter().copied().collect();
        while let Some((values, done)) = open.pop() {
            for thread in 0..THREADS {
                let Some(op) = self.in_flight[thread].filter(|_| done[thread].is_none()) else {
                    continue;
                };
                let (after, told) = op.apply(values);
                let mut done = done;
                done[thread] = Some(told);
                if all.insert((after, done)) {
                    open.push((after, done));
                }
            }
        }
        all
    }

    /// A thread is told something. Fails if no order explains it.
    pub(crate) fn answer(&mut self, thread: usize, told: u8) -> Result<(), String> {
        let explained = |(_, done): &Way| done[thread] == Some(told);
        let ways = self.reachable().into_iter().filter(explained);
        self.ways = ways
            .map(|(values, mut done)| {
                done[thread] = None;
                (values, done)
            })
            .collect();
        self.in_flight[thread] = None;
        if self.ways.is_empty() {
            return Err(format!("no order explains that thread {thread} is told {told}"));
        }
        Ok(())
    }

    /// Whether a crash may leave these values.
    pub(crate) fn allows(&self, values: Values) -> bool {
        self.ways.iter().any(|way| way.0 == values)
            || self.reachable().into_iter().any(|way| way.0 == values)
    }
}
