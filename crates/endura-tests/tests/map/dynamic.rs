//! Types known only at run time: their names, their encodings, and what a map refuses.

use std::cmp::Reverse;
use std::ops::{Bound, ControlFlow};

use endura::dynamic::{Datum, DynamicMap, Type};
use endura::{Error, Kind, MapOptions, Pool, Types, Value};
use proptest::prelude::*;
use proptest::strategy::Union;

/// A value with its type, and the encoding that the typed map gives it.
fn of<T: Value + ?Sized>(
    value: T::Ref<'_>,
    datum: Datum<'static>,
) -> (String, Vec<u8>, Datum<'static>) {
    let mut encoded = Vec::new();
    T::encode(value, &mut encoded).unwrap();
    (T::type_name().into_owned(), encoded, datum)
}

fn none() -> Datum<'static> {
    Datum::Option(None)
}

fn some(datum: Datum<'static>) -> Datum<'static> {
    Datum::Option(Some(Box::new(datum)))
}

#[test]
fn encodings_are_those_of_the_types() {
    use Datum::{Bool, Bytes, Char, F32, F64, Signed, Str, Tuple, Unit, Unsigned};
    let text = |text: &'static str| Str(text.into());
    for (name, encoded, datum) in [
        of::<u8>(200, Unsigned(200)),
        of::<u64>(u64::MAX, Unsigned(u64::MAX.into())),
        of::<u128>(7, Unsigned(7)),
        of::<u128>(u128::MAX, Unsigned(u128::MAX)),
        of::<i8>(-128, Signed(-128)),
        of::<i64>(-3, Signed(-3)),
        of::<i128>(i128::MIN, Signed(i128::MIN)),
        of::<i128>(i128::MAX, Signed(i128::MAX)),
        of::<f32>(-0.5, F32(-0.5)),
        of::<f64>(1e300, F64(1e300)),
        of::<bool>(true, Bool(true)),
        of::<char>('ß', Char('ß')),
        of::<()>((), Unit),
        of::<str>("a\0ü", text("a\0ü")),
        of::<[u8]>(&[0, 255], Bytes(vec![0, 255].into())),
        of::<[u8; 3]>([1, 2, 3], Bytes(vec![1, 2, 3].into())),
        of::<Option<u16>>(None, none()),
        of::<Option<u16>>(Some(9), some(Unsigned(9))),
        of::<Option<Option<u16>>>(Some(None), some(none())),
        of::<Option<String>>(Some("a\0"), some(text("a\0"))),
        of::<Reverse<i32>>(Reverse(-5), Signed(-5)),
        of::<Reverse<String>>(Reverse("xy"), text("xy")),
        of::<(u32, str)>((7, "b"), Tuple(vec![Unsigned(7), text("b")])),
        of::<(String, Option<bool>, [u8; 1], i8)>(
            ("", Some(false), [4], 1),
            Tuple(vec![text(""), some(Bool(false)), Bytes(vec![4].into()), Signed(1)]),
        ),
        of::<((u8, u8), Reverse<(bool, String)>)>(
            ((1, 2), Reverse((true, "z"))),
            Tuple(vec![Tuple(vec![Unsigned(1), Unsigned(2)]), Tuple(vec![Bool(true), text("z")])]),
        ),
    ] {
        let kind = Type::named(&name);
        assert_eq!(kind.to_string(), name);
        assert_eq!(kind.decode(&encoded).unwrap(), datum, "{name}");
        let mut again = Vec::new();
        kind.encode(&datum, &mut again).unwrap();
        assert_eq!(again, encoded, "{name}");
        kind.check(&encoded).unwrap();
        if let Some(width) = kind.width() {
            assert_eq!(width, encoded.len(), "{name}");
            let longer = [&encoded[..], &[0]].concat();
            assert!(kind.check(&longer).is_err() && kind.decode(&longer).is_err(), "{name}");
        }
    }
}

/// A type, and values of it.
fn typed() -> impl Strategy<Value = (Type, Vec<Datum<'static>>)> {
    types().prop_flat_map(|kind| {
        let values = prop::collection::vec(value_of(&kind), 1..8);
        (Just(kind), values)
    })
}

fn types() -> impl Strategy<Value = Type> {
    let width = prop::sample::select(vec![1, 2, 4, 8, 16]);
    let leaf = prop_oneof![
        (width, any::<bool>()).prop_map(|(width, signed)| Type::Int { width, signed }),
        prop::sample::select(vec![4, 8]).prop_map(|width| Type::Float { width }),
        Just(Type::Bool),
        Just(Type::Char),
        Just(Type::Unit),
        Just(Type::Str),
        Just(Type::Bytes),
        (0_usize..20).prop_map(Type::Array),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|kind| Type::Option(Box::new(kind))),
            inner.clone().prop_map(|kind| Type::Reverse(Box::new(kind))),
            prop::collection::vec(inner, 2..5).prop_map(Type::Tuple),
        ]
    })
}

