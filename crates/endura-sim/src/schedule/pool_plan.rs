//! What several threads do to several maps of a pool, and in which turns. Each plan has a reader: without one, few orders
//! of a batch and a single write can be told apart.

use endura_linear::{Deal, Part, Place, PoolOp};

use super::turns::{Place as Stop, Strategy};
use crate::choose::Random;
use crate::subjects::batches::CLOSURE;

/// Kinds of plans, after what is to meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Meeting {
    /// Writers of single keys, and one who commits several changes.
    Singles,
    /// Two who commit.
    Commits,
    /// One who commits, beside pops and looks at ends.
    Ends,
    /// Those who commit, and reads of one moment. Nobody else writes the keys that these read.
    Views,
    /// Anything but reads of one moment.
    Mixed,
}

impl Meeting {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Singles, Self::Commits, Self::Ends, Self::Views, Self::Mixed];
}

/// What is run: threads, turns.
#[derive(Debug, Clone)]
pub struct PoolPlan {
    /// What each thread does.
    pub threads: Vec<Vec<PoolOp>>,
    /// Who goes on.
    pub strategy: Strategy,
    /// Of what the strategy leaves to chance.
    pub seed: u64,
}

/// Keys of each map before the threads begin.
pub const BEFORE: [u64; 4] = [20, 30, 40, 50];
/// All keys that operations are about: some in front of those, between them, and behind.
pub const KEYS: [u64; 8] = [10, 20, 25, 30, 35, 40, 50, 60];
/// Keys that single operations leave alone beside reads of one moment.
const KEPT: [u64; 2] = [30, 35];
/// Those that most operations are about.
const BUSY: [u64; 3] = [20, 25, 10];

/// Steps at which a thread may stop for long.
const STEPS: [&str; 6] =
    ["batch.intent", "batch.word", "batch.word", "batch.committed", CLOSURE, "view"];

struct Draw {
    maps: usize,
    random: Random,
    /// So that every write can be told from every other.
    fresh: u64,
}

impl PoolPlan {
    /// The plan number `seed` for a pool with so many maps.
    pub fn new(meeting: Meeting, maps: usize, seed: u64) -> Self {
        let random = Random::new(seed ^ (meeting as u64) << 56);
        let mut draw = Draw { maps, random, fresh: 1_000 };
        let threads = draw.threads(meeting);
        let strategy = draw.strategy(threads.len());
        Self { threads, strategy, seed }
    }
}

impl Draw {
    fn threads(&mut self, meeting: Meeting) -> Vec<Vec<PoolOp>> {
        let more = |draw: &mut Self| draw.random.one_in(3);
        let mut threads = match meeting {
            Meeting::Singles => {
                vec![self.many(2, Self::single), self.many(2, Self::batch), self.many(3, Self::get)]
            }
            Meeting::Commits => vec![
                self.many(2, Self::commit),
                self.many(2, Self::commit),
                self.many(3, Self::get),
            ],
            Meeting::Ends => vec![
                self.many(2, Self::at_end),
                self.many(2, Self::batch),
                self.many(3, Self::look),
            ],
            Meeting::Views => vec![
                self.many(2, Self::kept_batch),
                self.many(2, Self::kept_batch),
                self.many(2, Self::view),
            ],
            Meeting::Mixed => {
                vec![self.many(2, Self::any), self.many(2, Self::commit), self.many(3, Self::look)]
            }
        };
        match meeting {
            Meeting::Views if more(self) => threads.push(self.many(2, Self::loose_single)),
            Meeting::Views => {}
            _ if more(self) => threads.push(self.many(2, Self::any)),
            _ => {}
        }
        threads
    }

    fn strategy(&mut self, threads: usize) -> Strategy {
        let step = *self.random.pick(&STEPS);
        let thread = self.random.below(threads as u64) as usize;
        match self.random.below(9) {
            0 | 1 => Strategy::Priorities { changes: 2, length: 600 },
            2 => Strategy::Priorities { changes: 4, length: 1_200 },
            3 => Strategy::Random { steps: 512, moves: 1 << self.random.below(7) },
            4 => Strategy::Random { steps: 64 << self.random.below(4), moves: 4 },
            5 => Strategy::StopAt { thread, step, nth: 1 + self.random.below(2) as usize },
            6 => Strategy::Within { step, nth: 1, moves: 1 + self.random.below(300) },
            _ => self.relay(threads),
        }
    }

