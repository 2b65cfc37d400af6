//! Every method against `BTreeMap`, and the encodings against the order of their types.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::{Bound, ControlFlow};

use endura::{Error, Key, Kind, Map, MapOptions, Pool, Result, Value};

fn pool() -> (tempfile::TempDir, Pool) {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool.endura")).unwrap();
    (folder, pool)
}

/// Every method of a map of these keys, against a `BTreeMap`.
fn check<K: Key + ?Sized>(pool: &Pool, name: &str, kind: Option<Kind>, keys: &[K::Owned])
where
    K::Owned: Ord + Clone + Debug,
{
    let options = kind.map_or(MapOptions::new(), |kind| MapOptions::new().kind(kind));
    let map: Map<K, u64> = pool.map_with(name, options).unwrap();
    let mut model = BTreeMap::new();
    for (i, key) in keys.iter().enumerate() {
        let i = i as u64;
        assert_eq!(map.insert(K::lend(key), i).unwrap(), model.insert(key.clone(), i), "{key:?}");
    }
    same(&map, &model);
    keys.iter().for_each(|a| keys.iter().take(12).for_each(|b| ranges(&map, &model, a, b)));
    points(&map, &model, keys);
    same(&map, &model);
    removals(&map, &mut model, keys.first());
}

fn same<K: Key + ?Sized>(map: &Map<K, u64>, model: &BTreeMap<K::Owned, u64>)
where
    K::Owned: Ord + Clone + Debug,
{
    let own = |(k, v): (&K::Owned, &u64)| (k.clone(), *v);
    assert!(map.iter().map(Result::unwrap).eq(model.iter().map(own)), "{map:?}");
    assert!(map.iter().rev().map(Result::unwrap).eq(model.iter().rev().map(own)));
    assert!(map.keys().map(Result::unwrap).eq(model.keys().cloned()));
    assert!(map.values().rev().map(Result::unwrap).eq(model.values().rev().copied()));
    assert_eq!(map.len().unwrap(), model.len());
    assert_eq!(map.is_empty().unwrap(), model.is_empty());
    assert_eq!(map.first_key_value().unwrap(), model.first_key_value().map(own));
    assert_eq!(map.last_key_value().unwrap(), model.last_key_value().map(own));
}

/// Ranges from `a` to `b`.
fn ranges<K: Key + ?Sized>(
    map: &Map<K, u64>,
    model: &BTreeMap<K::Owned, u64>,
    a: &K::Owned,
    b: &K::Owned,
) where
    K::Owned: Ord + Clone + Debug,
{
    let (mut all, mut want) = (vec![], vec![]);
    let bounds = (Bound::Excluded(K::lend(a)), Bound::Included(K::lend(b)));
    map.range_with(bounds, |_, v| all.push(v)).unwrap();
    if a < b {
        let bounds = (Bound::Excluded(a.clone()), Bound::Included(b.clone()));
        want = model.range(bounds).map(|(_, v)| *v).collect();
        let half_open = map.range(K::lend(a)..K::lend(b)).values().map(Result::unwrap);
        assert!(half_open.eq(model.range(a.clone()..b.clone()).map(|(_, v)| *v)));
    }
    assert_eq!(all, want, "{a:?} {b:?}");
}

/// Every operation on one key; leaves all as it was.
fn points<K: Key + ?Sized>(map: &Map<K, u64>, model: &BTreeMap<K::Owned, u64>, keys: &[K::Owned])
where
    K::Owned: Ord + Clone + Debug,
{
    let many = map.get_many(keys.iter().map(K::lend)).unwrap();
    for (key, value) in keys.iter().zip(many) {
        assert_eq!(value, model.get(key).copied());
        let key = || K::lend(key);
        assert_eq!(map.get(key()).unwrap(), value);
        assert_eq!(map.get_with(key(), |v| v).unwrap(), value);
        assert!(map.contains_key(key()).unwrap());
        assert!(!map.insert_if_absent(key(), 0).unwrap());
        let next = value.map(|v| v + 1);
        assert_eq!(map.compare_exchange(key(), value, next).unwrap(), Ok(()));
        assert_eq!(map.compare_exchange(key(), None, None).unwrap(), Err(next));
        assert_eq!(map.update(key(), |v| v.unwrap() - 1).unwrap(), value.unwrap());
        assert_eq!(map.replace(key(), value.unwrap()).unwrap(), value);
    }
}

