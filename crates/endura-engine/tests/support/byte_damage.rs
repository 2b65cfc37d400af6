//! Damaged pools with maps of byte strings: whatever a word of one is changed to, every operation answers or fails. It does
//! not panic, and it ends. `ENDURA_FUZZ_SECONDS` and `ENDURA_FUZZ_SEED` are those of the test `damage`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use endura_engine::Result;
use endura_engine::media::{Heap, Media, Region};
use endura_engine::space::{LeakRecoverer, LeakWalk, PAGE, Space};
use endura_engine::tree::ByteIndex;
use endura_variants::handles::ByteMap;
use endura_variants::random::mix;
use endura_variants::sessions;

/// A tree whose pools are damaged.
pub(crate) trait Damaged: ByteIndex + Clone {
    fn open(space: &Arc<Space<Arc<Heap>>>, name: &str) -> Result<Self>;
    fn walks(&self) -> Vec<Box<dyn LeakWalk<Arc<Heap>>>>;
    fn check(&self) -> Result<()>;
    fn count_all(&self) -> Result<()>;
}

/// Room that a damaged pool may grow to.
pub(crate) const ROOM: u64 = 24 * PAGE;
const ENTRIES: u64 = 400;
/// Longer than any one trial takes on a loaded machine.
pub(crate) const HANGS: Duration = Duration::from_secs(60);

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Short ones and long ones, with prefixes in common, and each the prefix of some other.
fn key(n: u64) -> Vec<u8> {
    match n % 4 {
        0 => n.to_be_bytes()[6..].to_vec(),
        1 => format!("a/shared/prefix/of/all/{n}").into_bytes(),
        2 => vec![b'n'; n as usize / 4],
        _ => vec![b'f', n as u8],
    }
}

/// The words of a pool that are not zero, with their numbers.
fn image<T: Damaged>(closed: bool) -> Vec<(usize, u64)> {
    let heap = Arc::new(Heap::new(ROOM));
    let space = sessions::first(Arc::clone(&heap)).unwrap();
    fill(&ByteMap::over(T::open(&space, "one").unwrap()));
    fill(&ByteMap::over(T::open(&space, "other").unwrap()));
    if closed {
        space.close().unwrap();
        space.save().unwrap();
    }
    let words = Region::new(&*heap, 0, heap.len() as usize / 8).unwrap();
    let numbered = (0..words.words()).map(|i| (i, words.load(i, Ordering::Acquire)));
    numbered.filter(|&(_, word)| word != 0).collect()
}

fn fill<T: Damaged>(map: &ByteMap<T>) {
    for n in 0..ENTRIES {
        map.insert(key(n), vec![n as u8; n as usize % 70]).unwrap();
    }
    map.insert("a run of pages", vec![1; PAGE as usize + 1]).unwrap();
    (100..200).for_each(|n| _ = map.remove(key(n)).unwrap());
}

/// One to six words changed.
fn damaged(image: &[(usize, u64)], random: &mut Random) -> Arc<Heap> {
    let heap = Heap::new(ROOM);
    let words = Region::new(&heap, 0, ROOM as usize / 8).unwrap();
    image.iter().for_each(|&(i, word)| words.store(i, word, Ordering::Relaxed));
    for _ in 0..=random.below(6) {
        let (i, word) = image[random.below(image.len() as u64) as usize];
        let (_, other) = image[random.below(image.len() as u64) as usize];
        let new = match random.below(8) {
            0..3 => word ^ 1 << random.below(64),
            3 => 0,
            4 => [u64::MAX, i64::MAX as u64, 1 << 63, 1 << 62, (1 << 48) - 64]
                [random.below(5) as usize],
            5 => other,
            6 => word.wrapping_add(random.below(256)).wrapping_sub(128),
            _ => random.next(),
        };
        words.store(i, new, Ordering::Relaxed);
    }
    if random.below(2) == 0 {
        // Lock words of this session and those around it, locked or not.
        for _ in 0..=random.below(24) {
            let (i, _) = image[random.below(image.len() as u64) as usize];
            let word = (1 + random.below(3)) << 44 | random.below(64);
            words.store(i / 8 * 8, word, Ordering::Relaxed);
        }
    }
    Arc::new(heap)
}

