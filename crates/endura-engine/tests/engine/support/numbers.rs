//! Maps of all kinds, with numbers as keys.

use std::rc::Rc;

use endura::{Map, MapOptions, PoolOptions};
use endura_engine::Kind;
use endura_engine::media::Heap;
use endura_engine::space::PAGE;
use endura_engine::tree::fast_fair::LineBinary;
use endura_engine::tree::{ByteIndex, Bytes, Index, Len, fast_fair, nbtree, roart};
use endura_variants::handles::{ByteEntry, ByteMap, WordMap};
use endura_variants::sessions;

use crate::support::watched::Watched;

/// Numbers as keys of any map.
pub(crate) trait Numbers: Send + Sync {
    /// Enters it, and gives the value it had.
    fn replace(&self, key: u64, value: u64) -> Option<u64>;
    /// Takes it out, and gives the value it had.
    fn remove(&self, key: u64) -> Option<u64>;

    fn put(&self, key: u64, value: u64) {
        self.replace(key, value);
    }

    fn take(&self, key: u64) -> bool {
        self.remove(key).is_some()
    }

    fn get(&self, key: u64) -> Option<u64>;
    fn first(&self) -> Option<(u64, u64)>;
    fn last(&self) -> Option<(u64, u64)>;
    fn is_empty(&self) -> bool;
    fn pop_first(&self) -> Option<(u64, u64)>;
    fn pop_last(&self) -> Option<(u64, u64)>;
    fn len(&self) -> Len;
}

/// The methods that maps of numbers have under the same names, and two whose names differ.
macro_rules! numbers {
    ($first:ident, $last:ident) => {
        fn replace(&self, key: u64, value: u64) -> Option<u64> {
            self.insert(key, value).unwrap()
        }

        fn remove(&self, key: u64) -> Option<u64> {
            self.remove(key).unwrap()
        }

        fn get(&self, key: u64) -> Option<u64> {
            self.get(key).unwrap()
        }

        fn first(&self) -> Option<(u64, u64)> {
            self.$first().unwrap()
        }

        fn last(&self) -> Option<(u64, u64)> {
            self.$last().unwrap()
        }

        fn is_empty(&self) -> bool {
            self.is_empty().unwrap()
        }

        fn pop_first(&self) -> Option<(u64, u64)> {
            self.pop_first().unwrap()
        }

        fn pop_last(&self) -> Option<(u64, u64)> {
            self.pop_last().unwrap()
        }
    };
}

impl Numbers for Map<u64, u64> {
    numbers!(first_key_value, last_key_value);

    /// Too little where it is not counted: nothing here asks for that.
    fn len(&self) -> Len {
        Len::Exact(self.approximate_len().unwrap() as u64)
    }
}

impl<I: Index> Numbers for WordMap<I> {
    numbers!(first, last);

    fn len(&self) -> Len {
        self.len().unwrap()
    }
}

fn number(value: Vec<u8>) -> u64 {
    u64::from_le_bytes(value.try_into().unwrap())
}

fn numbers((key, value): ByteEntry) -> (u64, u64) {
    (u64::from_be_bytes(key.try_into().unwrap()), number(value))
}

impl<I: ByteIndex> Numbers for ByteMap<I> {
    fn replace(&self, key: u64, value: u64) -> Option<u64> {
        self.insert(key.to_be_bytes(), value.to_le_bytes()).unwrap().map(number)
    }

    fn remove(&self, key: u64) -> Option<u64> {
        self.remove(key.to_be_bytes()).unwrap().map(number)
    }

    fn get(&self, key: u64) -> Option<u64> {
        let word = |value: Bytes<'_>| value.to_array().map(u64::from_le_bytes);
        self.get_with(key.to_be_bytes(), word).unwrap().flatten()
    }

    fn first(&self) -> Option<(u64, u64)> {
        self.first().unwrap().map(numbers)
    }

    fn last(&self) -> Option<(u64, u64)> {
        self.last().unwrap().map(numbers)
    }

    fn is_empty(&self) -> bool {
        self.is_empty().unwrap()
    }

    fn pop_first(&self) -> Option<(u64, u64)> {
        self.pop_first().unwrap().map(numbers)
    }

    fn pop_last(&self) -> Option<(u64, u64)> {
        self.pop_last().unwrap().map(numbers)
    }

    fn len(&self) -> Len {
        self.len().unwrap()
    }
}

/// Runs `work` with one map of each kind, all in one pool.
pub(crate) fn each_kind(options: PoolOptions, work: impl Fn(&str, &dyn Numbers)) {
    let folder = tempfile::tempdir().unwrap();
    let pool = options.max_size(1 << 30).create_new(folder.path().join("pool")).unwrap();
    work("FastFair", &pool.map::<u64, u64>("f").unwrap());
    work("NbTree", &pool.map_with::<u64, u64>("n", MapOptions::new().kind(Kind::NbTree)).unwrap());
    let roart = MapOptions::new().kind(Kind::Roart);
    work("Roart", &pool.map_with::<u64, u64>("r", roart).unwrap());
}

/// A map of each kind in a pool of its own.
pub(crate) fn watched(needs_flush: bool) -> [(&'static str, Rc<dyn Numbers>); 4] {
    let space = |has_locks| {
        let heap = if needs_flush { Heap::adr } else { Heap::new };
        sessions::first(Watched::new(heap(16 * PAGE), has_locks)).unwrap()
    };
    let small = fast_fair::Tree::<_, 14, 14, LineBinary>::open(&space(true), "m").unwrap();
    let wide = fast_fair::Tree::<_, 256, 128, LineBinary>::open(&space(true), "m").unwrap();
    let nbtree = nbtree::Tree::<_, 16, 4>::open(&space(false), "m").unwrap();
    let roart = roart::Tree::<_>::open(&space(true), "m").unwrap();
    [
        ("FastFair", Rc::new(WordMap::over(small))),
        ("wide FastFair", Rc::new(WordMap::over(wide))),
        ("NbTree", Rc::new(WordMap::over(nbtree))),
        ("Roart", Rc::new(ByteMap::over(roart))),
    ]
}
