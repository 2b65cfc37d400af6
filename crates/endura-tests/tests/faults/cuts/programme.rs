//! What each thread writes, operation by operation, and how many operations a pool has.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use endura::{Kind, Map, MapOptions, Pool, Result};

pub(super) const THREADS: usize = 3;
/// Operations of a turn.
const OPERATIONS: u64 = 12;
/// Keys of a thread in its maps of numbers, and in the map of words.
const NUMBERS: u64 = 3_000;
const WORDS: u64 = 400;
/// Turns from the making of a map to that of the next one of its name; in between it is renamed, and dropped.
const LIFE: u64 = 32;
const RENAMED: u64 = 10;
const DROPPED: u64 = 20;

const KINDS: [Kind; 3] = [Kind::FastFair, Kind::NbTree, Kind::Roart];

/// What a thread has left. A value is the turn that wrote it.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct State {
    turns: u64,
    ascending: BTreeMap<u64, u64>,
    scattered: BTreeMap<u64, u64>,
    words: BTreeMap<u64, u64>,
    seen: Option<u64>,
    large: Option<u64>,
    /// The maps that come and go, by the first letters of their names.
    young: Option<BTreeMap<u64, u64>>,
    old: Option<BTreeMap<u64, u64>>,
}

fn scattered(turn: u64) -> u64 {
    turn.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
}

fn word(turn: u64) -> String {
    format!("{turn} {}", "-".repeat((scattered(turn) % 2_000) as usize))
}

fn large(turn: u64) -> String {
    format!("{turn} {}", "=".repeat((scattered(turn) % 300_000) as usize))
}

impl State {
    /// Applies operation `n`.
    fn apply(&mut self, n: u64) {
        let turn = n / OPERATIONS;
        match n % OPERATIONS {
            0 => _ = self.ascending.insert(turn % NUMBERS, turn),
            1 => _ = self.scattered.insert(scattered(turn) % NUMBERS, turn),
            2 => _ = self.words.insert(turn % WORDS, turn),
            3 => self.turns = turn + 1,
            4 => self.seen = Some(turn),
            5 if turn % 4 == 3 => _ = self.ascending.remove(&((turn - 3) % NUMBERS)),
            6 if turn.is_multiple_of(3) => _ = self.words.remove(&((turn + WORDS / 2) % WORDS)),
            7 if turn.is_multiple_of(LIFE) => self.young = Some(BTreeMap::new()),
            8 if turn % LIFE < DROPPED => {
                let map = if turn % LIFE <= RENAMED { &mut self.young } else { &mut self.old };
                map.as_mut().unwrap().insert(turn, turn);
            }
            9 if turn % LIFE == RENAMED => self.old = self.young.take(),
            10 if turn % LIFE == DROPPED => self.old = None,
            11 if turn % 50 == 25 => self.large = Some(turn),
            _ => {}
        }
    }

    /// After how many operations this is the state of a thread; `None` if it never is.
    fn operations(&self) -> Option<RangeInclusive<u64>> {
        // The fourth operation of a turn counts the turns.
        let from = self.turns.checked_sub(1).map_or(0, |last| last * OPERATIONS + 4);
        let mut state = Self::default();
        (0..from).for_each(|n| state.apply(n));
        let mut found: Option<RangeInclusive<u64>> = None;
        for n in from..=self.turns * OPERATIONS + 3 {
            if state == *self {
                found = Some(*found.as_ref().map_or(&n, |found| found.start())..=n);
            }
            state.apply(n);
        }
        found
    }
}

/// The maps of a thread.
pub(super) struct Maps<'p> {
    pool: &'p Pool,
    thread: u64,
    ascending: Map<u64, u64>,
    scattered: Map<u64, u64>,
    words: Map<(u64, u64), str>,
    turns: Map<u64, u64>,
    seen: Map<u64, (u64, u64, u64)>,
    large: Map<u64, str>,
}

fn names(thread: u64) -> [String; 2] {
    [format!("young {thread}"), format!("old {thread}")]
}

impl<'p> Maps<'p> {
    pub(super) fn open(pool: &'p Pool, thread: usize) -> Result<Self> {
        let kind = |kind| MapOptions::new().kind(kind);
        Ok(Self {
            pool,
            thread: thread as u64,
            ascending: pool.map_with(&format!("ascending {thread}"), kind(Kind::FastFair))?,
            scattered: pool.map_with(&format!("scattered {thread}"), kind(Kind::NbTree))?,
            words: pool.map_with("words", kind(Kind::FastFair))?,
            turns: pool.map_with("turns", kind(Kind::NbTree))?,
            seen: pool.map("seen")?,
            large: pool.map_with("large", kind(Kind::Roart))?,
        })
    }

