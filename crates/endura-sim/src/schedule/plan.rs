//! What several threads do, and in which turns: made of a family and a seed.

use crate::choose::Random;
use crate::subjects::MapOp;

use super::map::{Task, Way};
use super::turns::Strategy;

/// Kinds of plans, after what is to meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Two threads insert one key.
    InsertInsert,
    /// One inserts a key and one removes it.
    InsertRemove,
    /// One changes an entry of a node that another one splits.
    UpdateSplit,
    /// Two split neighbouring nodes, or one node twice.
    SplitSplit,
    /// One drains a node, which is merged away, and one reads there.
    MergeReader,
    /// One drains a node and one fills another, so that separators come and go in one parent.
    MergePost,
    /// One drains a node and one scans through it.
    ScanMerge,
    /// Anything.
    Mixed,
    /// One collects what a crash stranded, one drains a node and one fills another.
    Recovery,
}

impl Family {
    /// All of them but the leak recovery, which needs a start that a crash left.
    pub const ALL: [Self; 8] = [
        Self::InsertInsert,
        Self::InsertRemove,
        Self::UpdateSplit,
        Self::SplitSplit,
        Self::MergeReader,
        Self::MergePost,
        Self::ScanMerge,
        Self::Mixed,
    ];
}

/// What is run: a start, threads, turns.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What the map is made by, one thread.
    pub before: Vec<MapOp>,
    /// What each thread does.
    pub threads: Vec<Vec<Task>>,
    /// Who goes on.
    pub strategy: Strategy,
    /// Of what the strategy leaves to chance.
    pub seed: u64,
}

/// Starts of a family, so that they can be kept.
const STARTS: u64 = 64;

/// Draws keys of the right kind.
struct Draw<'a> {
    keys: &'a [u64],
    present: Vec<u64>,
    random: Random,
    /// So that every write can be told from every other.
    fresh: u64,
}

