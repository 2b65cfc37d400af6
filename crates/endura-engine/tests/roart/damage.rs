//! Damaged pools.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use endura_engine::media::{Heap, Media, Region};
use endura_engine::space::{LeakWalk, Space};
use endura_engine::tree::roart::Tree;
use endura_engine::{Error, Result};
use endura_variants::handles::ByteMap;
use endura_variants::roart::Tiny;
use endura_variants::sessions;

use crate::byte_damage::{self, Damaged, HANGS, ROOM};

type Map = ByteMap<Tree<Arc<Heap>, Tiny>>;

impl Damaged for Tree<Arc<Heap>, Tiny> {
    fn open(space: &Arc<Space<Arc<Heap>>>, name: &str) -> Result<Self> {
        Self::open(space, name)
    }

    fn walks(&self) -> Vec<Box<dyn LeakWalk<Arc<Heap>>>> {
        vec![self.marking()]
    }

    fn check(&self) -> Result<()> {
        self.check(&mut |_, _| ()).map(drop)
    }

    fn count_all(&self) -> Result<()> {
        self.count_all()
    }
}

#[test]
fn a_damaged_pool_answers_or_fails() {
    byte_damage::answers_or_fails::<Tree<Arc<Heap>, Tiny>>();
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