    /// Each thread in turn runs to a step, and some moves further.
    fn relay(&mut self, threads: usize) -> Strategy {
        let mut legs = Vec::new();
        for _ in 0..2 + self.random.below(3) {
            let step = if self.random.one_in(3) { Stop::START } else { *self.random.pick(&STEPS) };
            let moves = 1 << self.random.below(8);
            let moves = if self.random.one_in(2) { 0 } else { self.random.below(moves) };
            let thread = self.random.below(threads as u64) as usize;
            legs.push((thread, Stop { step, nth: 1, moves }));
        }
        Strategy::Relay(legs)
    }

    fn many(&mut self, most: u64, one: impl Fn(&mut Self) -> PoolOp) -> Vec<PoolOp> {
        (0..=self.random.below(most)).map(|_| one(self)).collect()
    }

    fn value(&mut self) -> u64 {
        self.fresh += 1;
        self.fresh
    }

    fn map(&mut self) -> usize {
        self.random.below(self.maps as u64) as usize
    }

    fn place(&mut self) -> Place {
        let key = match self.random.one_in(5) {
            true => *self.random.pick(&KEYS),
            false => *self.random.pick(&BUSY),
        };
        (self.map(), key)
    }

    fn get(&mut self) -> PoolOp {
        PoolOp::Get(self.place())
    }

    fn look(&mut self) -> PoolOp {
        match self.random.below(5) {
            0 => PoolOp::First(self.map()),
            1 => PoolOp::Last(self.map()),
            _ => self.get(),
        }
    }

    fn single_at(&mut self, place: Place) -> PoolOp {
        match self.random.below(7) {
            0..3 => PoolOp::Put(place, self.value()),
            3 => PoolOp::PutNew(place, self.value()),
            4 => PoolOp::Fill(place, self.value()),
            _ => PoolOp::Delete(place),
        }
    }

    fn single(&mut self) -> PoolOp {
        let place = self.place();
        self.single_at(place)
    }

    fn loose_single(&mut self) -> PoolOp {
        let place = (self.map(), *self.random.pick(&BUSY));
        self.single_at(place)
    }

    fn at_end(&mut self) -> PoolOp {
        match self.random.below(5) {
            0 | 1 => PoolOp::PopFirst(self.map()),
            2 => PoolOp::PopLast(self.map()),
            _ => self.look(),
        }
    }

    /// Changes of keys of each map, some with something that is expected.
    fn batch(&mut self) -> PoolOp {
        let mut parts = Vec::new();
        for map in 0..self.maps {
            for _ in 0..=self.random.below(2) {
                let place =
                    if self.random.one_in(8) { self.place() } else { (map, self.place().1) };
                parts.push((place, self.change()));
            }
        }
        if self.random.one_in(4) {
            let expected = self.random.one_in(2).then_some(2);
            parts.push(((self.map(), 20), Part::Expect(expected)));
        }
        PoolOp::Batch(parts.into_iter().collect())
    }

    fn change(&mut self) -> Part {
        if self.random.one_in(4) { Part::Delete } else { Part::Put(self.value()) }
    }

    /// A batch of which reads of one moment see two keys, in all maps.
    fn kept_batch(&mut self) -> PoolOp {
        let mut parts: Vec<_> =
            (0..self.maps).map(|map| ((map, *self.random.pick(&KEPT)), self.change())).collect();
        if self.random.one_in(2) {
            parts.push((self.place(), self.change()));
        }
        PoolOp::Batch(parts.into_iter().collect())
    }

    fn view(&mut self) -> PoolOp {
        if self.random.one_in(4) {
            return PoolOp::Get((self.map(), *self.random.pick(&KEPT)));
        }
        let first = self.map();
        let maps = (0..self.maps).map(|i| (first + i) % self.maps);
        PoolOp::Read(maps.flat_map(|map| KEPT.map(|key| (map, key))).collect())
    }

    fn commit(&mut self) -> PoolOp {
        if self.random.one_in(2) {
            return self.batch();
        }
        let deal = match self.random.below(5) {
            0 | 1 => Deal::Swap,
            2 | 3 => Deal::Copy,
            _ => Deal::Look,
        };
        let from = self.place();
        let mut to = self.place();
        while to == from {
            to = self.place();
        }
        PoolOp::Transact(deal, [from, to])
    }

    fn any(&mut self) -> PoolOp {
        match self.random.below(6) {
            0 | 1 => self.single(),
            2 => self.commit(),
            3 => self.at_end(),
            _ => self.look(),
        }
    }
}