impl Plan {
    /// The plan number `seed` of a family for a map with these keys, whose writers may stop for long at
    /// `steps`; `length` is how many moves a run takes, about.
    pub fn new(
        family: Family,
        keys: &[u64],
        steps: &[&'static str],
        length: u64,
        seed: u64,
    ) -> Self {
        let mut random = Random::new(seed ^ (family as u64) << 56);
        let before = start(family, keys, random.below(STARTS));
        let mut model = std::collections::BTreeMap::new();
        for op in &before {
            op.specify(&mut model, |value| value);
        }
        let present = model.into_keys().collect();
        let mut draw = Draw { keys, present, random, fresh: 1_000 };
        let mut threads = draw.threads(family);
        if draw.random.one_in(3) {
            threads.push(draw.many(1, Draw::any));
        }
        let strategy = strategy(&mut draw.random, steps, length);
        Self { before, threads, strategy, seed }
    }
}

/// Start number `number` of a family: some keys, put in one order or another, and some taken out.
fn start(family: Family, keys: &[u64], number: u64) -> Vec<MapOp> {
    let mut random = Random::new(number ^ 0x5EED_0000 ^ (family as u64) << 8);
    let mut order: Vec<u64> = keys.to_vec();
    match random.below(3) {
        0 => order.reverse(),
        1 => (1..order.len()).for_each(|i| order.swap(i, random.below(i as u64 + 1) as usize)),
        _ => {}
    }
    let (put, removed) = match family {
        Family::InsertInsert | Family::InsertRemove | Family::Mixed => (random.below(10), 2),
        Family::UpdateSplit | Family::SplitSplit => (2 + random.below(7), 1),
        _ => (4 + random.below(8), 7),
    };
    order.truncate(put as usize);
    let mut ops: Vec<MapOp> = order.iter().map(|&key| MapOp::Put(key, key % 900 + 1)).collect();
    for _ in 0..random.below(removed + 1).min(order.len() as u64) {
        let gone = order.swap_remove(random.below(order.len() as u64) as usize);
        ops.push(MapOp::Remove(gone));
    }
    ops
}

fn strategy(random: &mut Random, steps: &[&'static str], length: u64) -> Strategy {
    let step = *random.pick(steps);
    match random.below(8) {
        0 | 1 => Strategy::Priorities { changes: 2, length },
        2 => Strategy::Random { steps: 1 << random.below(8), moves: 1 << random.below(8) },
        3 => Strategy::Random { steps: 64 << random.below(4), moves: random.below(2) * 16 },
        4 => Strategy::Random { steps: 512, moves: 512 },
        5 => Strategy::StopAt { thread: 0, step, nth: 1 + random.below(2) as usize },
        _ => Strategy::Within { step, nth: 1, moves: 1 + random.below(length / 2) },
    }
}

impl Draw<'_> {
    fn threads(&mut self, family: Family) -> Vec<Vec<Task>> {
        match family {
            Family::InsertInsert => {
                let key = self.absent();
                vec![vec![self.put(key)], vec![self.put_new(key), Task::Get(key)]]
            }
            Family::InsertRemove => {
                let key = self.absent();
                vec![vec![self.put(key), Task::Get(key)], vec![Task::Remove(key)]]
            }
            Family::UpdateSplit => {
                let (new, old) = (self.absent(), self.present());
                vec![vec![self.put(new)], vec![self.replace(old), Task::Get(new)]]
            }
            Family::SplitSplit => vec![self.many(2, Self::insert), self.many(2, Self::insert)],
            Family::MergeReader => {
                let drain = self.drain();
                vec![drain, self.many(2, Self::read)]
            }
            Family::MergePost => {
                let drain = self.drain();
                vec![drain, self.many(2, Self::insert)]
            }
            Family::ScanMerge => {
                let drain = self.drain();
                vec![drain, vec![self.scan()]]
            }
            Family::Mixed => vec![self.many(2, Self::any), self.many(2, Self::any)],
            Family::Recovery => {
                let mut drain = self.drain();
                if self.random.one_in(2) {
                    drain.push(Task::Scribble);
                }
                let mut threads = vec![vec![Task::Collect], drain];
                if self.random.one_in(2) {
                    threads.push(self.many(2, Self::insert));
                }
                threads
            }
        }
    }

    fn many(&mut self, most: u64, one: impl Fn(&mut Self) -> Task) -> Vec<Task> {
        (0..=self.random.below(most)).map(|_| one(self)).collect()
    }

    fn drain(&mut self) -> Vec<Task> {
        let from = self.random.below(self.present.len().max(1) as u64) as usize;
        let count = 1 + self.random.below(3) as usize;
        let gone: Vec<u64> = self.present.iter().skip(from).take(count).copied().collect();
        match gone.is_empty() {
            true => vec![Task::Pop(Way::Up)],
            false => gone.into_iter().map(Task::Remove).collect(),
        }
    }

    fn key(&mut self) -> u64 {
        *self.random.pick(self.keys)
    }

    fn present(&mut self) -> u64 {
        match self.present.is_empty() {
            true => self.key(),
            false => *self.random.pick(&self.present),
        }
    }

    fn absent(&mut self) -> u64 {
        let absent: Vec<u64> =
            self.keys.iter().copied().filter(|key| !self.present.contains(key)).collect();
        if absent.is_empty() { self.key() } else { *self.random.pick(&absent) }
    }

    fn value(&mut self) -> u64 {
        self.fresh += 1;
        self.fresh
    }

    fn put(&mut self, key: u64) -> Task {
        Task::Put(key, self.value())
    }

    fn put_new(&mut self, key: u64) -> Task {
        Task::PutNew(key, self.value())
    }

    fn replace(&mut self, key: u64) -> Task {
        Task::Replace(key, self.value())
    }

    fn insert(&mut self) -> Task {
        let key = self.absent();
        self.put(key)
    }

    fn read(&mut self) -> Task {
        let key = if self.random.one_in(2) { self.present() } else { self.key() };
        if !self.random.one_in(4) {
            return Task::Get(key);
        }
        let next = |key: u64, by: usize| {
            let at = self.keys.iter().position(|&known| known == key).unwrap_or(0);
            self.keys[(at + by) % self.keys.len()]
        };
        Task::GetMany([key, next(key, 1), next(key, 2)])
    }

    fn scan(&mut self) -> Task {
        let from = self.key();
        match self.random.below(4) {
            0 => Task::Scan(Way::Up, from),
            1 => Task::Scan(Way::Down, from),
            2 => Task::Scan(Way::Up, 0),
            _ => Task::Scan(Way::Down, u64::MAX),
        }
    }

    fn any(&mut self) -> Task {
        let key = if self.random.one_in(2) { self.present() } else { self.key() };
        match self.random.below(14) {
            0 | 1 => self.read(),
            2 | 3 => self.put(key),
            4 => self.insert(),
            5 => self.put_new(key),
            6 => self.replace(key),
            7..10 => Task::Remove(key),
            10 => Task::Count,
            11 => Task::Scribble,
            12 => Task::Pop(if self.random.one_in(2) { Way::Up } else { Way::Down }),
            _ => self.scan(),
        }
    }
}
