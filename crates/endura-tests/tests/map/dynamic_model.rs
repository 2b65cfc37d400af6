//! A map of types known at run time beside the typed one of the same name: both are one map, for every type and kind,
//! and answer as a model of encodings does.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use endura::dynamic::{DynamicMap, Encoding, UntypedMap};
use endura::{Key, Kind, Map, MapOptions, Newtype, Pool, Types, Value};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A stream of numbers that is the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

fn encoded<T: Value + ?Sized>(values: &[T::Owned]) -> Vec<Vec<u8>> {
    let encode = |value| {
        let mut out = Vec::new();
        T::encode(T::lend(value), &mut out).unwrap();
        out
    };
    values.iter().map(encode).collect()
}

/// A typed and a dynamic handle of one map, and what is in it.
struct Pair<K: Key + ?Sized, V: Value + ?Sized> {
    typed: Map<K, V>,
    dynamic: DynamicMap,
    model: Model,
}

fn bytes(found: Option<Encoding>) -> Option<Vec<u8>> {
    found.map(Vec::from)
}

fn entry(found: Option<(Encoding, Encoding)>) -> Option<(Vec<u8>, Vec<u8>)> {
    found.map(|(key, value)| (key.to_vec(), value.into()))
}

/// The keys of a model between two bounds, which may be inverted.
fn between(model: &Model, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let is_in = |key: &[u8]| {
        let above = match from {
            Bound::Included(from) => key >= from,
            Bound::Excluded(from) => key > from,
            Bound::Unbounded => true,
        };
        above
            && match to {
                Bound::Included(to) => key <= to,
                Bound::Excluded(to) => key < to,
                Bound::Unbounded => true,
            }
    };
    let all = model.iter().filter(|(key, _)| is_in(key));
    all.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn bound<'k>(numbers: &mut Numbers, keys: &'k [Vec<u8>]) -> Bound<&'k [u8]> {
    match numbers.below(3) {
        0 => Bound::Unbounded,
        1 => Bound::Included(numbers.one_of::<Vec<u8>>(keys)),
        _ => Bound::Excluded(numbers.one_of::<Vec<u8>>(keys)),
    }
}

impl<K: Key + ?Sized, V: Value + ?Sized> Pair<K, V> {
    fn point(&mut self, numbers: &mut Numbers, key: &[u8], value: &[u8], other: &[u8]) {
        let (map, model) = (&self.dynamic, &mut self.model);
        let old = model.get(key).cloned();
        match numbers.below(10) {
            0 => assert_eq!(bytes(map.get(key).unwrap()), old),
            1 => assert_eq!(map.get_with(key, <[u8]>::to_vec).unwrap(), old),
            2 => assert_eq!(map.contains_key(key).unwrap(), old.is_some()),
            3 => {
                assert_eq!(bytes(map.insert(key, value).unwrap()), old);
                model.insert(key.into(), value.into());
            }
            4 => {
                assert_eq!(map.insert_if_absent(key, value).unwrap(), old.is_none());
                model.entry(key.into()).or_insert_with(|| value.into());
            }
            5 => {
                assert_eq!(bytes(map.replace(key, value).unwrap()), old);
                model.entry(key.into()).and_modify(|now| *now = value.into());
            }
            6 => {
                assert_eq!(bytes(map.remove(key).unwrap()), old);
                model.remove(key);
            }
            7 => {
                let expected = Some(other).filter(|_| numbers.below(3) > 0);
                let new = Some(value).filter(|_| numbers.below(3) > 0);
                let done = map.compare_exchange(key, expected, new).unwrap();
                if old.as_deref() == expected {
                    assert!(done.is_ok());
                    drop(model.remove(key));
                    new.map(|new| model.insert(key.into(), new.into()));
                } else {
                    assert_eq!(done.unwrap_err().map(Vec::from), old);
                }
            }
            8 => {
                let seen = map.alter(key, |found| {
                    assert_eq!(found, old.as_deref());
                    found.is_none().then(|| value.to_vec())
                });
                assert_eq!(bytes(seen.unwrap()), old);
                match old {
                    None => drop(model.insert(key.into(), value.into())),
                    Some(_) => drop(model.remove(key)),
                }
            }
            _ => {
                let made = map.update(key, |found| {
                    assert_eq!(found, old.as_deref());
                    value.to_vec()
                });
                assert_eq!(made.unwrap(), value);
                model.insert(key.into(), value.into());
            }
        }
    }

