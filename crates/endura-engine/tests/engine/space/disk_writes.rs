//! What a pool on a disk writes: an update makes the page dirty in which it falls, and no more.
//!
//! The kernel counts for each thread the bytes that it made dirty and that a file system will therefore write
//! (`write_bytes` of `/proc/thread-self/io`); tmpfs has no such bytes, and the tests say so and end. The figures
//! of `docs/design.md` are those of
//!
//!     cargo test --release -p endura-engine --test engine a_thousand_updates_a_second -- --ignored --nocapture

use std::path::Path;
use std::time::{Duration, Instant};

use endura::{MapOptions, Pool};
use endura_engine::Checkpoints;

/// Numbers in no order, the same each time.
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 8
}

fn written() -> u64 {
    let counts = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    let count = counts.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    count.unwrap().parse().unwrap()
}

/// A map of any kind: what it takes to store number `number` with this value.
type Store = Box<dyn Fn(u64, u64)>;

struct Kind {
    name: &'static str,
    open: fn(&Pool) -> Store,
    /// Bytes that an update may write: its page, and one more now and then; of byte strings the page of the
    /// new record as well.
    most: u64,
}

const KINDS: [Kind; 3] = [
    Kind { name: "FastFair", open: fast_fair, most: 8 << 10 },
    Kind { name: "NbTree", open: nbtree, most: 8 << 10 },
    Kind { name: "Roart", open: roart, most: 12 << 10 },
];

fn fast_fair(pool: &Pool) -> Store {
    let map = pool.map::<u64, u64>("map").unwrap();
    Box::new(move |number, value| _ = map.insert(scattered(number), value).unwrap())
}

fn nbtree(pool: &Pool) -> Store {
    let map = pool
        .map_with::<u64, u64>("map", MapOptions::new().kind(endura_engine::Kind::NbTree))
        .unwrap();
    Box::new(move |number, value| _ = map.insert(scattered(number), value).unwrap())
}

fn roart(pool: &Pool) -> Store {
    let map = pool.map::<u64, [u8]>("map").unwrap();
    Box::new(move |number, value| {
        _ = map.insert(scattered(number), &value.to_le_bytes()).unwrap();
    })
}

/// The bytes that each of `updates` updates of a pool of `entries` entries writes, `pause` apart, with those of
/// a sync at the end; none where nothing is written back.
fn bytes_per_update(
    folder: &Path,
    open: fn(&Pool) -> Store,
    (entries, updates): (u64, u64),
    pause: Duration,
    read_mostly: bool,
) -> Option<u64> {
    let path = folder.join("pool");
    let options = Pool::options().read_mostly(read_mostly).recovery_threads(0);
    let options = options.checkpoints(Checkpoints::off());
    let pool = options.create_new(&path).unwrap();
    let store = open(&pool);
    (0..entries).for_each(|number| store(number, number));
    drop(store);
    // From here on no page is dirty.
    pool.close().unwrap();
    let pool = options.open_existing(&path).unwrap();
    if pool.stats().unwrap().filesystem == "tmpfs" {
        return None;
    }
    let store = open(&pool);
    // What the first update alone does.
    store(0, 1);
    let before = written();
    let begun = Instant::now();
    for turn in 0..updates {
        // Tens of milliseconds at a time: a sleep takes longer than it should.
        if turn % 20 == 0 {
            let due = begun + pause * turn as u32;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        store(scattered(turn) % entries, !turn);
    }
    std::fs::File::open(&path).unwrap().sync_all().unwrap();
    let each = (written() - before) / updates;
    drop((store, pool));
    std::fs::remove_file(&path).unwrap();
    Some(each)
}

#[test]
fn an_update_writes_a_page() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for Kind { name, open, most } in KINDS {
        let sizes = (200_000, 100);
        let each = bytes_per_update(folder.path(), open, sizes, Duration::ZERO, false);
        println!("{name}: {each:?} bytes an update");
        assert!(each.is_none_or(|each| each <= most), "{name}: {each:?} bytes an update");
    }
}

#[test]
#[ignore = "two minutes and a gigabyte of disk: the figures of docs/design.md"]
fn a_thousand_updates_a_second() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for Kind { name, open, most } in KINDS {
        for read_mostly in [false, true] {
            let (sizes, pause) = ((5_000_000, 12_000), Duration::from_millis(1));
            let each = bytes_per_update(folder.path(), open, sizes, pause, read_mostly);
            println!("{name}, read_mostly({read_mostly}): {each:?} bytes an update");
            assert!(read_mostly || each.is_none_or(|each| each <= most), "{name}: {each:?}");
        }
    }
}
