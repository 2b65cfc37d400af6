//! Simulated power cuts while a pool is in use: the disk below its checkpoints loses writes, any page of the pool
//! itself may be garbage, and the restore may be cut as well. The next open must find the pool at the moment of a
//! checkpoint: the last that was completed, or the one that was being made.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io};

use endura::{Map, MapOptions, Pool};
use endura_engine::checkpoint::Checkpoints;
use endura_engine::checkpoint::copy::{Copier, Pages, When};
use endura_engine::checkpoint::file::CheckpointFile;
use endura_engine::checkpoint::restore;
use endura_engine::media::Mapped;
use endura_engine::os::door::DiskFile;
use endura_engine::space::{Space, Superblock};
use endura_engine::{Kind, Result};

use disk::Losing;
use random::Random;

#[path = "../src/checkpoint/file/tests/disk.rs"]
#[allow(dead_code, unreachable_pub, reason = "the engine's own tests use the rest")]
mod disk;
#[path = "../src/checkpoint/file/tests/random.rs"]
#[allow(unreachable_pub, reason = "as there")]
mod random;

/// As the engine's: a panic leaves what it guards.
#[derive(Debug, Default)]
struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of writers, and of keys that each has in each map.
const WRITERS: u64 = 2;
const KEYS: u64 = 48;
/// A writer makes a map once in this many operations, and drops it after half as many.
const MAKES: u64 = 60;

struct Maps {
    words: [Map<u64, u64>; 2],
    bytes: Map<str, str>,
}

impl Maps {
    fn of(pool: &Pool) -> Result<Self> {
        let word = |name, kind| pool.map_with::<u64, u64>(name, MapOptions::new().kind(kind));
        let words = [word("words", Kind::NbTree)?, word("leaves", Kind::FastFair)?];
        Ok(Self { words, bytes: pool.map("bytes")? })
    }

    /// All entries of one writer: the map's number and the key, and the value.
    fn of_writer(&self, writer: u64) -> Result<BTreeMap<(u64, u64), u64>> {
        let mut all = BTreeMap::new();
        for (which, map) in (0..).zip(&self.words) {
            for key in 0..KEYS {
                if let Some(value) = map.get(writer << 32 | key)? {
                    all.insert((which, key), value);
                }
            }
        }
        for key in 0..KEYS {
            if let Some(text) = self.bytes.get(&name_of(writer, key))? {
                let value: u64 = text.trim_end_matches('.').parse().unwrap();
                assert_eq!(*text, text_of(value), "a value of a mixture of pages");
                all.insert((2, key), value);
            }
        }
        Ok(all)
    }
}

fn name_of(writer: u64, key: u64) -> String {
    format!("{writer}-{key}")
}

/// A text of a few bytes to more than one page.
fn text_of(value: u64) -> String {
    format!("{value}{}", ".".repeat((value * 67 % 6_000) as usize))
}

/// Operation `i` of a writer: the map and the key that it changes, and whether it removes the key.
fn step(i: u64) -> ((u64, u64), bool) {
    let mixed = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    ((i % 3, mixed % KEYS), mixed.is_multiple_of(5))
}

fn extra_of(writer: u64, i: u64) -> String {
    format!("extra-{writer}-{}", i / MAKES)
}

fn run_step(pool: &Pool, maps: &Maps, writer: u64, i: u64) -> Result<()> {
    match i % MAKES {
        0 => drop(pool.map::<u64, u64>(&extra_of(writer, i))?.put(1, i)?),
        30 => drop(pool.drop_map(&extra_of(writer, i))?),
        _ => {}
    }
    let ((which, key), removes) = step(i);
    match (which, removes) {
        (2, true) => drop(maps.bytes.delete(&name_of(writer, key))?),
        (2, false) => drop(maps.bytes.put(&name_of(writer, key), &text_of(i))?),
        (_, true) => drop(maps.words[which as usize].delete(writer << 32 | key)?),
        (_, false) => drop(maps.words[which as usize].put(writer << 32 | key, i)?),
    }
    Ok(())
}

/// Applies operation `i` of a writer to the model `all`.
fn apply(all: &mut BTreeMap<(u64, u64), u64>, i: u64) {
    match step(i) {
        (at, true) => drop(all.remove(&at)),
        (at, false) => drop(all.insert(at, i)),
    }
}

/// The progress of each writer during a round: from the number of operations that had returned before it to the number
/// that had begun when it ended.
type Span = [RangeInclusive<u64>; WRITERS as usize];

