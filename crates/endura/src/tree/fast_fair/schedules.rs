//! Operations of several threads on tiny nodes under many schedules. Every history must be
//! linearizable key by key, and every run must leave a sound tree and lose no chunk.

mod directed;
mod history;

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::node::MIDDLE;
use super::*;
use crate::media::Region;
use crate::media::scheduled::Scheduled;
use crate::pool::{Counted, PAGE, Session};
use crate::sync::schedule::{Strategy, draw, run};
use history::{Event, check};

type Tiny<const W: usize> = Tree<Scheduled, W, W, LineBinary>;

const FRESH: Session = Session { generation: 1, clean: true, read_only: false };

/// Ends of the key space, both sides of its middle, and some neighbours.
const KEYS: [u64; 16] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, MIDDLE - 1, MIDDLE, u64::MAX - 1, u64::MAX];

/// Where a writer may stop for long.
const STEPS: [&str; 16] = [
    "fast_delete.commit",
    "fast_delete.shift",
    "fast_insert.commit",
    "fast_insert.shift",
    "merge.M1",
    "merge.M2",
    "merge.M4.sib",
    "merge.M4.high",
    "merge.M5",
    "post.P1",
    "post.P2",
    "root.grow",
    "root.shrink",
    "split.S3.sib",
    "split.S3.high",
    "split.S3.durable",
];

fn space_over(medium: Scheduled) -> Arc<Space<Scheduled>> {
    Space::format(&medium).unwrap();
    Arc::new(Space::mount(medium, FRESH).unwrap())
}

/// Which way a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

impl Way {
    fn step<const W: usize>(
        self,
        tree: &Tiny<W>,
        cursor: &mut Cursor,
        from: u64,
    ) -> Option<(u64, u64)> {
        match self {
            Self::Up => tree.scan_up(cursor, from).unwrap(),
            Self::Down => tree.scan_down(cursor, from).unwrap(),
        }
    }
}

/// One thread's next operation.
#[derive(Debug, Clone, Copy)]
enum Task {
    Get(u64),
    GetMany(u64),
    Insert(u64),
    InsertNew(u64),
    Update(u64),
    Remove(u64),
    Pop(Way),
    Scan(Way, u64),
    /// Frees what may be freed and writes over free chunks.
    Scribble,
    /// Goes on with the count of entries.
    Count,
}

impl Task {
    /// Any of them, most often on one of the four keys from `base` on.
    fn any(random: &mut u64, base: u64) -> Self {
        let mut key = || {
            let near = draw(random, 6) > 0;
            let index = if near { base + draw(random, 4) } else { draw(random, 16) };
            KEYS[index as usize]
        };
        let (key, other) = (key(), key());
        match draw(random, 20) {
            0..3 => Self::Get(key),
            3 => Self::GetMany(other),
            4..8 => Self::Insert(key),
            8 => Self::InsertNew(key),
            9 => Self::Update(key),
            10..15 => Self::Remove(key),
            15 => Self::Pop(if key % 2 == 0 { Way::Up } else { Way::Down }),
            16 => Self::Scan(Way::Up, other),
            17 => Self::Scan(Way::Down, other),
            18 => Self::Scribble,
            _ => Self::Count,
        }
    }
}

/// What one run works on.
struct Bench<const W: usize> {
    tree: Tiny<W>,
    clock: AtomicU64,
    values: AtomicU64,
    events: Mutex<Vec<Event>>,
}