/// All that a map offers. Errors are answers, too.
fn every_operation<T: Damaged>(map: &ByteMap<T>, random: &mut Random) {
    let keys: Vec<Vec<u8>> = (0..30).map(|_| key(random.below(ENTRIES + 50))).collect();
    let _ = (map.is_empty(), map.first(), map.last(), map.get_many(&keys));
    for key in &keys {
        let value = vec![7; random.below(90) as usize];
        let _ = (map.get(key), map.contains_key(key), map.insert(key, &value));
        let _ = (map.insert_new([key, &b"+"[..]].concat(), "new"), map.update(key, ""));
        let _ = (map.compare_exchange(key, Some(&[]), Some(b"other")), map.remove(key));
        let _ = map.fetch_update(key, |old| old.map(<[u8]>::to_vec).or(Some(Vec::new())));
        let _ = map.insert_from(key, 40, |out| {
            out.write_all(b"piece by piece").unwrap();
            Ok(())
        });
    }
    // At most so many entries can be told apart in the room there is.
    let limit = (ROOM / 16) as usize;
    assert!(map.iter().take(limit).count() < limit, "a scan ends");
    assert!(map.iter().rev().take(limit).count() < limit, "a scan ends");
    let _ = (map.prefix(&keys[0][..1.min(keys[0].len())]).count(), map.pop_first(), map.pop_last());
    let _ = map.remove_range(keys[1].clone()..keys[2].clone());
    let _ = (map.retain(|key, _| key.len() % 3 != 0), map.index().count_all());
    if random.below(4) == 0 {
        let _ = map.clear();
    }
}

fn trial<T: Damaged>(image: &[(usize, u64)], seed: u64) {
    let mut random = Random(seed);
    let heap = damaged(image, &mut random);
    let Ok(space) = sessions::begin(Arc::clone(&heap), 2, random.below(2) == 0) else { return };
    let trees: Vec<T> =
        ["one", "other"].into_iter().filter_map(|name| T::open(&space, name).ok()).collect();
    let walks = trees.iter().flat_map(T::walks).collect();
    let recoverer = LeakRecoverer::new(&space, walks, 64);
    for tree in trees {
        every_operation(&ByteMap::over(tree.clone()), &mut random);
        let _ = tree.check();
        let _ = recoverer.finish();
    }
    let _ = (space.stats(), space.relieve(), space.close(), space.save());
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Damages pools for some seconds.
pub(crate) fn answers_or_fails<T: Damaged>() {
    let images = [image::<T>(true), image::<T>(false)];
    let first = setting("ENDURA_FUZZ_SEED", 1) << 32;
    let (now, done) = (AtomicU64::new(first), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut last, mut since) = (first, Instant::now());
            while done.load(Ordering::Acquire) == 0 {
                std::thread::sleep(Duration::from_millis(100));
                let seed = now.load(Ordering::Relaxed);
                (last, since) = if seed == last { (last, since) } else { (seed, Instant::now()) };
                if since.elapsed() > HANGS {
                    eprintln!("a hang with seed {seed}");
                    std::process::abort();
                }
            }
        });
        let end = Instant::now() + Duration::from_secs(setting("ENDURA_FUZZ_SECONDS", 4));
        let (mut seed, mut panics) = (first, Vec::new());
        while Instant::now() < end || seed < first + 20 {
            now.store(seed, Ordering::Relaxed);
            let image = &images[(seed % 2) as usize];
            if catch_unwind(AssertUnwindSafe(|| trial::<T>(image, seed))).is_err() {
                panics.push(seed);
            }
            seed += 1;
        }
        done.store(1, Ordering::Release);
        println!("{} damaged pools", seed - first);
        assert!(panics.is_empty(), "panics with the seeds {panics:?}");
    });
}