    fn many(&mut self, numbers: &mut Numbers, keys: &[Vec<u8>], values: &[Vec<u8>]) {
        let map = &self.dynamic;
        let (from, to) = (bound(numbers, keys), bound(numbers, keys));
        let inside = between(&self.model, from, to);
        let range = || map.range(from, to);
        let pair = |found: endura::Result<_>| entry(Some(found.unwrap())).unwrap();
        assert_eq!(range().map(pair).collect::<Vec<_>>(), inside, "{from:?} {to:?}");
        let mut reversed: Vec<_> = range().rev().map(pair).collect();
        reversed.reverse();
        assert_eq!(reversed, inside, "{from:?} {to:?}");
        let keys_of = inside.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
        let found = range().keys().map(|key| key.unwrap().to_vec()).collect::<Vec<_>>();
        assert_eq!(found, keys_of);
        let mut shown = Vec::new();
        let visited = range().visit(true, |key, value| {
            shown.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        });
        assert!(visited.unwrap().is_continue() && shown == inside);
        let first = self.model.first_key_value().map(|(k, v)| (k.clone(), v.clone()));
        let last = self.model.last_key_value().map(|(k, v)| (k.clone(), v.clone()));
        match numbers.below(8) {
            0 => assert_eq!(entry(map.first_key_value().unwrap()), first),
            1 => assert_eq!(entry(map.last_key_value().unwrap()), last),
            2 => {
                assert_eq!(entry(map.pop_first().unwrap()), first);
                self.model.pop_first();
            }
            3 => {
                assert_eq!(entry(map.pop_last().unwrap()), last);
                self.model.pop_last();
            }
            4 => {
                assert_eq!(map.remove_range(from, to).unwrap(), inside.len());
                self.model.retain(|key, _| !keys_of.contains(key));
            }
            5 => {
                let kept = |key: &[u8]| key.last().is_none_or(|byte| byte & 1 == 1);
                let removed = map.retain(|key, _| kept(key)).unwrap();
                let before = self.model.len();
                self.model.retain(|key, _| kept(key));
                assert_eq!(removed, before - self.model.len());
            }
            6 => {
                let some: Vec<&[u8]> = keys.iter().take(7).map(Vec::as_slice).collect();
                let found = map.get_many(&some).unwrap().into_iter().map(bytes);
                assert!(found.eq(some.iter().map(|&key| self.model.get(key).cloned())));
            }
            _ => {
                let all: Vec<_> = keys.iter().zip(values.iter().cycle()).collect();
                let borrowed = all.iter().map(|(key, value)| (key.as_slice(), value.as_slice()));
                assert_eq!(map.extend(borrowed).unwrap(), all.len());
                self.model.extend(all.into_iter().map(|(k, v)| (k.clone(), v.clone())));
            }
        }
        assert_eq!(map.len().unwrap(), self.model.len());
        assert_eq!(map.is_empty().unwrap(), self.model.is_empty());
        self.prefixes(keys);
    }

    /// Every beginning of some keys, and what is no beginning of one.
    fn prefixes(&self, keys: &[Vec<u8>]) {
        let longest = keys.iter().max_by_key(|key| key.len()).unwrap();
        let more = [&longest[..], &[0]].concat();
        for key in [&keys[0], longest, &more, &vec![0xFF; 9], &vec![0xFF]] {
            for len in 0..=key.len() {
                let prefix = &key[..len];
                let found = self.dynamic.prefix(prefix).keys().map(|key| key.unwrap().to_vec());
                let expected = self.model.keys().filter(|key| key.starts_with(prefix));
                assert!(found.eq(expected.cloned()), "{prefix:?}");
            }
        }
    }

    /// The typed handle sees the same.
    fn is_one_map(&self, keys: &[K::Owned], encoded_keys: &[Vec<u8>]) {
        let all = self.typed.iter().map(|entry| entry.unwrap());
        let all = all
            .map(|(key, value)| (encoded::<K>(&[key]).remove(0), encoded::<V>(&[value]).remove(0)));
        assert!(all.eq(self.model.iter().map(|(k, v)| (k.clone(), v.clone()))));
        for (key, encoding) in keys.iter().zip(encoded_keys) {
            let found = self.typed.get(K::lend(key)).unwrap();
            let found = found.map(|value| encoded::<V>(&[value]).remove(0));
            assert_eq!(found.as_ref(), self.model.get(encoding));
        }
    }
}

