//! The operations of a writer thread. The same seed and the same contents always give the same operations, so that the
//! verifier can compute what the map must hold.

use std::collections::BTreeMap;

use super::keyspace::{HOT_KEYS, Shape, hot_key, own, part_of};

/// One operation, and its expected effect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) key: u64,
    pub(crate) action: Action,
    /// The value before; for a shared key, the thread's own count.
    pub(crate) before: Option<u64>,
    /// The value after.
    pub(crate) after: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    Insert(u64),
    InsertNew(u64),
    Update(u64),
    Remove,
    Exchange {
        expected: Option<u64>,
        new: Option<u64>,
    },
    /// Increments the thread's counter, by `fetch_update`.
    Count,
    /// Increments the thread's counter, by a loop of `compare_exchange`.
    CountByExchange,
}

impl Action {
    fn after(self, before: Option<u64>) -> Option<u64> {
        match self {
            Self::Insert(value) => Some(value),
            Self::InsertNew(value) => before.or(Some(value)),
            Self::Update(value) => before.map(|_| value),
            Self::Exchange { expected, new } if expected == before => new,
            Self::Exchange { .. } => before,
            Self::Remove => None,
            Self::Count | Self::CountByExchange => before.map(|count| count.wrapping_add(1)),
        }
    }
}

/// The order in which a phase visits the keys.
#[derive(Debug, Clone, Copy)]
enum Order {
    Random,
    Ascending,
    Descending,
}

/// One thread's operations of one round, without end. Phases in which the thread's part of the map grows alternate with
/// phases in which it shrinks, often to nothing: nodes split and merge, and the root changes.
pub(crate) struct RoundPlan {
    rng: fastrand::Rng,
    shape: Shape,
    thread: usize,
    threads: usize,
    /// The thread's part of the map after all steps drawn so far.
    pub(crate) entries: BTreeMap<u64, u64>,
    /// How often the thread has counted in each shared key, starting with the counts that its lanes showed.
    pub(crate) counts: [u64; HOT_KEYS],
    growing: bool,
    turn_at: u64,
    order: Order,
    cursor: u64,
}

impl RoundPlan {
    /// The operations of `thread` in `round`, starting with a map that holds `contents`.
    pub(crate) fn new(
        seed: u64,
        round: u64,
        thread: usize,
        threads: usize,
        contents: &BTreeMap<u64, u64>,
    ) -> Self {
        let mixed = endura_console::keys::key(seed ^ endura_console::keys::key(round));
        let (entries, counts) = part_of(contents, thread, threads);
        let mut plan = Self {
            rng: fastrand::Rng::with_seed(mixed.wrapping_add(thread as u64)),
            shape: Shape::of(seed, round),
            thread,
            threads,
            growing: false,
            turn_at: 0,
            order: Order::Random,
            cursor: 0,
            entries,
            counts,
        };
        // An earlier round may leave more keys than a smaller one grows to. Such a round shrinks first.
        let full = plan.entries.len() as u64 > plan.shape.scale;
        plan.turn(!full);
        plan
    }

    fn turn(&mut self, growing: bool) {
        let scale = self.shape.scale;
        self.growing = growing;
        self.turn_at = match (growing, self.rng.bool()) {
            (true, _) => self.rng.u64(scale / 2..=scale),
            (false, true) => 0,
            (false, false) => self.rng.u64(..=scale / 4),
        };
        // Most operations are at the low end of a node, where an insert or a remove moves all other entries: the longer
        // an operation takes, the more kills interrupt it.
        let low_end = if growing { Order::Descending } else { Order::Ascending };
        let high_end = if growing { Order::Ascending } else { Order::Descending };
        self.order = match self.rng.u8(..10) {
            0..5 => low_end,
            5 => high_end,
            _ => Order::Random,
        };
        self.cursor = self.shape.draw(&mut self.rng);
    }

    /// The next operation. Afterwards the plan's contents are those that the operation leaves.
    pub(crate) fn next(&mut self) -> Step {
        let have = self.entries.len() as u64;
        if self.growing && have >= self.turn_at || !self.growing && have <= self.turn_at {
            self.turn(!self.growing);
        }
        let roll = self.rng.u8(..100);
        if roll < 4 {
            return self.count();
        }
        let (key, action) = match (roll, self.growing) {
            (4..78, true) | (78..88, false) => self.add(),
            (78..88, true) | (4..78, false) => self.take(),
            (88..96, _) => self.change(),
            _ => self.fail(),
        };
        let before = self.entries.get(&key).copied();
        let after = action.after(before);
        match after {
            Some(value) => self.entries.insert(key, value),
            None => self.entries.remove(&key),
        };
        Step { key, action, before, after }
    }

