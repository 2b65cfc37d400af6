//! Damaged pools: whatever a word of one is changed to, every operation answers or fails. It does not
//! panic, and it ends. `ENDURA_FUZZ_SECONDS` and `ENDURA_FUZZ_SEED` are those of the test `damage`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use endura_engine::Error;
use endura_engine::media::{Heap, Media, Region};
use endura_engine::space::{LeakRecoverer, PAGE};
use endura_engine::tree::roart::Tree;
use endura_variants::handles::ByteMap;
use endura_variants::random::mix;
use endura_variants::roart::Tiny;
use endura_variants::sessions;

type Map = ByteMap<Tree<Arc<Heap>, Tiny>>;

/// Room that a damaged pool may grow to.
const ROOM: u64 = 24 * PAGE;
const ENTRIES: u64 = 400;
/// Longer than any one trial takes on a loaded machine.
const HANGS: Duration = Duration::from_secs(60);

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
fn image(closed: bool) -> Vec<(usize, u64)> {
    let heap = Arc::new(Heap::new(ROOM));
    let space = sessions::first(Arc::clone(&heap)).unwrap();
    fill(&ByteMap::over(Tree::open(&space, "one").unwrap()));
    fill(&ByteMap::over(Tree::open(&space, "other").unwrap()));
    if closed {
        space.close().unwrap();
        space.save().unwrap();
    }
    let words = Region::new(&*heap, 0, heap.len() as usize / 8).unwrap();
    let numbered = (0..words.words()).map(|i| (i, words.load(i, Ordering::Acquire)));
    numbered.filter(|&(_, word)| word != 0).collect()
}

fn fill(map: &Map) {
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
fn every_operation(map: &Map, random: &mut Random) {
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

fn trial(image: &[(usize, u64)], seed: u64) {
    let mut random = Random(seed);
    let heap = damaged(image, &mut random);
    let Ok(space) = sessions::begin(Arc::clone(&heap), 2, random.below(2) == 0) else { return };
    let trees: Vec<Tree<_, Tiny>> =
        ["one", "other"].into_iter().filter_map(|name| Tree::open(&space, name).ok()).collect();
    let walks = trees.iter().map(|tree| tree.marking()).collect();
    let recoverer = LeakRecoverer::new(&space, walks, 64);
    for tree in trees {
        every_operation(&ByteMap::over(tree.clone()), &mut random);
        let _ = tree.check(&mut |_, _| ());
        let _ = recoverer.finish();
    }
    let _ = (space.stats(), space.relieve(), space.close(), space.save());
}

/// What is wrong with a root is told, and not taken for a map without entries.
#[test]
fn no_operation_takes_a_damaged_root_for_an_empty_map() {
    let heap = Arc::new(Heap::new(ROOM));
    let space = sessions::first(Arc::clone(&heap)).unwrap();
    let map: Map = ByteMap::over(Tree::open(&space, "one").unwrap());
    map.insert("key", "value").unwrap();
    let words = Region::new(&*heap, 0, heap.len() as usize / 8).unwrap();
    let root_word = space.find_map("one").unwrap().unwrap().root() as usize / 8;
    let root = words.load(root_word, Ordering::Acquire) as usize / 8;
    let meta = words.load(root + 1, Ordering::Acquire);

    // The root has a prefix; it is none.
    for damage in [meta + 3, 0] {
        words.store(root + 1, damage, Ordering::Relaxed);
        assert!(matches!(map.get("key"), Err(Error::Corrupt { .. })), "{damage:x}");
        assert!(matches!(map.get_many(&["key"]), Err(Error::Corrupt { .. })), "{damage:x}");
        assert!(matches!(map.insert("key", "other"), Err(Error::Corrupt { .. })), "{damage:x}");
        assert!(matches!(map.first(), Err(Error::Corrupt { .. })), "{damage:x}");
    }
    words.store(root + 1, meta, Ordering::Relaxed);
    assert_eq!(map.get("key").unwrap().unwrap(), b"value");

    // Nothing leads to one, or what is no place of one.
    for damage in [0, 8 * root as u64 + 8] {
        words.store(root_word, damage, Ordering::Relaxed);
        let opened = Tree::<_, Tiny>::open(&space, "one");
        assert!(matches!(opened.err(), Some(Error::Corrupt { .. })), "{damage:x}");
    }
}

/// A word leads again to a node that was replaced in this session: nobody can lock that, and nobody takes it out of the
/// way of the keys below. A remove there says so, or has nothing to improve.
#[test]
fn a_remove_below_a_node_that_was_replaced_ends() {
    let key = |byte: u8, last: u8| [b'a', byte, last];
    let remove = move |map: &Map, byte| {
        [0, 1].into_iter().try_for_each(|last| map.remove(key(byte, last)).map(drop))
    };
    let heap = Arc::new(Heap::new(ROOM));
    let space = sessions::first(Arc::clone(&heap)).unwrap();
    let map: Map = ByteMap::over(Tree::open(&space, "one").unwrap());
    map.insert("b", "").unwrap();
    for byte in 0..20 {
        [0, 1].into_iter().for_each(|last| _ = map.insert(key(byte, last), "value").unwrap());
    }
    let words = Region::new(&*heap, 0, heap.len() as usize / 8).unwrap();
    let root = space.find_map("one").unwrap().unwrap().root() as usize / 8;
    let root = words.load(root, Ordering::Acquire) as usize / 8;
    let before: Vec<u64> = (4..260).map(|i| words.load(root + i, Ordering::Acquire)).collect();
    // Twenty children, and then twelve: a smaller node has room for those.
    (0..8).for_each(|byte| remove(&map, byte).unwrap());
    let after: Vec<u64> = (4..260).map(|i| words.load(root + i, Ordering::Acquire)).collect();
    let changed: Vec<usize> = (0..256).filter(|&i| before[i] != after[i]).collect();
    assert_eq!(changed.len(), 1, "the node was replaced");
    words.store(root + 4 + changed[0], before[changed[0]], Ordering::Release);
    let (done, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(remove(&map, 15)));
    let outcome = wait.recv_timeout(HANGS / 3).expect("it does not end");
    assert!(matches!(outcome, Ok(()) | Err(Error::Corrupt { .. })), "{outcome:?}");
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

#[test]
fn a_damaged_pool_answers_or_fails() {
    let images = [image(true), image(false)];
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
            if catch_unwind(AssertUnwindSafe(|| trial(image, seed))).is_err() {
                panics.push(seed);
            }
            seed += 1;
        }
        done.store(1, Ordering::Release);
        println!("{} damaged pools", seed - first);
        assert!(panics.is_empty(), "panics with the seeds {panics:?}");
    });
}