fn value_of(kind: &Type) -> BoxedStrategy<Datum<'static>> {
    match kind {
        &Type::Int { width, signed: true } => {
            any::<i128>().prop_map(move |n| Datum::Signed(n >> (128 - 8 * width))).boxed()
        }
        &Type::Int { width, .. } => {
            any::<u128>().prop_map(move |n| Datum::Unsigned(n >> (128 - 8 * width))).boxed()
        }
        Type::Float { width: 4 } => any::<f32>().prop_map(Datum::F32).boxed(),
        Type::Float { .. } => any::<f64>().prop_map(Datum::F64).boxed(),
        Type::Bool => any::<bool>().prop_map(Datum::Bool).boxed(),
        Type::Unit => Just(Datum::Unit).boxed(),
        Type::Char => any::<char>().prop_map(Datum::Char).boxed(),
        Type::Str => "[\0a\u{ff}-\u{101}]{0,4}".prop_map(|text| Datum::Str(text.into())).boxed(),
        Type::Bytes => bytes(0..5),
        Type::Array(width) => bytes(*width..*width + 1),
        Type::Option(inner) => {
            let value = value_of(inner).prop_map(some);
            Union::new([Just(none()).boxed(), value.boxed()]).boxed()
        }
        Type::Reverse(inner) => value_of(inner),
        Type::Tuple(parts) => {
            parts.iter().map(value_of).collect::<Vec<_>>().prop_map(Datum::Tuple).boxed()
        }
        other => unreachable!("{other} is not chosen"),
    }
}

fn bytes(len: std::ops::Range<usize>) -> BoxedStrategy<Datum<'static>> {
    let byte = prop::sample::select(vec![0, 1, 2, 254, 255]);
    prop::collection::vec(byte, len).prop_map(|bytes| Datum::Bytes(bytes.into())).boxed()
}