fn removals<K: Key + ?Sized>(
    map: &Map<K, u64>,
    model: &mut BTreeMap<K::Owned, u64>,
    first: Option<&K::Owned>,
) where
    K::Owned: Ord + Clone + Debug,
{
    let thirds = model.values().filter(|&v| v % 3 == 0).count();
    assert_eq!(map.retain(|_, v| v % 3 != 0).unwrap(), thirds);
    model.retain(|_, v| *v % 3 != 0);
    same(map, model);
    assert_eq!(map.pop_first().unwrap(), model.pop_first());
    assert_eq!(map.pop_last().unwrap(), model.pop_last());
    if let Some(key) = first {
        assert_eq!(map.alter(K::lend(key), |_| None).unwrap(), model.remove(key));
        assert_eq!(map.remove(K::lend(key)).unwrap(), None);
        assert_eq!(map.replace(K::lend(key), 1).unwrap(), None);
        assert_eq!(map.remove_range(K::lend(key)..).unwrap(), model.split_off(key).len());
    }
    same(map, model);
    map.clear().unwrap();
    same(map, &BTreeMap::new());
}

fn bits() -> Vec<u64> {
    let mut all =
        vec![0, 1, 2, 255, 256, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 1 << 32, 1 << 31];
    let mut x = 88_172_645_463_325_252_u64;
    for _ in 0..60 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        all.push(x);
        all.push(x >> 40);
    }
    all
}

fn nasty() -> Vec<Vec<u8>> {
    let mut all = vec![vec![]];
    for a in [0, 1, 97, 254, 255] {
        all.push(vec![a]);
        for b in [0, 1, 255] {
            all.push(vec![a, b]);
            all.push(vec![a, b, 0]);
        }
    }
    all
}

#[test]
fn keys_of_all_types() {
    let (_folder, pool) = pool();
    let bits = bits();
    let texts: Vec<String> =
        nasty().iter().map(|b| b.iter().map(|&b| char::from(b)).collect()).collect();
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        let k = Some(kind);
        let name = |name: &str| format!("{kind} {name}");
        macro_rules! scalars { ($($t:ty, $f:expr;)*) => { $(
            check::<$t>(&pool, &name(stringify!($t)), k, &bits.iter().map($f).collect::<Vec<$t>>());
        )* } }
        scalars! {
            u8, |&b| b as u8; u16, |&b| b as u16; u32, |&b| b as u32; u64, |&b| b; usize, |&b| b as usize;
            i8, |&b| b as i8; i16, |&b| b as i16; i32, |&b| b as i32; i64, |&b| b as i64; isize, |&b| b as isize;
            bool, |&b| b % 2 == 0; char, |&b| char::from_u32(b as u32 & 0xFFFF).unwrap_or('x');
            [u8; 0], |_| []; [u8; 3], |&b| b.to_be_bytes()[5..].try_into().unwrap(); [u8; 8], |&b| b.to_be_bytes();
            (), |_| (); (u64, ()), |&b| (b, ()); ((), u8), |&b| ((), b as u8); Reverse<()>, |_| Reverse(());
            (u16, (), Reverse<()>), |&b| (b as u16, (), Reverse(()));
            Reverse<u64>, |&b| Reverse(b); Reverse<i16>, |&b| Reverse(b as i16);
            (u32, i32), |&b| ((b >> 32) as u32 % 3, b as i32); (bool, u8, i16), |&b| (b % 2 == 0, b as u8, b as i16);
            (u8, Reverse<(i8, u16)>), |&b| (b as u8 % 4, Reverse((b as i8, b as u16)));

        }
    }
    macro_rules! others { ($($t:ty, $f:expr;)*) => { $(
        check::<$t>(&pool, stringify!($t), None, &bits.iter().zip(texts.iter().cycle()).map($f).collect::<Vec<_>>());
    )* } }
    others! {
        u128, |(&b, _)| u128::from(b) << 60; i128, |(&b, _)| i128::from(b as i64) << 60;
        [u8; 20], |(&b, _)| { let mut a = [0; 20]; a[..8].copy_from_slice(&b.to_be_bytes()); a };
        str, |(&b, t)| format!("{t}{}", b % 5); String, |(_, t)| t.clone();
        Option<()>, |(&b, _)| (b % 2 > 0).then_some(()); ((), String, ()), |(_, t)| ((), t.clone(), ());
        Option<u32>, |(&b, _)| (b % 9 > 0).then_some(b as u32); Option<String>, |(&b, t)| (b % 9 > 0).then(|| t.clone());
        Reverse<String>, |(_, t)| Reverse(t.clone()); Reverse<u128>, |(&b, _)| Reverse(u128::from(b));
        (String, u64), |(&b, t)| (t.clone(), b % 7); (u64, String), |(&b, t)| (b % 3, t.clone());
        (u64, str), |(&b, t)| (b % 3, t.clone());
        (Reverse<String>, Option<i8>, String), |(&b, t)| (Reverse(t.clone()), (b % 4 > 0).then_some(b as i8), t.clone());
        ((String, String), u32, bool, i64), |(&b, t)| ((t.clone(), format!("{}", b % 3)), b as u32, b % 2 == 0, b as i64);
    }
    let bytes: Vec<Vec<u8>> = nasty();
    check::<[u8]>(&pool, "bytes", None, &bytes);
    check::<Vec<u8>>(&pool, "vec", None, &bytes);
    let pairs: Vec<_> =
        bytes.iter().flat_map(|a| bytes.iter().map(move |b| (a.clone(), b.clone()))).collect();
    check::<(Vec<u8>, [u8])>(&pool, "pairs", None, &pairs);
    check::<(Reverse<Vec<u8>>, Vec<u8>)>(
        &pool,
        "reverse pairs",
        None,
        &pairs.into_iter().map(|(a, b)| (Reverse(a), b)).collect::<Vec<_>>(),
    );
}

