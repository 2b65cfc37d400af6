//! When the turn changes from one thread to another.

use crate::choose::Random;
use crate::sim::Move;

/// How it is decided who goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strategy {
    /// Anybody, with these probabilities in 1/1024: at a numbered step, and at any other move. Most
    /// of what can go wrong lies between the steps of two threads.
    Random {
        /// At a step.
        steps: u64,
        /// At any other move.
        moves: u64,
    },
    /// The thread of the highest priority; at `changes` of about `length` moves it becomes the lowest.
    /// (PCT: Burckhardt et al., ASPLOS 2010. Finds a bug of depth `changes + 1` with a probability of
    /// at least 1 in `threads * length^changes`.)
    Priorities {
        /// How often.
        changes: usize,
        /// Of how many moves.
        length: u64,
    },
    /// In order of their numbers, but thread `thread` stops at `step` (empty: any move), the `nth`
    /// time, until all others have ended.
    StopAt {
        /// Which thread, from 0.
        thread: usize,
        /// Where.
        step: &'static str,
        /// Counted from 1.
        nth: usize,
    },
    /// Thread 0 stops at `step` for the `nth` time; thread 1 makes so many moves and stops; the others
    /// run to their end, then thread 0, then thread 1.
    Within {
        /// Where thread 0 stops.
        step: &'static str,
        /// Counted from 1.
        nth: usize,
        /// How many moves thread 1 makes.
        moves: u64,
    },
    /// Thread 1 runs up to one place, then thread 0 up to another; then the others run to their end, and
    /// thread 0 after them.
    Meet {
        /// Where thread 1 stops.
        comes: Place,
        /// Where thread 0 stops.
        stops: Place,
    },
    /// One leg after the other: a thread runs up to a place, counted from the begin of the leg; then they
    /// run to their end, who stopped first before who stopped later.
    Relay(Vec<(usize, Place)>),
    /// The same thread, but after so many moves (of all threads) the turn goes to another one: the
    /// next, or the one after it. All lists up to a length are all schedules of so many preemptions.
    Preempt(Vec<(u64, usize)>),
}

/// A place on the way of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// A numbered step; [`START`](Self::START) and [`FAULT`](Self::FAULT) are none.
    pub step: &'static str,
    /// Which time that it comes there, from 1.
    pub nth: usize,
    /// How many moves it makes from there.
    pub moves: u64,
}

impl Place {
    /// Where it begins.
    pub const START: &'static str = "start";
    /// Where it has just been through the call at which a mutant is at fault.
    pub const FAULT: &'static str = "fault";
}

/// So many moves without a store by anyone mean that nobody gets on.
const STUCK: u64 = 20_000;
/// More moves than threads on a small map make, whatever they store.
const ENDLESS: u64 = 5_000_000;

/// Who runs, and who will.
#[derive(Debug)]
pub(super) struct Turns {
    strategy: Strategy,
    random: Random,
    ended: Vec<bool>,
    /// The higher, the sooner.
    priorities: Vec<i64>,
    lowest: i64,
    change_at: Vec<u64>,
    pub(super) moves: u64,
    since_store: u64,
    seen: usize,
    stopped_at: u64,
    on_way: [OnWay; 2],
    /// How many legs of a relay are behind.
    legs: usize,
    pub(super) current: usize,
    /// How the turns went: after so many moves, to whom.
    pub(super) switches: Vec<(u64, usize)>,
    /// The last step of each thread.
    steps: Vec<&'static str>,
    pub(super) failure: Option<String>,
}

/// How far a thread is on its way to a place.
#[derive(Debug, Clone, Copy, Default)]
struct OnWay {
    moves: u64,
    seen: usize,
    /// After how many moves it came to the step, for the time that counts.
    since: Option<u64>,
}

impl OnWay {
    /// Makes a move; whether that leads to the place.
    fn is_at(&mut self, place: Place, step: Option<&'static str>, is_fault: bool) -> bool {
        self.moves += 1;
        let comes = match place.step {
            Place::START => self.moves == 1,
            Place::FAULT => is_fault,
            _ => step == Some(place.step),
        };
        self.seen += usize::from(comes);
        if comes && self.seen == place.nth {
            self.since = Some(self.moves);
        }
        self.since.is_some_and(|since| self.moves == since + place.moves)
    }
}

impl Turns {
    pub(super) fn new(threads: usize, strategy: Strategy, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut change_at = Vec::new();
        let mut priorities: Vec<i64> = (1..=threads as i64).rev().collect();
        if let Strategy::Priorities { changes, length } = strategy {
            change_at = (0..changes).map(|_| random.below(length)).collect();
            for i in 1..threads {
                priorities.swap(i, random.below(i as u64 + 1) as usize);
            }
        }
        if let Strategy::Meet { comes, .. } = strategy
            && (comes.step, comes.moves) != (Place::START, 0)
            && threads > 1
        {
            priorities.swap(0, 1);
        }
        if let Strategy::Relay(legs) = &strategy
            && let Some(&(first, _)) = legs.first()
        {
            priorities[first] = threads as i64 + 1;
        }
        if let Strategy::Random { .. } = strategy {
            priorities.rotate_left(random.below(threads as u64) as usize);
        }
        let mut turns = Self {
            strategy,
            random,
            ended: vec![false; threads],
            priorities,
            lowest: 0,
            change_at,
            moves: 0,
            since_store: 0,
            seen: 0,
            stopped_at: 0,
            on_way: [OnWay::default(); 2],
            legs: 0,
            current: 0,
            switches: Vec::new(),
            steps: vec!["start"; threads],
            failure: None,
        };
        turns.current = turns.foremost().unwrap_or(0);
        turns
    }