/// How two values of one type sort; nothing where they are `total_cmp`'s business alone.
fn compare(kind: &Type, a: &Datum<'_>, b: &Datum<'_>) -> std::cmp::Ordering {
    match (kind, a, b) {
        (Type::Reverse(inner), a, b) => compare(inner, b, a),
        (Type::Option(inner), Datum::Option(Some(a)), Datum::Option(Some(b))) => {
            compare(inner, a, b)
        }
        (Type::Option(_), Datum::Option(a), Datum::Option(b)) => a.is_some().cmp(&b.is_some()),
        (Type::Tuple(kinds), Datum::Tuple(a), Datum::Tuple(b)) => {
            let parts = kinds.iter().zip(a.iter().zip(b));
            parts
                .map(|(kind, (a, b))| compare(kind, a, b))
                .find(|order| order.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        }
        (_, Datum::Signed(a), Datum::Signed(b)) => a.cmp(b),
        (_, Datum::Unsigned(a), Datum::Unsigned(b)) => a.cmp(b),
        (_, Datum::F32(a), Datum::F32(b)) => a.total_cmp(b),
        (_, Datum::F64(a), Datum::F64(b)) => a.total_cmp(b),
        (_, Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
        (_, Datum::Unit, Datum::Unit) => std::cmp::Ordering::Equal,
        (_, Datum::Char(a), Datum::Char(b)) => a.cmp(b),
        (_, Datum::Str(a), Datum::Str(b)) => a.cmp(b),
        (_, Datum::Bytes(a), Datum::Bytes(b)) => a.cmp(b),
        (kind, a, b) => unreachable!("{a:?} or {b:?} is no {kind}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn encodings_are_read_back_and_sort_as_values((kind, values) in typed()) {
        prop_assert_eq!(&Type::named(&kind.to_string()), &kind);
        let encoded: Vec<Vec<u8>> = values.iter().map(|value| {
            let mut bytes = Vec::new();
            kind.encode(value, &mut bytes).unwrap();
            bytes
        }).collect();
        for (value, bytes) in values.iter().zip(&encoded) {
            kind.check(bytes).unwrap();
            // NaNs differ from themselves.
            let read = kind.decode(bytes).unwrap();
            prop_assert_eq!(compare(&kind, &read, value), std::cmp::Ordering::Equal);
            for (other, others) in values.iter().zip(&encoded) {
                prop_assert_eq!(bytes.cmp(others), compare(&kind, value, other));
            }
        }
    }

    #[test]
    fn what_is_checked_is_what_can_be_read(kind in types(), bytes in prop::collection::vec(any::<u8>(), 0..24)) {
        let read = kind.decode(&bytes);
        prop_assert_eq!(kind.check(&bytes).is_ok(), read.is_ok());
        if let Ok(datum) = read {
            let mut again = Vec::new();
            kind.encode(&datum, &mut again).unwrap();
            prop_assert_eq!(again, bytes);
        }
    }

    #[test]
    fn no_name_is_too_strange(name in "[(),<>\\[\\]; uiOptionReverse0-9:]{0,40}") {
        let kind = Type::named(&name);
        let _ = (kind.width(), kind.is_word(), kind.check(b"abc"), kind.decode(b"\0\x01"));
    }
}

#[test]
fn widths_that_have_no_sum() {
    let kind = Type::Tuple(vec![Type::Array(usize::MAX), Type::Array(2)]);
    assert_eq!(kind.width(), None);
    assert!(kind.check(b"").is_err() && kind.decode(b"").is_err());
    // No value is so long.
    let name = "([u8; 18446744073709551615], [u8; 2])";
    assert_eq!(Type::named(name), Type::Unknown(name.into()));
}

/// A face may make a type of what its users say.
#[test]
fn widths_that_no_number_has() {
    for width in [0, 9, 17, 32, usize::MAX] {
        for kind in [
            Type::Int { width, signed: false },
            Type::Int { width, signed: true },
            Type::Float { width },
        ] {
            if matches!(kind, Type::Int { width: 9, .. }) {
                continue;
            }
            for datum in [Datum::Unsigned(0), Datum::Signed(0), Datum::F64(0.0)] {
                let encoded = kind.encode(&datum, &mut Vec::new());
                assert!(matches!(encoded, Err(Error::Encode { .. })), "{kind:?}");
            }
            for bytes in [vec![], vec![0; width.min(99)]] {
                assert!(matches!(kind.decode(&bytes), Err(Error::Decode { .. })), "{kind:?}");
            }
        }
    }
}

fn pool() -> (tempfile::TempDir, Pool) {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool.endura")).unwrap();
    (folder, pool)
}

fn types_of(key: &str, value: &str) -> Types {
    Types { key: key.into(), value: value.into() }
}

/// A word of another length would be another key.
#[test]
fn what_is_no_encoding_is_refused_and_changes_nothing() {
    let (_folder, pool) = pool();
    for (key, value, kind, good, bad_keys, bad_values) in [
        (
            "u32",
            "bool",
            Kind::FastFair,
            (&[0, 0, 0, 5][..], &[1][..]),
            [&[5][..], &[0, 0, 0, 0, 5]],
            [&[2][..], &[]],
        ),
        (
            "char",
            "u64",
            Kind::NbTree,
            (&[0, 0, 0, 5], &[0; 8]),
            [&[5], &[255; 4]],
            [&[0; 7], &[0; 9]],
        ),
        (
            "str",
            "(u8, str)",
            Kind::Roart,
            (b"a", b"\x01b\0\x01"),
            [b"\xFF", b"a\xC0"],
            [b"\x01b", b""],
        ),
        ("u32", "json", Kind::Roart, (&[0; 4], b"[1]"), [&[0; 3], &[0; 5]], [b"[1", b""]),
    ] {
        let options = MapOptions::new().kind(kind);
        let map = DynamicMap::open_as(&pool, key, options, types_of(key, value));
        // One name a map.
        let map = map
            .or_else(|_| DynamicMap::open_as(&pool, "other", options, types_of(key, value)))
            .unwrap();
        assert_eq!(map.insert(good.0, good.1).unwrap(), None);
        let refused = |result: endura::Result<()>| {
            assert!(matches!(result, Err(Error::Encode { .. })), "{result:?}")
        };
        for bad in bad_keys {
            refused(map.get(bad).map(drop));
            refused(map.insert(bad, good.1).map(drop));
            refused(map.remove(bad).map(drop));
            refused(map.update(bad, |_| good.1.to_vec()).map(drop));
            refused(map.get_many(&[good.0, bad]).map(drop));
            refused(map.extend([(bad, good.1)]).map(drop));
        }
        for bad in bad_values {
            refused(map.insert(good.0, bad).map(drop));
            refused(map.insert_if_absent(good.0, bad).map(drop));
            refused(map.replace(good.0, bad).map(drop));
            refused(map.compare_exchange(good.0, Some(good.1), Some(bad)).map(drop));
            refused(map.alter(good.0, |_| Some(bad.to_vec())).map(drop));
            refused(map.extend([(good.0, good.1), (good.0, bad)]).map(drop));
        }
        let all: Vec<_> = map.iter().map(Result::unwrap).collect();
        assert_eq!(all.len(), 1);
        assert_eq!((&*all[0].0, &*all[0].1), good);
    }
}

/// Bounds of every length are compared with encodings byte by byte, whether the index has words or not.
#[test]
fn bounds_are_any_bytes() {
    let (_folder, pool) = pool();
    let encoded = |n: u16| [(n / 5) as u8, (n % 5) as u8 * 60];
    let bounds: Vec<Vec<u8>> =
        [&[][..], &[3], &[3, 60], &[3, 60, 0], &[3, 61, 7], &[3, 59], &[255; 3]]
            .map(<[u8]>::to_vec)
            .into();
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        pool.map_with::<(u8, u8), u8>(kind.name(), MapOptions::new().kind(kind)).unwrap();
        let map = DynamicMap::open(&pool, kind.name()).unwrap();
        for (from, to) in bounds.iter().flat_map(|from| bounds.iter().map(move |to| (from, to))) {
            for is_in in [true, false] {
                let (from, to) = (&from[..], &to[..]);
                let [from_bound, to_bound] = [from, to]
                    .map(|key| if is_in { Bound::Included(key) } else { Bound::Excluded(key) });
                (0..40).for_each(|n| _ = map.put(&encoded(n), &[1]).unwrap());
                let inside = |key: &[u8]| match is_in {
                    true => from <= key && key <= to,
                    false => from < key && key < to,
                };
                let want: Vec<_> = (0..40).map(encoded).filter(|key| inside(key)).collect();
                let found = map.range(from_bound, to_bound).keys().map(|key| key.unwrap().to_vec());
                assert!(found.eq(want.iter().map(|key| key.to_vec())), "{kind} {from:?} {to:?}");
                assert_eq!(map.remove_range(from_bound, to_bound).unwrap(), want.len());
            }
        }
    }
}

#[test]
fn prefixes_and_ends() {
    let (_folder, pool) = pool();
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        let map =
            pool.map_with::<(u16, u8), u8>(kind.name(), MapOptions::new().kind(kind)).unwrap();
        for n in 0..600_u16 {
            map.insert((n / 3, n as u8), n as u8).unwrap();
        }
        let map = DynamicMap::open(&pool, kind.name()).unwrap();
        let keys = |prefix: &[u8]| {
            map.prefix(prefix).keys().map(|key| key.unwrap().to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(keys(&[0, 7]), [[0, 7, 21], [0, 7, 22], [0, 7, 23]]);
        assert_eq!(keys(&[]).len(), 600);
        assert_eq!((keys(&[0]).len(), keys(&[1]).len()), (600, 0));
        assert_eq!(keys(&[0, 7, 22]), [[0, 7, 22]]);
        assert!(keys(&[0, 7, 22, 0]).is_empty() && keys(&[0xFF; 9]).is_empty());
        let mut seen = 0;
        let broken = map.iter().visit(false, |key, value| {
            assert_eq!(key[2], value[0]);
            seen += 1;
            if seen == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(broken.unwrap().is_break());
        assert_eq!(seen, 5);
        assert_eq!(map.iter().values().next_back().unwrap().unwrap()[..], [(599_u16 % 256) as u8]);
        let (first, last) = (map.pop_first().unwrap().unwrap(), map.pop_last().unwrap().unwrap());
        assert_eq!((first.0.to_vec(), last.0.to_vec()), (vec![0, 0, 0], vec![0, 199, 87]));
        // It is removed only as the caller has seen it, and only as long as it is at that end.
        let seen = map.first_key_value().unwrap().unwrap();
        assert!(!map.pop_last_if(&seen.0, &seen.1).unwrap());
        assert!(!map.pop_first_if(&seen.0, &[!seen.1[0]]).unwrap());
        map.put(&first.0, &first.1).unwrap();
        assert!(!map.pop_first_if(&seen.0, &seen.1).unwrap());
        assert!(map.pop_first_if(&first.0, &first.1).unwrap());
        assert!(!map.pop_first_if(&first.0, &first.1).unwrap());
        assert!(map.pop_first_if(&seen.0, &seen.1).unwrap());
        map.put(&seen.0, &seen.1).unwrap();
        assert!(map.pop_first_if(&seen.0, &seen.1[..0]).is_err());
        assert_eq!((map.len().unwrap(), map.approximate_len().unwrap()), (598, 598));
        assert_eq!(map.retain(|key, _| key[1] < 100).unwrap(), 299);
        map.clear().unwrap();
        assert!(map.is_empty().unwrap() && map.first_key_value().unwrap().is_none());
    }
}