fn check<K: Key + ?Sized, V: Value + ?Sized>(keys: &[K::Owned], values: &[V::Owned]) {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool.endura")).unwrap();
    let (encoded_keys, encoded_values) = (encoded::<K>(keys), encoded::<V>(values));
    let types = Types { key: K::type_name().into(), value: V::type_name().into() };
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        let options = MapOptions::new().kind(kind);
        let typed = pool.map_with::<K, V>(kind.name(), options).unwrap();
        // Made by either, of the same kinds.
        DynamicMap::open_as(&pool, &format!("{kind} too"), options, types.clone()).unwrap();
        let dynamic = DynamicMap::open(&pool, kind.name()).unwrap();
        let are_words = dynamic.key_type().is_word() && dynamic.value_type().is_word();
        let are_words = kind != Kind::Roart && are_words;
        assert_eq!(matches!(dynamic.map(), UntypedMap::Words(_)), are_words);
        let mut pair = Pair { typed, dynamic, model: Model::new() };
        let mut numbers = Numbers(88_172_645_463_325_252);
        for round in 0..300 {
            let key = numbers.one_of(&encoded_keys).clone();
            let (value, other) =
                (numbers.one_of(&encoded_values).clone(), numbers.one_of(&encoded_values).clone());
            pair.point(&mut numbers, &key, &value, &other);
            if round % 4 == 0 {
                pair.many(&mut numbers, &encoded_keys, &encoded_values);
                pair.is_one_map(keys, &encoded_keys);
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Id(u32);

impl Newtype for Id {
    type Stored = u32;
    const NAME: Option<&'static str> = Some("my::Größe-1.0");
    fn to_stored(self) -> u32 {
        self.0
    }
    fn from_stored(id: u32) -> Self {
        Self(id)
    }
}

fn texts() -> Vec<String> {
    ["", "a", "a\0", "a\0b", "ab", "ü", "\u{10ffff}", "a longer one than eight bytes"]
        .map(String::from)
        .into()
}

fn floats() -> Vec<f64> {
    let bits = [0x7ff8_0000_0000_0000, 0xfff8_0000_0000_0001, 0x7ff0_0000_0000_0001, 1, 1 << 63];
    let mut all: Vec<f64> = bits.map(f64::from_bits).into();
    all.extend([0.0, 1.5, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::MIN]);
    all
}

#[test]
fn words() {
    check::<u64, u64>(&[0, 1, 255, 256, u64::MAX, u64::MAX - 1, 1 << 63], &[0, 7, u64::MAX]);
    check::<u8, ()>(&[0, 1, 2, 127, 128, 255], &[()]);
    check::<(), u8>(&[()], &[0, 1, 255]);
    check::<(), ()>(&[()], &[()]);
    check::<i16, bool>(&[i16::MIN, -1, 0, 1, i16::MAX], &[false, true]);
    check::<f64, f64>(&floats(), &floats());
    let narrow: Vec<f32> = floats().into_iter().map(|number| number as f32).collect();
    check::<f32, char>(&narrow, &['\0', 'ß', '\u{10ffff}']);
    check::<char, [u8; 8]>(&['\0', '\u{d7ff}', '\u{e000}', 'a'], &[[0; 8], [255; 8]]);
    check::<[u8; 3], [u8; 0]>(&[[0; 3], [0, 0, 1], [255; 3], [1, 2, 3]], &[[]]);
    check::<Reverse<i64>, Id>(
        &[i64::MIN, -1, 0, i64::MAX].map(Reverse),
        &[Id(0), Id(5), Id(u32::MAX)],
    );
    check::<(Id, Reverse<u8>), (bool, i8)>(
        &[(Id(0), Reverse(0)), (Id(0), Reverse(255)), (Id(1), Reverse(7)), (Id(9), Reverse(8))],
        &[(false, -128), (true, 127)],
    );
}

#[test]
fn byte_strings() {
    check::<str, str>(&texts(), &texts());
    let bytes: Vec<Vec<u8>> = vec![vec![], vec![0], vec![0, 255], vec![255], vec![255; 9]];
    check::<[u8], [u8]>(&bytes, &bytes);
    check::<u128, i128>(&[0, 1, u128::MAX, 1 << 64], &[i128::MIN, -1, i128::MAX]);
    check::<[u8; 9], u64>(&[[0; 9], [255; 9], [0, 0, 0, 0, 0, 0, 0, 0, 1]], &[0, 1]);
    check::<Option<u8>, Option<()>>(&[None, Some(0), Some(255)], &[None, Some(())]);
    let reversed: Vec<Reverse<String>> = texts().into_iter().map(Reverse).collect();
    check::<Reverse<String>, ()>(&reversed, &[()]);
    let pairs: Vec<(u16, String)> =
        texts().into_iter().zip([0, 1, 1, 1, 2, 2, 9, 9]).map(|(t, n)| (n, t)).collect();
    check::<(u16, str), (String, u8)>(&pairs, &[(String::new(), 1), ("\0".into(), 2)]);
    check::<u64, Option<Reverse<(f64, String)>>>(
        &[0, 1, 2],
        &[None, Some(Reverse((f64::NAN, "x\0".into())))],
    );
}