#[test]
fn floats_sort_as_total_cmp_does() {
    let (_folder, pool) = pool();
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        let map =
            pool.map_with::<f64, f32>(&kind.to_string(), MapOptions::new().kind(kind)).unwrap();
        let mut all: Vec<f64> = bits().into_iter().map(f64::from_bits).collect();
        all.extend([f64::NAN, -f64::NAN, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY]);
        map.extend(all.iter().map(|&f| (f, f as f32))).unwrap();
        all.sort_by(f64::total_cmp);
        all.dedup_by_key(|f| f.to_bits());
        let found: Vec<u64> = map.keys().map(|k| k.unwrap().to_bits()).collect();
        assert_eq!(found, all.iter().map(|f| f.to_bits()).collect::<Vec<_>>());
        assert_eq!(map.get(0.0).unwrap(), Some(0.0));
        assert_eq!(
            map.range(..0.0).next_back().unwrap().unwrap().0.to_bits(),
            (-0.0_f64).to_bits()
        );
    }
}

#[test]
fn values_of_all_types() {
    let (_folder, pool) = pool();
    fn check<V: Value + ?Sized>(pool: &Pool, values: &[V::Owned])
    where
        V::Owned: PartialEq + Debug + Clone,
    {
        let map = pool.map::<str, V>(&V::type_name()).unwrap();
        let words = pool.map::<u64, V>(&format!("{} by word", V::type_name())).unwrap();
        for value in values {
            map.insert("k", V::lend(value)).unwrap();
            assert_eq!(map.get("k").unwrap().as_ref(), Some(value));
            assert_eq!(
                map.compare_exchange("k", Some(V::lend(value)), Some(V::lend(value))).unwrap(),
                Ok(())
            );
            assert_eq!(map.alter("k", |_| None).unwrap().as_ref(), Some(value));
            words.insert(1, V::lend(value)).unwrap();
            assert_eq!(words.values().next().unwrap().unwrap(), *value);
            assert_eq!(words.update(1, |_| value.clone()).unwrap(), *value);
        }
    }
    check::<()>(&pool, &[()]);
    check::<u64>(&pool, &bits());
    check::<i64>(&pool, &bits().iter().map(|&b| b as i64).collect::<Vec<_>>());
    check::<u128>(&pool, &[0, u128::MAX]);
    check::<str>(&pool, &["".to_owned(), "ä\0".repeat(1000)]);
    check::<[u8]>(&pool, &[vec![], vec![0; 100_000]]);
    check::<Option<(u8, String)>>(&pool, &[None, Some((1, "x".to_owned()))]);
    check::<[u8; 32]>(&pool, &[[7; 32]]);
    check::<(u32, u32)>(&pool, &[(1, 2), (u32::MAX, 0)]);
    check::<Option<()>>(&pool, &[None, Some(())]);
    check::<(u64, ())>(&pool, &[(1, ()), (u64::MAX, ())]);
    check::<Reverse<()>>(&pool, &[Reverse(())]);
}