/// Runs two writers beside rounds until the power is cut. Returns the span of each completed round, and of the one that
/// was cut.
fn run_until_cut(pool: &Pool, disk: &Losing, copier: Copier) -> Vec<Span> {
    let maps = Maps::of(pool).unwrap();
    let begun = [const { AtomicU64::new(0) }; WRITERS as usize];
    let done = [const { AtomicU64::new(0) }; WRITERS as usize];
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (maps, begun, done, ends) = (&maps, &begun, &done, &ends);
            scope.spawn(move || {
                let mut i = 0;
                while !ends.load(Ordering::Relaxed) {
                    begun[writer as usize].store(i + 1, Ordering::SeqCst);
                    run_step(pool, maps, writer, i).unwrap();
                    i += 1;
                    done[writer as usize].store(i, Ordering::SeqCst);
                }
            });
        }
        let spans = rounds(
            pool,
            disk,
            copier,
            || done.each_ref().map(|done| done.load(Ordering::SeqCst)),
            || begun.each_ref().map(|begun| begun.load(Ordering::SeqCst)),
        );
        ends.store(true, Ordering::Relaxed);
        spans
    })
}

fn rounds(
    pool: &Pool,
    disk: &Losing,
    mut copier: Copier,
    done: impl Fn() -> [u64; 2],
    begun: impl Fn() -> [u64; 2],
) -> Vec<Span> {
    let superblock = superblock_of(pool.path());
    let mut spans = Vec::new();
    let Ok(mut file) = CheckpointFile::open(disk.clone(), 1 << 20) else { return spans };
    let (mut pages, patience) = (Pages::All, Instant::now());
    loop {
        let first = done();
        let made = copier.round(pool.space(), &mut file, &superblock, (pages, When::Open));
        let last = begun();
        spans.push([first[0]..=last[0], first[1]..=last[1]]);
        if made.is_ok() {
            pages = Pages::Noted;
        } else if disk.has_ended() {
            return spans;
        }
        assert!(patience.elapsed() < Duration::from_secs(60), "{made:?}");
    }
}

fn superblock_of(path: &Path) -> Superblock {
    Superblock::read(&File::open(path).unwrap()).unwrap()
}

/// Makes the pool's file what a power loss may leave: from another boot, with garbage in some pages, longer or shorter.
fn tear(path: &Path, was: &Superblock, random: &mut Random) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let sequence = superblock_of(path).sequence;
    let mut boot = was.boot;
    boot.id = [0xEE; 16];
    Superblock { clean: false, boot, sequence, is_marked: false, ..*was }.write(&file).unwrap();
    let pages = file.metadata().unwrap().len() / restore::PAGE_BYTES;
    for page in 2..pages {
        if random.below(3) == 0 {
            let garbage = [random.below(256) as u8; restore::PAGE_BYTES as usize];
            file.write_all_at(&garbage, page * restore::PAGE_BYTES).unwrap();
        }
    }
    match random.below(4) {
        0 => file.set_len((pages / 2 + 2) * restore::PAGE_BYTES).unwrap(),
        1 => file.set_len((pages + 32) * restore::PAGE_BYTES).unwrap(),
        _ => {}
    }
}

/// Whether the pool contains, for each writer, exactly its operations up to one moment of the span.
fn expect_span(pool: &Pool, span: &Span) -> bool {
    let maps = Maps::of(pool).unwrap();
    let names: Vec<_> = pool.maps().unwrap().into_iter().map(|map| map.name).collect();
    (0..WRITERS).all(|writer| {
        let found = maps.of_writer(writer).unwrap();
        let span = span[writer as usize].clone();
        let mut model = BTreeMap::new();
        (0..*span.start()).for_each(|i| apply(&mut model, i));
        span.into_iter().any(|count| {
            // The operation in flight may already have made or dropped its map.
            let is_there = match count % MAKES {
                0 | 30 => true,
                step => names.contains(&extra_of(writer, count)) == (step < 30),
            };
            let is_so = is_there && model == found;
            apply(&mut model, count);
            is_so
        })
    })
}