    fn count(&mut self) -> Step {
        let i = self.rng.usize(..HOT_KEYS);
        let action = if self.rng.bool() { Action::Count } else { Action::CountByExchange };
        let before = Some(self.counts[i]);
        self.counts[i] = self.counts[i].wrapping_add(1);
        Step { key: hot_key(i), action, before, after: action.after(before) }
    }

    fn add(&mut self) -> (u64, Action) {
        let (key, value) = (self.fresh_key(), self.value());
        let action = match self.rng.u8(..5) {
            0 | 1 => Action::Insert(value),
            2 | 3 => Action::InsertNew(value),
            _ => Action::Exchange { expected: self.now(key), new: Some(value) },
        };
        (key, action)
    }

    fn take(&mut self) -> (u64, Action) {
        let key = self.present_key();
        let expected = self.now(key);
        let by_exchange = self.rng.u8(..5) == 0;
        (key, if by_exchange { Action::Exchange { expected, new: None } } else { Action::Remove })
    }

    fn change(&mut self) -> (u64, Action) {
        let (key, value) = (self.present_key(), self.value());
        let action = match self.rng.u8(..3) {
            0 => Action::Insert(value),
            1 => Action::Update(value),
            _ => Action::Exchange { expected: self.now(key), new: Some(value) },
        };
        (key, action)
    }

    /// Operations that mostly have no effect, because the key is absent or present, or has another value.
    fn fail(&mut self) -> (u64, Action) {
        let value = self.value();
        match self.rng.u8(..4) {
            0 => (self.fresh_key(), Action::Update(value)),
            1 => (self.fresh_key(), Action::Remove),
            2 => (self.present_key(), Action::InsertNew(value)),
            _ => {
                let expected = Some(self.value());
                (self.present_key(), Action::Exchange { expected, new: Some(value) })
            }
        }
    }

    fn now(&self, key: u64) -> Option<u64> {
        self.entries.get(&key).copied()
    }

    /// Values repeat often: equal neighbours are a special case in a node.
    fn value(&mut self) -> u64 {
        match self.rng.u8(..8) {
            0 => 0,
            1 | 2 => 7,
            3 => u64::MAX,
            _ => self.rng.u64(..),
        }
    }

    /// A key of this thread that is probably absent.
    fn fresh_key(&mut self) -> u64 {
        let key = match self.order {
            Order::Random => self.shape.draw(&mut self.rng),
            Order::Ascending => self.cursor.wrapping_add(self.shape.stride(&mut self.rng)),
            Order::Descending => self.cursor.wrapping_sub(self.shape.stride(&mut self.rng)),
        };
        self.cursor = key;
        own(key, self.thread, self.threads)
    }

    /// A key of this thread that is present, if there is one.
    fn present_key(&mut self) -> u64 {
        let found = match self.order {
            Order::Random => {
                let from = self.shape.draw(&mut self.rng);
                self.entries.range(from..).next().or_else(|| self.entries.first_key_value())
            }
            Order::Ascending => self.entries.first_key_value(),
            Order::Descending => self.entries.last_key_value(),
        };
        let found = found.map(|(&key, _)| key);
        found.unwrap_or_else(|| self.fresh_key())
    }
}

#[cfg(test)]
mod tests {
    use super::super::keyspace::owner;
    use super::*;

    #[test]
    fn a_plan_repeats_and_stays_in_its_part() {
        let contents: BTreeMap<u64, u64> = (0..5000).map(|key| (key, key)).collect();
        for round in 0..12 {
            let plan = || RoundPlan::new(3, round, 1, 4, &contents);
            let (mut a, mut b) = (plan(), plan());
            let (mut least, mut most) = (usize::MAX, 0);
            for _ in 0..20_000 {
                let (x, y) = (a.next(), b.next());
                assert_eq!((x.key, x.before, x.after), (y.key, y.before, y.after));
                assert!(owner(x.key, 4).is_none_or(|owner| owner == 1));
                (least, most) = (least.min(a.entries.len()), most.max(a.entries.len()));
            }
            assert!(least < most, "round {round} neither grows nor shrinks");
        }
    }
}
