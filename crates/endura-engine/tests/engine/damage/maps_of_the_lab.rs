//! Maps of byte strings whose key words are not those of a pool: the library refuses them, as the lab refuses the
//! library's. Their nodes have the same sizes, and reading one as the other would look for keys in the wrong places.

use std::sync::Arc;

use endura::{MapOptions, Pool};
use endura_engine::index::{FairBytes, NbBytes};
use endura_engine::media::Mapped;
use endura_engine::space::Space;
use endura_engine::tree::ByteIndex;
use endura_engine::tree::key_word::{One, OneAndTwo};
use endura_engine::tree::nbtree::ByteTree;
use endura_engine::{Error, Kind, Result};
use endura_variants::fast_fair_bytes::Pointers;
use endura_variants::handles::ByteMap;

use crate::support::pools::pool;

const KEYS: u32 = 1_000;

/// How a tree is opened.
type Open<I> = fn(&Arc<Space<Mapped>>, &str) -> Result<I>;

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

/// The answer of the library to a map whose nodes it does not know.
fn unknown<T>(result: Result<T>) {
    let error = result.err().expect("a refusal");
    assert!(matches!(&error, Error::UnknownNodes { name } if name == "theirs"), "{error}");
    assert!(error.to_string().contains("that this build does not know"), "{error}");
}

/// The answer of a tree to a map of its kind with other nodes.
fn other<T>(result: Result<T>, map: &str) {
    let error = result.err().expect("a refusal");
    assert!(matches!(&error, Error::OtherNodes { name } if name == map), "{error}");
}

fn hold_all<I: ByteIndex>(map: &ByteMap<I>) {
    assert!((0..KEYS).all(|n| map.get(key(n)).unwrap().as_deref() == Some(&key(n)[..])));
    assert_eq!(map.iter().count(), KEYS as usize);
}

/// A map of each in one pool: neither opens the other's, in this session or in the next.
fn refuse_each_other<L: ByteIndex, P: ByteIndex>(kind: Kind, lab: Open<L>, product: Open<P>) {
    let (_folder, path, pool) = pool();
    let options = MapOptions::new().kind(kind);
    let theirs = ByteMap::over(lab(pool.space(), "theirs").unwrap());
    let ours = pool.map_with::<[u8], [u8]>("ours", options).unwrap();
    for n in 0..KEYS {
        theirs.insert(key(n), key(n)).unwrap();
        ours.insert(&key(n)[..], &key(n)[..]).unwrap();
    }
    let check = |pool: &Pool| {
        unknown(pool.map_with::<[u8], [u8]>("theirs", options));
        unknown(pool.map_with::<[u8], [u8]>("theirs", options.create(false)));
        unknown(pool.drop_map("theirs"));
        unknown(pool.verify());
        other(product(pool.space(), "theirs"), "theirs");
        other(lab(pool.space(), "ours"), "ours");
        let maps = pool.maps().unwrap();
        assert!(maps.iter().all(|map| map.kind == Some(kind)), "{maps:?}");
        assert!(maps.iter().all(|map| map.is_known == (map.name == "ours")), "{maps:?}");
        hold_all(&ByteMap::over(lab(pool.space(), "theirs").unwrap()));
        hold_all(&ByteMap::over(product(pool.space(), "ours").unwrap()));
    };
    check(&pool);
    pool.close().unwrap();
    check(&Pool::options().open_existing(&path).unwrap());
}

#[test]
fn with_pointers_in_the_place_of_keys() {
    refuse_each_other(Kind::FastFair, Pointers::open, FairBytes::open);
}

#[test]
fn with_words_of_one_byte() {
    type Fair<K> = endura_engine::tree::fast_fair_bytes::Tree<Mapped, 128, 128, K>;
    type Nb<K> = ByteTree<Mapped, 128, 64, K>;
    refuse_each_other(Kind::FastFair, Fair::<One>::open, FairBytes::open);
    refuse_each_other(Kind::FastFair, Fair::<OneAndTwo>::open, FairBytes::open);
    refuse_each_other(Kind::NbTree, Nb::<One>::open_strings, NbBytes::open_strings);
    refuse_each_other(Kind::NbTree, Nb::<OneAndTwo>::open_strings, NbBytes::open_strings);
}
