//! Values with serde: what is stored is read as it was, what would not be is refused, and what does not decode is in
//! nobody's way.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr};

use endura::{BoxError, Error, Json, Map, Pool, Postcard, Value};
use serde::{Deserialize, Serialize};

fn pool() -> (tempfile::TempDir, Pool) {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool.endura")).unwrap();
    (folder, pool)
}

fn encode<V: Value + ?Sized>(value: V::Ref<'_>) -> Result<Vec<u8>, BoxError> {
    let mut out = Vec::new();
    V::encode(value, &mut out).map(|()| out)
}

#[test]
fn floats_through_json_are_the_same_to_the_last_bit() {
    let (_folder, pool) = pool();
    let wide = pool.map::<u64, Json<f64>>("f64").unwrap();
    let narrow = pool.map::<u64, Json<f32>>("f32").unwrap();
    let mut x = 88_172_645_463_325_252_u64;
    let mut all = vec![0.914_781_362_336_126_1, 0.1, f64::MIN_POSITIVE, f64::MAX, -0.0, 5e-324];
    for _ in 0..3_000 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        all.push((x >> 11) as f64 / (1_u64 << 53) as f64);
        all.extend(Some(f64::from_bits(x)).filter(|number| number.is_finite()));
    }
    for (number, i) in all.into_iter().zip(0..) {
        wide.insert(i, &number).unwrap();
        assert_eq!(wide.get(i).unwrap().map(f64::to_bits), Some(number.to_bits()), "{number}");
        // What was read is what is there.
        let read = wide.get(i).unwrap().unwrap();
        assert_eq!(wide.compare_exchange(i, Some(&read), Some(&1.0)).unwrap(), Ok(()));
        let number = number as f32;
        if number.is_finite() {
            narrow.insert(i, &number).unwrap();
            assert_eq!(narrow.get(i).unwrap().map(f32::to_bits), Some(number.to_bits()));
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Nested(Vec<Nested>);

fn nested(depth: usize) -> Nested {
    (1..depth).fold(Nested(vec![]), |inner, _| Nested(vec![inner]))
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Shape {
    Point,
    Line(f64, f64),
    Named { name: String, at: Option<f64> },
    Wrapped(Option<u8>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Sparse {
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    b: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SparseWithDefault {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    b: Vec<u8>,
}

/// A value that a map of these takes comes back; one that it refuses changes nothing.
fn is_kept<V: Value + ?Sized>(pool: &Pool, value: &V::Owned, why: Option<&str>)
where
    V::Owned: Debug + PartialEq,
{
    let map = pool.map::<str, V>(&format!("{} {}", V::type_name(), why.is_some())).unwrap();
    let value = || V::lend(value);
    match (map.insert("k", value()), why) {
        (Ok(_), None) => {
            let read = map.get("k").unwrap().unwrap();
            assert_eq!(format!("{read:?}"), format!("{:?}", map.remove("k").unwrap().unwrap()));
            assert!(encode::<V>(value()).unwrap() == encode::<V>(V::lend(&read)).unwrap());
        }
        (Err(error @ Error::Encode { .. }), Some(why)) => {
            assert!(error.to_string().contains(why), "{error}");
            assert!(map.is_empty().unwrap());
            for refused in [
                map.insert_if_absent("k", value()).map(drop),
                map.put("k", value()).map(drop),
                map.compare_exchange("k", None, Some(value())).map(drop),
                map.extend([("k", value())]).map(drop),
            ] {
                assert!(matches!(refused, Err(Error::Encode { .. })), "{refused:?}");
            }
            assert!(map.is_empty().unwrap());
        }
        (other, why) => panic!("{}: {:?} for {why:?}", V::type_name(), other.map(drop)),
    }
}

#[test]
fn json_refuses_what_it_would_not_give_back() {
    let (_folder, pool) = pool();
    let number = Some("no NaN");
    for float in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        is_kept::<Json<f64>>(&pool, &float, number);
        is_kept::<Json<f32>>(&pool, &(float as f32), number);
        is_kept::<Json<Option<f64>>>(&pool, &Some(float), number);
        is_kept::<Json<Vec<(u8, f64)>>>(&pool, &vec![(1, 1.0), (2, float)], number);
        is_kept::<Json<BTreeMap<String, f64>>>(&pool, &[("x".into(), float)].into(), number);
        is_kept::<Json<Shape>>(&pool, &Shape::Line(1.0, float), number);
        is_kept::<Json<Shape>>(&pool, &Shape::Named { name: "".into(), at: Some(float) }, number);
        is_kept::<Postcard<(f64, f32)>>(&pool, &(float, float as f32), None);
    }
    for (depth, why) in [(1, None), (127, None), (128, Some("127")), (1_000, Some("127"))] {
        is_kept::<Json<Nested>>(&pool, &nested(depth), why);
    }
    is_kept::<Postcard<Nested>>(&pool, &nested(1_000), None);
    // Each variant with a value is an object of its own.
    is_kept::<Json<Shape>>(&pool, &Shape::Point, None);
    is_kept::<Json<Shape>>(&pool, &Shape::Line(1.0, 2.0), None);
    is_kept::<Json<Shape>>(&pool, &Shape::Named { name: "n".into(), at: None }, None);
    is_kept::<Json<Shape>>(&pool, &Shape::Wrapped(None), None);
    let none = Some("`Some(None)`");
    is_kept::<Json<Option<Option<u8>>>>(&pool, &Some(None), none);
    is_kept::<Json<Option<Option<u8>>>>(&pool, &None, None);
    is_kept::<Json<Option<Option<u8>>>>(&pool, &Some(Some(1)), None);
    is_kept::<Json<Vec<Option<()>>>>(&pool, &vec![Some(())], none);
    is_kept::<Json<Vec<Option<()>>>>(&pool, &vec![None], None);
    is_kept::<Json<Option<serde_json::Value>>>(&pool, &Some(serde_json::Value::Null), none);
    is_kept::<Postcard<Option<Option<u8>>>>(&pool, &Some(None), None);
    is_kept::<Json<(u128, i128)>>(&pool, &(u128::MAX, i128::MIN), None);
    // Left out, and missed where it is read.
    is_kept::<Json<Sparse>>(&pool, &Sparse { a: None, b: vec![1] }, None);
    is_kept::<Json<Sparse>>(&pool, &Sparse { a: None, b: vec![] }, Some("missing field `b`"));
    is_kept::<Json<SparseWithDefault>>(&pool, &SparseWithDefault { b: vec![] }, None);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(u8),
    Text(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    A { x: u8 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Deep {
    first: u8,
    inner: Vec<Untagged>,
}

#[test]
fn postcard_refuses_what_it_could_not_read() {
    let (_folder, pool) = pool();
    let left_out = Some("`skip_serializing_if`");
    is_kept::<Postcard<Sparse>>(&pool, &Sparse { a: None, b: vec![1] }, left_out);
    is_kept::<Postcard<Sparse>>(&pool, &Sparse { a: Some(1), b: vec![] }, left_out);
    is_kept::<Postcard<Sparse>>(&pool, &Sparse { a: Some(1), b: vec![1] }, None);
    is_kept::<Postcard<Vec<SparseWithDefault>>>(
        &pool,
        &vec![SparseWithDefault { b: vec![] }],
        left_out,
    );
    // By decoding, which release builds do not.
    if cfg!(debug_assertions) {
        let unread = Some("could not be read again");
        is_kept::<Postcard<Untagged>>(&pool, &Untagged::Number(1), unread);
        is_kept::<Postcard<Tagged>>(&pool, &Tagged::A { x: 1 }, unread);
        is_kept::<Postcard<serde_json::Value>>(&pool, &serde_json::json!({"a": 1}), unread);
        let inner = vec![Untagged::Text("x".into())];
        is_kept::<Postcard<Deep>>(&pool, &Deep { first: 1, inner }, unread);
        is_kept::<Postcard<Deep>>(&pool, &Deep { first: 1, inner: vec![] }, None);
    }
    is_kept::<Json<Untagged>>(&pool, &Untagged::Number(1), None);
    is_kept::<Json<Tagged>>(&pool, &Tagged::A { x: 1 }, None);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Wide {
    Number(u128),
    Text(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Flat {
    name: String,
    #[serde(flatten)]
    texts: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FlatNumbers {
    #[serde(flatten)]
    more: BTreeMap<String, i128>,
}

/// In release builds as well, which decode only what is in doubt.
#[test]
fn what_serde_would_not_read_is_refused() {
    let (_folder, pool) = pool();
    let unread = Some("could not be read again");
    is_kept::<Json<Wide>>(&pool, &Wide::Number(7), unread);
    is_kept::<Json<Wide>>(&pool, &Wide::Text("7".into()), None);
    is_kept::<Json<FlatNumbers>>(&pool, &FlatNumbers { more: [("n".into(), -5)].into() }, unread);
    is_kept::<Json<FlatNumbers>>(&pool, &FlatNumbers { more: BTreeMap::new() }, None);
    for (key, why) in [("nick", None), ("name", unread)] {
        let texts = [(key.to_owned(), "x".to_owned())].into();
        is_kept::<Json<Flat>>(&pool, &Flat { name: "Ada".into(), texts }, why);
    }
}

#[test]
fn what_is_not_stored_leaves_the_old_value() {
    let (_folder, pool) = pool();
    let map = pool.map::<str, Json<f64>>("m").unwrap();
    map.insert("k", &1.0).unwrap();
    for refused in [
        map.insert("k", &f64::NAN).map(drop),
        map.replace("k", &f64::NAN).map(drop),
        map.update("k", |_| f64::NAN).map(drop),
        map.alter("k", |_| Some(f64::NAN)).map(drop),
    ] {
        assert!(matches!(refused, Err(Error::Encode { .. })), "{refused:?}");
    }
    assert_eq!(map.get("k").unwrap(), Some(1.0));
}

/// Something else than what is in the map, by the same name.
struct Other;

impl Value for Other {
    type Ref<'a> = &'a str;
    type Owned = String;
    fn type_name() -> Cow<'static, str> {
        <Postcard<u8>>::type_name()
    }
    fn lend(owned: &String) -> &str {
        owned
    }
    fn encode(value: &str, out: &mut Vec<u8>) -> Result<(), BoxError> {
        out.extend_from_slice(value.as_bytes());
        Ok(())
    }
    fn decode(bytes: &[u8]) -> Result<String, BoxError> {
        Ok(String::from_utf8(bytes.to_vec())?)
    }
}

impl endura::KeyBound<Other> for &str {
    fn lent(&self) -> &str {
        self
    }
}

/// A map of jobs of which every other cannot be read.
fn jobs(pool: &Pool) -> Map<u64, Postcard<u8>> {
    let other = pool.map::<u64, Other>("jobs").unwrap();
    let jobs = pool.map::<u64, Postcard<u8>>("jobs").unwrap();
    jobs.clear().unwrap();
    for key in 0..10 {
        match key % 2 {
            0 => other.insert(key, "more than a byte").map(drop).unwrap(),
            _ => jobs.insert(key, &(key as u8)).map(drop).unwrap(),
        }
    }
    jobs
}

#[test]
fn what_does_not_decode_is_in_nobodys_way() {
    let (_folder, pool) = pool();
    let map = jobs(&pool);
    let bad = |result: endura::Result<()>| assert!(matches!(result, Err(Error::Decode { .. })));
    // What gives the value back fails, and changes nothing.
    bad(map.get(0).map(drop));
    bad(map.insert(0, &1).map(drop));
    bad(map.remove(0).map(drop));
    bad(map.pop_first().map(drop));
    bad(map.update(0, |_| 1).map(drop));
    bad(map.compare_exchange(0, Some(&1), None).map(drop));
    assert_eq!(map.len().unwrap(), 10);
    // What does not, goes on.
    assert!(map.contains_key(0).unwrap() && !map.insert_if_absent(0, &1).unwrap());
    assert!(!map.put(0, &1).unwrap() && map.put(10, &2).unwrap());
    assert_eq!((map.get(0).unwrap(), map.get(10).unwrap()), (Some(1), Some(2)));
    assert!(map.delete(2).unwrap() && !map.delete(2).unwrap());
    assert_eq!(map.keys().map(Result::unwrap).collect::<Vec<_>>(), [0, 1, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(map.remove_range(4..5).unwrap(), 1);
    // A queue gets past it, from both ends.
    assert_eq!(map.pop_first().unwrap(), Some((0, 1)));
    assert_eq!(map.pop_last().unwrap(), Some((10, 2)));
    assert_eq!(map.pop_last_key().unwrap(), Some(9));
    bad(map.pop_last().map(drop));
    assert_eq!(map.pop_last_key().unwrap(), Some(8));
    assert_eq!([map.pop_first_key().unwrap(), map.pop_first_key().unwrap()], [Some(1), Some(3)]);
    assert_eq!(map.keys().map(Result::unwrap).collect::<Vec<_>>(), [5, 6, 7]);
    map.clear().unwrap();
    assert!(map.is_empty().unwrap() && map.pop_first_key().unwrap().is_none());
}

#[test]
fn ranges_and_retain_go_on_behind_what_does_not_decode() {
    let (_folder, pool) = pool();
    let map = jobs(&pool);
    let good = |entry: endura::Result<_>| entry.ok().map(|(key, _): (u64, u8)| key);
    assert_eq!(map.iter().filter_map(good).collect::<Vec<_>>(), [1, 3, 5, 7, 9]);
    assert_eq!(map.iter().rev().filter_map(good).collect::<Vec<_>>(), [9, 7, 5, 3, 1]);
    assert_eq!(map.iter().filter(Result::is_err).count(), 5);
    assert_eq!(map.values().filter_map(Result::ok).collect::<Vec<_>>(), [1, 3, 5, 7, 9]);
    let mut seen = Vec::new();
    let error = map.retain(|key, _| {
        seen.push(key);
        key == 5
    });
    assert!(matches!(error, Err(Error::Decode { .. })), "{error:?}");
    assert_eq!(seen, [1, 3, 5, 7, 9]);
    assert_eq!(map.keys().map(Result::unwrap).collect::<Vec<_>>(), [0, 2, 4, 5, 6, 8]);
    assert_eq!(map.range_with(5..6, |_, _| ()).unwrap(), ());
}

/// A damaged word decodes no more than a damaged record.
#[test]
fn words_that_do_not_decode_are_in_nobodys_way_either() {
    let (_folder, pool) = pool();
    let map = pool.map::<u64, bool>("flags").unwrap();
    let flags = endura::dynamic::DynamicMap::open(&pool, "flags").unwrap();
    let endura::dynamic::UntypedMap::Words(words) = flags.map() else { panic!() };
    words.extend([(1, 7), (2, 1), (3, 7), (4, 0)]).unwrap();
    assert!(matches!(map.pop_first(), Err(Error::Decode { .. })));
    assert_eq!(map.iter().filter_map(Result::ok).collect::<Vec<_>>(), [(2, true), (4, false)]);
    assert!(!map.put(3, true).unwrap() && map.delete(4).unwrap());
    assert_eq!(map.pop_first_key().unwrap(), Some(1));
    assert_eq!(map.pop_first().unwrap(), Some((2, true)));
    assert_eq!((map.pop_last_key().unwrap(), map.pop_last_key().unwrap()), (Some(3), None));
}

#[test]
fn a_hash_map_read_from_json_is_equal_to_what_is_there() {
    let (_folder, pool) = pool();
    let map = pool.map::<str, Json<HashMap<String, Vec<u128>>>>("m").unwrap();
    let value: HashMap<String, Vec<u128>> =
        (0..40).map(|n| (format!("\"{n}\n"), vec![n, u128::MAX - n])).collect();
    for _ in 0..20 {
        // In another order each time.
        let same: HashMap<_, _> = value.clone().into_iter().collect();
        map.insert("k", &same).unwrap();
        let read = map.get("k").unwrap().unwrap();
        assert_eq!(map.compare_exchange("k", Some(&read), Some(&value)).unwrap(), Ok(()));
        let mut another = read.clone();
        another.insert("\"7\n".into(), vec![7, u128::MAX - 8]);
        let found = map.compare_exchange("k", Some(&another), None).unwrap();
        assert_eq!(found, Err(Some(value.clone())));
    }
    assert_eq!(map.compare_exchange("k", Some(&value), None).unwrap(), Ok(()));
    assert!(map.is_empty().unwrap());
}

mod v1 {
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    pub(super) struct User {
        name: String,
    }
    #[derive(Serialize, Deserialize)]
    pub(super) struct Page<T> {
        items: Vec<T>,
    }
}

mod v2 {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    pub(super) struct User {
        name: String,
        #[serde(flatten)]
        more: BTreeMap<String, String>,
    }
    #[derive(Serialize, Deserialize)]
    #[serde(rename = "Page")]
    pub(super) struct PageOf<T> {
        items: Vec<T>,
    }
}

#[derive(Serialize, Deserialize)]
struct Marked<const MARK: char>(u8);

#[test]
fn recorded_names() {
    fn name<V: Value>() -> String {
        V::type_name().into_owned()
    }
    assert_eq!(name::<Json<v1::User>>(), "json<User>");
    assert_eq!(name::<Json<v2::User>>(), "json<User>", "flatten keeps the name");
    assert_eq!(name::<Json<v1::Page<u8>>>(), "json<Page>");
    assert_eq!(name::<Json<BTreeMap<String, u8>>>(), "json<map>");
    assert_eq!(name::<Json<HashMap<String, u8>>>(), "json<map>");
    assert_eq!(name::<Json<serde_json::Value>>(), "json");
    assert_eq!(name::<Postcard<v1::User>>(), "postcard<User>");
    assert_eq!(name::<Postcard<v1::Page<u32>>>(), "postcard<Page<u32>>");
    assert_eq!(name::<Postcard<v2::PageOf<u32>>>(), "postcard<Page<u32>>", "renamed");
    assert_eq!(name::<Postcard<Box<v2::PageOf<u32>>>>(), "postcard<Page<u32>>");
    assert_eq!(name::<Postcard<Vec<v1::Page<String>>>>(), "postcard<Vec<Page<String>>>");
    assert_eq!(name::<Postcard<(u32, i32)>>(), "postcard<(u32, i32)>");
    assert_eq!(name::<Postcard<u64>>(), "postcard<u64>");
    assert_eq!(name::<Postcard<String>>(), "postcard<str>");
    // Text to people, and something else to postcard.
    assert_eq!(name::<Json<IpAddr>>(), "json<str>");
    assert_eq!(name::<Postcard<IpAddr>>(), "postcard<IpAddr>");
    assert_eq!(name::<Postcard<Ipv4Addr>>(), "postcard<Ipv4Addr>");
    assert_eq!(name::<Postcard<Marked<'a'>>>(), "postcard<Marked<'a'>>");
}

#[test]
fn postcard_tells_arguments_apart() {
    let (_folder, pool) = pool();
    fn is_refused<A: Value, B: Value>(pool: &Pool) {
        let name = A::type_name();
        pool.map::<u64, A>(&name).unwrap();
        let error = pool.map::<u64, B>(&name).unwrap_err();
        assert!(matches!(error, Error::WrongTypes { .. }), "{error}");
        pool.map::<u64, A>(&name).unwrap();
    }
    is_refused::<Postcard<v1::Page<u32>>, Postcard<v1::Page<i32>>>(&pool);
    is_refused::<Postcard<Marked<'a'>>, Postcard<Marked<'\''>>>(&pool);
    is_refused::<Postcard<IpAddr>, Postcard<String>>(&pool);
    is_refused::<Postcard<Vec<u32>>, Postcard<Vec<i32>>>(&pool);
    is_refused::<Postcard<(u32, i32)>, Postcard<(u64, u64)>>(&pool);
    is_refused::<Postcard<Option<u32>>, Postcard<Option<i32>>>(&pool);
    is_refused::<Postcard<HashMap<u8, u32>>, Postcard<HashMap<u8, i32>>>(&pool);
    is_refused::<Postcard<Vec<Vec<v1::Page<u32>>>>, Postcard<Vec<Vec<v1::Page<i32>>>>>(&pool);
}

#[test]
fn names_that_nobody_can_read_are_refused() {
    let (_folder, pool) = pool();
    macro_rules! named {
        ($($of:ident $name:expr;)*) => { $(
            struct $of;
            impl Value for $of {
                type Ref<'a> = &'a $of;
                type Owned = $of;
                fn type_name() -> Cow<'static, str> { $name.into() }
                fn lend(owned: &$of) -> &$of { owned }
                fn encode(_: &$of, _: &mut Vec<u8>) -> Result<(), BoxError> { Ok(()) }
                fn decode(_: &[u8]) -> Result<$of, BoxError> { Ok($of) }
            }
            let error = pool.map::<u64, $of>("m").unwrap_err();
            assert!(matches!(error, Error::BadTypeName { .. }), "{error}");
            assert!(!error.to_string().contains('\n') && error.to_string().ends_with("choose another"));
            assert!(pool.maps().unwrap().is_empty());
        )* };
    }
    named! { Empty ""; Lines "a\nb"; Escape "\x1b[31m"; Nul "a\0"; Next "a\u{85}b"; Long "x".repeat(256); }
}
