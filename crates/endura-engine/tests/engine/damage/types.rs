//! Maps of words whose recorded types are changed from outside. No key is taken for another one because its encoding has
//! more bytes than a word.

use endura::dynamic::{DynamicMap, Type};
use endura_engine::{Error, Kind};

use crate::support::patched::{Closed, FIRST_ENTRY, Words, options};

/// The names of the types of keys and of values in the entry of a map.
const TYPES: [u64; 2] = [FIRST_ENTRY + 320, FIRST_ENTRY + 576];

fn record(words: &Words, at: u64, name: &str) {
    let mut bytes = name.as_bytes().to_vec();
    bytes.resize(256, 0);
    for (chunk, at) in bytes.chunks_exact(8).zip((at..).step_by(8)) {
        words.put(at, u64::from_le_bytes(chunk.try_into().unwrap()));
    }
}

#[test]
fn a_map_of_words_has_types_of_words() {
    for kind in [Kind::FastFair, Kind::NbTree] {
        let closed = Closed::new(kind, 10);
        for name in ["str", "[u8]", "u128", "(u64, u8)", "Option<u8>", "[u8; 9]", "json<User>"] {
            for at in TYPES {
                let pool = options().open_existing(closed.patched(|words| record(words, at, name)));
                let pool = pool.unwrap();
                let opened = DynamicMap::open(&pool, "map").map(drop);
                assert!(matches!(opened, Err(Error::Corrupt { .. })), "{name}: {opened:?}");
                assert_eq!(pool.map::<u8, u8>("other").unwrap().insert(1, 1).unwrap(), None);
            }
        }
    }
}

/// What a type is that this build cannot name it cannot know: it takes words for it, and nothing else.
#[test]
fn words_of_an_unknown_type_are_whole_words() {
    let names = ["postcard<User>", "u7", "\u{202e}", "Id: u65", "((((((((u8", "[u8; 3", "json<"];
    for kind in [Kind::FastFair, Kind::NbTree] {
        let closed = Closed::new(kind, 10);
        for name in names {
            let path = closed.patched(|words| TYPES.iter().for_each(|&at| record(words, at, name)));
            let pool = options().open_existing(path).unwrap();
            let map = DynamicMap::open(&pool, "map").unwrap();
            assert_eq!(map.key_type(), &Type::Unknown(name.into()));
            let seven = 7_u64.to_be_bytes();
            assert_eq!(map.get(&seven).unwrap().as_deref(), Some(&seven[..]));
            for bad in [&b""[..], &seven[1..], b"a key of more than eight bytes"] {
                let refused = [
                    map.get(bad).map(drop),
                    map.insert(bad, &seven).map(drop),
                    map.insert(&seven, bad).map(drop),
                    map.update(&seven, |_| bad.to_vec()).map(drop),
                ];
                for result in refused {
                    assert!(matches!(result, Err(Error::Encode { .. })), "{name}: {result:?}");
                }
            }
            assert_eq!(map.iter().count(), 10);
            assert_eq!(map.get(&seven).unwrap().as_deref(), Some(&seven[..]));
        }
    }
}