    /// Runs operation `n`. `others`: how many operations of the two next threads have returned.
    pub(super) fn operate(&self, n: u64, others: [u64; 2]) -> Result<()> {
        let (turn, [young, old]) = (n / OPERATIONS, names(self.thread));
        match n % OPERATIONS {
            0 => self.ascending.put(turn % NUMBERS, turn).map(drop),
            1 => self.scattered.put(scattered(turn) % NUMBERS, turn).map(drop),
            2 => self.words.put((self.thread, turn % WORDS), &word(turn)).map(drop),
            3 => self.turns.put(self.thread, turn + 1).map(drop),
            4 => self.seen.put(self.thread, (turn, others[0], others[1])).map(drop),
            5 if turn % 4 == 3 => self.ascending.delete((turn - 3) % NUMBERS).map(drop),
            6 if turn % 3 == 0 => {
                self.words.delete((self.thread, (turn + WORDS / 2) % WORDS)).map(drop)
            }
            7 if turn % LIFE == 0 => {
                let kind = KINDS[(turn / LIFE % 3) as usize];
                self.pool.map_with::<u64, u64>(&young, MapOptions::new().kind(kind)).map(drop)
            }
            8 if turn % LIFE < DROPPED => {
                let name = if turn % LIFE <= RENAMED { young } else { old };
                let options = MapOptions::new().create(false);
                self.pool.map_with::<u64, u64>(&name, options)?.put(turn, turn).map(drop)
            }
            9 if turn % LIFE == RENAMED => self.pool.rename(&young, &old).map(drop),
            10 if turn % LIFE == DROPPED => self.pool.drop_map(&old).map(drop),
            11 if turn % 50 == 25 => self.large.put(self.thread, &large(turn)).map(drop),
            _ => Ok(()),
        }
    }

    fn state(&self) -> Result<State> {
        let turn_of = |text: &str| text.split(' ').next().unwrap().parse::<u64>().unwrap();
        let mut words = BTreeMap::new();
        for entry in self.words.range((self.thread, 0)..(self.thread + 1, 0)) {
            let ((_, key), found) = entry?;
            let turn = turn_of(&found);
            assert_eq!(found, word(turn), "a word of another turn");
            words.insert(key, turn);
        }
        let found = self.large.get(self.thread)?;
        let turn = found.as_deref().map(turn_of);
        assert_eq!(found, turn.map(large), "a large value of another turn");
        let [young, old] = names(self.thread).map(|name| self.comes_and_goes(&name));
        Ok(State {
            turns: self.turns.get(self.thread)?.unwrap_or(0),
            ascending: self.ascending.iter().collect::<Result<_>>()?,
            scattered: self.scattered.iter().collect::<Result<_>>()?,
            words,
            seen: self.seen.get(self.thread)?.map(|(turn, ..)| turn),
            large: turn,
            young: young?,
            old: old?,
        })
    }

    fn comes_and_goes(&self, name: &str) -> Result<Option<BTreeMap<u64, u64>>> {
        if !self.pool.maps()?.iter().any(|map| map.name == name) {
            return Ok(None);
        }
        self.pool.map::<u64, u64>(name)?.iter().collect::<Result<_>>().map(Some)
    }
}

/// How many operations of each thread a pool has. Panics if it has not just these, or if a thread has seen operations of
/// another one that are not there.
pub(super) fn operations_in(pool: &Pool) -> Result<[RangeInclusive<u64>; THREADS]> {
    pool.verify()?;
    let mut found = [const { 0..=0 }; THREADS];
    let mut seen = [None; THREADS];
    for thread in 0..THREADS {
        let maps = Maps::open(pool, thread)?;
        let state = maps.state()?;
        let Some(operations) = state.operations() else {
            panic!("thread {thread} has never left {} turns so: {state:?}", state.turns)
        };
        found[thread] = operations;
        seen[thread] = maps.seen.get(thread as u64)?;
    }
    for (thread, seen) in seen.into_iter().enumerate() {
        let Some((_, first, second)) = seen else { continue };
        for (further, had) in [(1, first), (2, second)] {
            let has = *found[(thread + further) % THREADS].end();
            assert!(
                has >= had,
                "thread {thread} had seen {had} operations of which {has} are there"
            );
        }
    }
    Ok(found)
}

/// The programme is what it is for: each state is told, and one that lacks something is none.
#[test]
fn every_state_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let pool = crate::process::plain().create_new(folder.path().join("pool")).unwrap();
    let maps = Maps::open(&pool, 0).unwrap();
    for n in 0..60 * OPERATIONS {
        maps.operate(n, [0, 0]).unwrap();
        if n % 7 == 0 {
            let told = maps.state().unwrap().operations().unwrap();
            assert!(told.contains(&(n + 1)), "{told:?} in place of {}", n + 1);
        }
    }
    maps.ascending.put(7, 8).unwrap();
    assert_eq!(maps.state().unwrap().operations(), None);
    maps.ascending.put(7, 7).unwrap();
    assert!(maps.state().unwrap().operations().is_some());
    maps.words.delete((0, 5)).unwrap();
    assert_eq!(maps.state().unwrap().operations(), None);
}