impl<const W: usize> Bench<W> {
    fn new(space: &Arc<Space<Scheduled>>) -> Self {
        let tree = Tree::open(space, "tiny").unwrap();
        let zero = || AtomicU64::new(0);
        Self { tree, clock: zero(), values: zero(), events: Mutex::default() }
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    fn note(&self, began: u64, key: u64, saw: Option<u64>, left: Option<Option<u64>>) {
        let event = Event { key, began, ended: self.now(), saw, left };
        self.events.lock().unwrap().push(event);
    }

    fn modify(&self, key: u64, change: impl Fn(Option<u64>, u64) -> Change) -> Option<u64> {
        let fresh = self.values.fetch_add(1, Ordering::Relaxed);
        let began = self.now();
        let mut left = None;
        let decide = |old| {
            let change = change(old, fresh);
            left = match change {
                Change::Keep => None,
                Change::Put(value) => Some(Some(value)),
                Change::Remove => Some(None),
            };
            change
        };
        let saw = self.tree.modify(key, decide).unwrap();
        self.note(began, key, saw, left);
        saw
    }

    /// A scan: each entry was there at some moment of the step that returned it. Of the keys that a
    /// step passed over none was there from the beginning of the step before to its end.
    fn scan(&self, way: Way, mut from: u64) {
        let (mut cursor, mut before) = (Cursor::default(), self.now());
        loop {
            let began = self.now();
            let found = way.step(&self.tree, &mut cursor, from);
            let passed = KEYS.into_iter().filter(|&key| match way {
                Way::Up => key >= from && found.is_none_or(|(to, _)| key < to),
                Way::Down => key <= from && found.is_none_or(|(to, _)| key > to),
            });
            passed.for_each(|key| self.note(before, key, None, None));
            let Some((key, value)) = found else { return };
            assert!(KEYS.contains(&key), "a key that nobody inserted: {key}");
            self.note(began, key, Some(value), None);
            before = began;
            from = match way {
                Way::Up if key < u64::MAX => key + 1,
                Way::Down if key > 0 => key - 1,
                _ => return,
            };
        }
    }

    fn perform(&self, task: Task) {
        match task {
            Task::Get(key) => {
                let began = self.now();
                let saw = self.tree.get(key).unwrap();
                self.note(began, key, saw, None);
            }
            Task::GetMany(key) => {
                let keys = [key, key ^ 1, 5];
                let began = self.now();
                let seen = self.tree.get_many(&keys).unwrap();
                keys.into_iter().zip(seen).for_each(|(key, saw)| self.note(began, key, saw, None));
            }
            Task::Insert(key) => _ = self.modify(key, |_, value| Change::Put(value)),
            Task::InsertNew(key) => {
                let put_new =
                    |old: Option<u64>, value| old.map_or(Change::Put(value), |_| Change::Keep);
                self.modify(key, put_new);
            }
            Task::Update(key) => {
                let replace =
                    |old: Option<u64>, value| old.map_or(Change::Keep, |_| Change::Put(value));
                self.modify(key, replace);
            }
            Task::Remove(key) => _ = self.modify(key, |_, _| Change::Remove),
            Task::Pop(way) => {
                let from = if way == Way::Up { 0 } else { u64::MAX };
                while let Some((key, _)) = way.step(&self.tree, &mut Cursor::default(), from)
                    && self.modify(key, |_, _| Change::Remove).is_none()
                {}
            }
            Task::Scan(way, key) => self.scan(way, key),
            Task::Scribble => scribble::<W>(self.tree.space()),
            Task::Count if self.tree.map().claim_count() => self.tree.count_all().unwrap(),
            Task::Count => {}
        }
    }
}

/// Frees what is ripe and writes nonsense over it.
fn scribble<const W: usize>(space: &Space<Scheduled>) {
    space.reclaim_outside().unwrap();
    let guard = space.pin_mut().unwrap();
    let chunks: Vec<u64> =
        (0..4).map(|_| guard.alloc(Node::<Scheduled, W>::BYTES).unwrap()).collect();
    for at in chunks {
        let words = Region::new(guard.media(), at, W).unwrap();
        (0..W).for_each(|i| words.store(i, 0xDEAD_DEAD_DEAD_DEAD, Ordering::Release));
        guard.discard(at, Node::<Scheduled, W>::BYTES);
    }
}

/// Bytes of chunks that somebody has.
fn bytes_in_use<const W: usize>(space: &Space<Scheduled>) -> u64 {
    let stats = space.stats();
    let size = Node::<Scheduled, W>::BYTES;
    let chunks = PAGE / size - 64u64.div_ceil(size);
    (stats.pages_in_use - 1) * chunks * size - stats.free_chunk_bytes - stats.limbo_bytes
}

/// One run: what `seed` makes of the tree, the tasks and the turns.
fn one<const W: usize>(space: &Arc<Space<Scheduled>>, seed: u64) -> Result<u64, String> {
    let random = &mut seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    draw(random, 1);
    let bench = Bench::<W>::new(space);
    // A sparse or a dense tree, made by inserts and removes in random order.
    let density = draw(random, 17);
    for _ in 0..40 {
        let key = KEYS[draw(random, 16) as usize];
        let (present, grow) = (bench.tree.get(key).unwrap().is_some(), draw(random, 16) < density);
        if present != grow {
            bench.modify(key, |_, value| if grow { Change::Put(value) } else { Change::Remove });
        }
    }
    if draw(random, 4) == 0 {
        // As after an unclean close.
        bench.tree.map().set_counted(Counted::Below(0));
        bench.tree.map().add(-(bench.tree.map().sum() as i64));
    }
    let base = draw(random, 13);
    let threads = 2 + draw(random, 2) as usize;
    let tasks: Vec<Vec<Task>> = (0..threads)
        .map(|_| (0..1 + draw(random, 4)).map(|_| Task::any(random, base)).collect())
        .collect();
    let strategy = match draw(random, 6) {
        4.. => Strategy::Within {
            mark: STEPS[draw(random, STEPS.len() as u64) as usize],
            nth: 1 + draw(random, 2) as usize,
            steps: 1 + draw(random, 80),
        },
        0 => Strategy::Priorities {
            changes: 1 + draw(random, 6) as usize,
            steps: 100 << draw(random, 5),
        },
        1 => Strategy::Random { marks: 1 << draw(random, 8), steps: 1 << draw(random, 8) },
        _ => Strategy::Random { marks: 64 << draw(random, 4), steps: draw(random, 2) * 16 },
    };
    let result = run(threads, seed, strategy.clone(), |me| {
        tasks[me].iter().for_each(|&task| bench.perform(task));
    });
    let told = |text| format!("{text}\nW {W} seed {seed} tasks {tasks:?} {strategy:?}");
    let steps = result.map_err(told)?;
    settle(space, &bench).map_err(told)?;
    Ok(steps)
}

/// After a run: the history, the tree, the count, the chunks.
fn settle<const W: usize>(space: &Space<Scheduled>, bench: &Bench<W>) -> Result<(), String> {
    let tree = &bench.tree;
    KEYS.into_iter().for_each(|key| bench.perform(Task::Get(key)));
    bench.scan(Way::Up, 0);
    bench.scan(Way::Down, u64::MAX);
    check(&mut bench.events.lock().unwrap())?;
    let found = tree.survey(&mut |_, _| ()).map_err(|error| error.to_string())?;
    if found.repairs.total() != 0 {
        return Err(format!("repairs pending: {found:?}"));
    }
    tree.count_all().map_err(|error| error.to_string())?;
    if tree.map().sum() != found.entries {
        return Err(format!("{} entries counted, {found:?}", tree.map().sum()));
    }
    space.reclaim_outside().map_err(|error| error.to_string())?;
    let (used, limbo) = (bytes_in_use::<W>(space), space.stats().limbo_bytes);
    if used != found.nodes * Node::<Scheduled, W>::BYTES || limbo != 0 {
        return Err(format!("{used} bytes in use, {limbo} in limbo, {found:?}"));
    }
    drop_tiny::<W>(space)
}

fn drop_tiny<const W: usize>(space: &Space<Scheduled>) -> Result<(), String> {
    let dropped = space.drop_map("tiny", |guard, map| {
        let mut nodes = Vec::new();
        survey::<_, W, W>(guard, map.root(), &mut |at, bytes| nodes.push((at, bytes)))?;
        nodes.into_iter().for_each(|(at, bytes)| guard.discard(at, bytes));
        Ok(())
    });
    assert!(dropped.map_err(|error| error.to_string())?);
    match bytes_in_use::<W>(space) {
        0 => Ok(()),
        left => Err(format!("{left} bytes left by a dropped map")),
    }
}

/// Runs of so many seeds, with a fresh pool for every 256, so that a seed can be run again alone.
fn explore<const W: usize>(seeds: std::ops::Range<u64>) {
    let mut space = None;
    for seed in seeds {
        if seed % 256 == 0 {
            space = None;
        }
        let space = space.get_or_insert_with(|| space_over(Scheduled::new(2 * PAGE)));
        if let Err(text) = one::<W>(space, seed) {
            panic!("{text}");
        }
    }
}

/// `SCHEDULES=from..to` runs other seeds than the usual few.
fn seeds() -> std::ops::Range<u64> {
    let given = std::env::var("SCHEDULES").ok();
    let parsed = given.as_deref().and_then(|text| text.split_once(".."));
    parsed.map_or(0..1500, |(from, to)| from.parse().unwrap()..to.parse().unwrap())
}

/// The same tasks at full speed, on more threads than there are cores.
fn stress<const W: usize>(rounds: u64) {
    let space = space_over(Scheduled::new(2 * PAGE));
    for round in 0..rounds {
        let bench = Bench::<W>::new(&space);
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for me in 0..8 {
                let (bench, start) = (&bench, &start);
                scope.spawn(move || {
                    let random = &mut (round << 8 | me);
                    start.wait();
                    (0..8).for_each(|_| bench.perform(Task::any(random, round % 13)));
                });
            }
        });
        settle(&space, &bench).unwrap_or_else(|text| panic!("round {round}: {text}"));
    }
}

#[test]
fn eight_threads_at_full_speed() {
    let rounds = std::env::var("ROUNDS").map_or(100, |rounds| rounds.parse().unwrap());
    stress::<14>(rounds);
    stress::<16>(rounds);
    stress::<22>(rounds);
}

#[test]
fn three_records() {
    explore::<14>(seeds());
}

#[test]
fn four_records() {
    explore::<16>(seeds());
}

#[test]
fn seven_records() {
    explore::<22>(seeds());
}