    /// The current thread is about to make a move: who goes on? `None` if nobody gets on.
    pub(super) fn at(&mut self, next: Move) -> Option<usize> {
        self.moves += 1;
        self.since_store = if next == Move::Store { 0 } else { self.since_store + 1 };
        let step = if let Move::Step(step) = next { Some(step) } else { None };
        self.steps[self.current] = step.unwrap_or(self.steps[self.current]);
        let chosen = self.choose(step, next == Move::Fault);
        self.gets_on().then(|| self.switch(chosen))
    }

    fn gets_on(&self) -> bool {
        self.since_store < STUCK && self.moves < ENDLESS
    }

    /// The current thread cannot go on alone: who does? `None` if nobody gets on.
    pub(super) fn waits(&mut self) -> Option<usize> {
        self.since_store += 1;
        self.demote();
        let chosen = self.foremost();
        self.gets_on().then(|| self.switch(chosen))
    }

    /// The current thread has ended; who runs now, if anybody is left.
    pub(super) fn end(&mut self) -> Option<usize> {
        self.ended[self.current] = true;
        let next = self.foremost()?;
        Some(self.switch(Some(next)))
    }

    fn switch(&mut self, chosen: Option<usize>) -> usize {
        if let Some(next) = chosen.filter(|&next| next != self.current) {
            self.switches.push((self.moves, next));
            self.current = next;
        }
        self.current
    }

    fn choose(&mut self, step: Option<&'static str>, is_fault: bool) -> Option<usize> {
        let me = self.current;
        match self.strategy {
            Strategy::Priorities { .. } => {
                for _ in self.change_at.iter().filter(|&&at| at == self.moves) {
                    self.lowest -= 1;
                    self.priorities[me] = self.lowest;
                }
                self.foremost()
            }
            Strategy::Random { steps, moves } => {
                let probability = if step.is_some() { steps } else { moves };
                if self.random.below(1024) >= probability {
                    return Some(me);
                }
                let ahead = self.random.below(self.ended.len() as u64) as usize;
                self.living_from(ahead)
            }
            Strategy::StopAt { thread, step: at, nth } => {
                if thread == me && (at.is_empty() || step == Some(at)) {
                    self.seen += 1;
                    if self.seen == nth {
                        self.demote();
                    }
                }
                self.foremost()
            }
            Strategy::Within { step: at, nth, moves } => {
                self.seen += usize::from(me == 0 && step == Some(at));
                let is_due = match me {
                    0 => step == Some(at) && self.seen == nth,
                    1 => self.seen >= nth && self.moves - self.stopped_at == moves,
                    _ => false,
                };
                if is_due {
                    self.stopped_at = self.moves;
                    self.demote();
                }
                self.foremost()
            }
            Strategy::Meet { comes, stops } => {
                let place = if me == 0 { stops } else { comes };
                if me < 2 && self.on_way[me].is_at(place, step, is_fault) {
                    self.demote();
                }
                self.foremost()
            }
            Strategy::Relay(_) => self.run_leg(step, is_fault),
            Strategy::Preempt(ref list) => {
                let to = list.iter().find(|preemption| preemption.0 == self.moves);
                to.map_or(Some(me), |&(_, ahead)| self.living_from(me + 1 + ahead))
            }
        }
    }

    /// A move of a relay: who makes the next.
    fn run_leg(&mut self, step: Option<&'static str>, is_fault: bool) -> Option<usize> {
        let me = self.current;
        let Strategy::Relay(legs) = &self.strategy else { return Some(me) };
        let Some(&(who, to)) = legs.get(self.legs) else { return Some(me) };
        if who != me || !self.on_way[0].is_at(to, step, is_fault) {
            return Some(me);
        }
        let next = legs.get(self.legs + 1).map(|&(who, _)| who);
        (self.legs, self.on_way[0]) = (self.legs + 1, OnWay::default());
        self.demote();
        next.filter(|&next| !self.ended[next]).or_else(|| self.foremost())
    }

    /// The first living thread from number `from` on, going round.
    fn living_from(&self, from: usize) -> Option<usize> {
        let all = self.ended.len();
        (0..all).map(|i| (from + i) % all).find(|&i| !self.ended[i])
    }

    fn demote(&mut self) {
        self.lowest -= 1;
        self.priorities[self.current] = self.lowest;
    }

    fn foremost(&self) -> Option<usize> {
        (0..self.ended.len()).filter(|&i| !self.ended[i]).max_by_key(|&i| self.priorities[i])
    }

    /// What went wrong, and how the turns went that led there.
    pub(super) fn describe(&self, text: &str) -> String {
        let last = &self.switches[self.switches.len().saturating_sub(60)..];
        format!("{text}; last steps {:?}, last turns (move, to) {last:?}", self.steps)
    }
}