#[test]
fn prefixes() {
    let (_folder, pool) = pool();
    let words = pool.map::<(u16, u32), u64>("words").unwrap();
    for a in [0, 1, 2, u16::MAX] {
        for b in [0, 1, u32::MAX] {
            words.insert((a, b), u64::from(a)).unwrap();
        }
    }
    for a in [0, 1, u16::MAX] {
        assert_eq!(words.prefix(a).count(), 3);
    }
    assert_eq!(words.prefix(7).count(), 0);
    let nested = pool.map::<((String, String), u64), ()>("nested").unwrap();
    nested
        .extend([
            ((("a", "b"), 1), ()),
            ((("a", "b"), 2), ()),
            ((("a", "bc"), 3), ()),
            ((("ab", "b"), 4), ()),
        ])
        .unwrap();
    assert_eq!(nested.prefix(("a", "b")).count(), 2);
    let units = pool.map::<((), u8), ()>("units").unwrap();
    units.extend([(((), 1), ()), (((), 2), ())]).unwrap();
    assert_eq!(units.prefix(()).count(), 2);
    let bytes = pool.map::<[u8], ()>("bytes").unwrap();
    bytes.extend([(&b"\xFF"[..], ()), (b"\xFF\xFF", ()), (b"\xFE", ()), (b"", ())]).unwrap();
    assert_eq!((bytes.prefix(b"\xFF").count(), bytes.prefix(b"").count()), (2, 4));
}

#[test]
fn closures_may_call_the_map() {
    let (_folder, pool) = pool();
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        let map =
            pool.map_with::<u64, u64>(&kind.to_string(), MapOptions::new().kind(kind)).unwrap();
        map.extend((0..100).map(|n| (n, n))).unwrap();
        let mut calls = 0;
        let old = map.alter(7, |old| {
            calls += 1;
            if calls < 3 {
                map.insert(7, 100 + calls).unwrap(); // as if by another thread: runs again
            }
            map.insert(1000 + calls, 1).unwrap();
            let other = map.get(8).unwrap().unwrap();
            Some(old.unwrap() + other)
        });
        assert_eq!((old.unwrap(), calls, map.get(7).unwrap()), (Some(102), 3, Some(110)), "{kind}");
        map.range_with(..50, |k, _| _ = map.remove(k).unwrap()).unwrap();
        assert_eq!(map.len().unwrap(), 53);
        let found = map.get_with(60, |v| map.get_with(61, |w| v + w).unwrap()).unwrap();
        assert_eq!(found, Some(Some(121)));
    }
}

#[test]
fn visitors_end_early_or_fail() {
    let (_folder, pool) = pool();
    for kind in [Kind::NbTree, Kind::Roart] {
        let map =
            pool.map_with::<u8, u64>(&kind.to_string(), MapOptions::new().kind(kind)).unwrap();
        map.extend((0..100).map(|n| (n, u64::from(n)))).unwrap();
        let found = map.range(10..).visit_rev(|k, v| {
            if v < 50 { ControlFlow::Break(k) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(found.unwrap(), ControlFlow::Break(49));
        let failed = map.range_with(.., |k, _| if k == 5 { Err("five") } else { Ok(()) }).unwrap();
        assert_eq!(failed, Err("five"));
    }
}

#[test]
fn alter_from_many_threads() {
    let (_folder, pool) = pool();
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        let map =
            pool.map_with::<u64, u64>(&kind.to_string(), MapOptions::new().kind(kind)).unwrap();
        let mut tickets: Vec<u64> = std::thread::scope(|scope| {
            let take = || {
                (0..2000)
                    .map(|_| map.update(0, |n| n.map_or(0, |n| n + 1)).unwrap())
                    .collect::<Vec<_>>()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        tickets.sort_unstable();
        assert!(tickets.into_iter().eq(0..8000), "{kind}");
    }
}

#[test]
fn what_does_not_decode_stays_as_it_is_and_can_be_removed() {
    #[derive(serde::Serialize, serde::Deserialize, Clone, Debug, PartialEq)]
    #[serde(rename = "Thing")]
    struct Old {
        a: u8,
    }
    #[derive(serde::Serialize, serde::Deserialize, Clone, Debug, PartialEq)]
    #[serde(rename = "Thing")]
    struct New {
        a: u8,
        b: String,
    }
    let (_folder, pool) = pool();
    let old = pool.map::<str, endura::Postcard<Old>>("things").unwrap();
    old.insert("x", &Old { a: 1 }).unwrap();
    let new = pool.map::<str, endura::Postcard<New>>("things").unwrap();
    let thing = New { a: 1, b: "b".into() };
    for error in [
        new.get("x").unwrap_err(),
        new.insert("x", &thing).unwrap_err(),
        new.remove("x").unwrap_err(),
        new.alter("x", |_| None).unwrap_err(),
        new.pop_first().unwrap_err(),
        new.iter().next().unwrap().unwrap_err(),
        new.get_with("x", |_| ()).unwrap_err(),
        new.range_with(.., |_, _| ()).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Decode { .. }), "{error}");
        println!("{error}");
    }
    assert_eq!(old.get("x").unwrap(), Some(Old { a: 1 }));
    assert_eq!(new.keys().count(), 1);
    assert_eq!(new.remove_range("x"..="x").unwrap(), 1);
    assert_eq!(new.insert("x", &thing).unwrap(), None);
}