fn cut_once(folder: &Path, seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let path = folder.join(format!("pool-{seed}"));
    let kept = folder.join(format!("pool-{seed}.checkpoint"));
    let how = || {
        Pool::options().checkpoints(Checkpoints::on_demand()).max_size(64 << 20).recovery_threads(0)
    };
    let pool = how().create_new(&path).unwrap();
    let was = superblock_of(&path);
    let disk = Losing::ending_at(random.below(120));
    // In half of the runs nearly all pages are copied before the hold, beside writers that are slowed down for that.
    let most = if seed.is_multiple_of(2) { 16 << 10 } else { 4 };
    let spans = run_until_cut(&pool, &disk, Copier::default().with_most_in_hold(most));
    drop(pool);
    tear(&path, &was, &mut random);
    // What the disk below the checkpoint has kept.
    let disk = disk.cut(&mut random, u64::MAX);
    let newest = CheckpointFile::open(disk.clone(), 1 << 20).unwrap().newest();
    fs::write(&kept, &disk.0.lock().now).unwrap();
    let Some((_, sequence)) = newest else {
        assert!(spans.len() <= 1, "seed {seed}: a checkpoint was completed and is gone");
        assert!(how().open_existing(&path).is_err());
        fs::remove_file(&path).unwrap();
        fs::remove_file(&kept).unwrap();
        return;
    };
    // The checkpoint is that of the last completed round, or of the round that was cut.
    let completed = spans.len() as u64 - 1;
    assert!(
        (completed..=completed + 1).contains(&sequence),
        "seed {seed}: {sequence} of {completed}"
    );
    if random.below(2) == 0 {
        // The power is cut during the restore as well: some of its pages are written.
        let file = CheckpointFile::open(disk, 1 << 20).unwrap();
        let torn = File::options().read(true).write(true).open(&path).unwrap();
        let ends = restore::restore(&torn, &file, restore::Writes::Differing, &mut |_, _| Ok(()));
        assert!(ends.is_ok());
        tear(&path, &was, &mut random);
    }
    if random.below(4) == 0 {
        fs::remove_file(&path).unwrap();
    }
    let pool = how().open_existing(&path).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    assert!(pool.stats().unwrap().restored.is_some());
    pool.verify().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    assert!(expect_span(&pool, &spans[sequence as usize - 1]), "seed {seed}, round {sequence}");
    let maps = Maps::of(&pool).unwrap();
    (0..200).for_each(|i| run_step(&pool, &maps, 0, i).unwrap());
    pool.verify().unwrap_or_else(|error| panic!("seed {seed}, written: {error}"));
    drop(maps);
    drop(pool);
    fs::remove_file(&path).unwrap();
    fs::remove_file(&kept).unwrap();
}

/// Makes a thousand cuts, or `ENDURA_CUTS`.
#[test]
fn a_power_loss_at_any_moment_leaves_a_checkpoint() {
    let cuts = std::env::var("ENDURA_CUTS").map_or(1_000, |cuts| cuts.parse().unwrap());
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= cuts {
                        return;
                    }
                    cut_once(folder.path(), seed);
                }
            });
        }
    });
}

/// A disk below checkpoints that closes the pool at the first write.
#[derive(Clone)]
struct Closing {
    disk: Losing,
    space: Arc<Space<Mapped>>,
    writes: Arc<AtomicU64>,
}

impl fmt::Debug for Closing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.disk.fmt(out)
    }
}

impl DiskFile for Closing {
    fn length(&self) -> io::Result<u64> {
        self.disk.length()
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.disk.read_at(bytes, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        if self.writes.fetch_add(1, Ordering::Relaxed) == 0 {
            self.space.close().unwrap();
        }
        self.disk.write_at(bytes, at)
    }

    fn allocate(&self, from: u64, end: u64) -> io::Result<()> {
        self.disk.allocate(from, end)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sync()
    }
}

/// A close waits for the rounds of other threads. So they end soon after it has begun, however large the pool is.
#[test]
fn a_round_ends_soon_after_a_close_has_begun() {
    for pages in [Pages::All, Pages::Noted] {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let path = folder.path().join("pool");
        let options = Pool::options().checkpoints(Checkpoints::on_demand()).max_size(128 << 20);
        let pool = options.create_new(&path).unwrap();
        let map = pool.map::<u64, [u8]>("map").unwrap();
        (0..64).for_each(|key| _ = map.put(key, &vec![7; 1 << 20]).unwrap());
        let superblock = superblock_of(&path);
        let disk = Closing {
            disk: Losing::ending_at(u64::MAX),
            space: Arc::clone(pool.space()),
            writes: Arc::default(),
        };
        let mut file = CheckpointFile::open(disk.clone(), 1 << 20).unwrap();
        let mut copier = Copier::default().with_most_in_hold(0);
        let made = copier.round(pool.space(), &mut file, &superblock, (pages, When::Open));
        assert!(format!("{made:?}").contains("Closed"), "{made:?}");
        let writes = disk.writes.load(Ordering::Relaxed);
        // Of more than 64, for a write has 1 MiB at the most. A copy of all pages looks every 8 MiB.
        assert!((1..=16).contains(&writes), "{pages:?}: {writes} writes");
    }
}
