//! What must compile as written.
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::{Bound, ControlFlow};
use std::sync::{Arc, OnceLock};

use endura::*;

type Users = Map<str, [u8]>;
type Hits = Map<u64, u64>;
type Names = Map<str, str>;

fn p01_every_kind_of_text(
    m: &Users,
    s: String,
    b: Box<str>,
    a: Arc<str>,
    c: Cow<'_, str>,
) -> Result<()> {
    m.get("ada")?;
    m.get(&s)?;
    m.get(&b)?;
    m.get(&a)?;
    m.get(&c)?;
    m.get(&format!("user:{}", 7))?;
    m.contains_key(s.trim())?;
    Ok(())
}
fn p02_every_kind_of_bytes(m: &Users, v: Vec<u8>, a: [u8; 3]) -> Result<()> {
    m.insert("ada", b"1815")?;
    m.insert("ada", &v)?;
    m.insert("ada", &a)?;
    m.insert("ada", &[1, 2])?;
    m.insert("ada", "text".as_bytes())?;
    m.insert("ada", &7_u64.to_le_bytes())?;
    Ok(())
}
fn p03_ranges_of_text(m: &Users, s: String) -> Result<()> {
    m.range("a".."b");
    m.range("a"..="b");
    m.range(.."b");
    m.range("a"..);
    m.range(..);
    m.range(s.as_str()..);
    m.range(&s[..1]..&s);
    m.range((Bound::Excluded("a"), Bound::Unbounded));
    m.range((Bound::Excluded(&s), Bound::Unbounded)); // the next page
    m.range(&s..);
    m.range(s.clone()..=s.clone());
    m.remove_range("a".."b")?;
    m.remove_range(..)?;
    Ok(())
}
fn p04_ranges_of_numbers(m: &Hits, k: &u64, n: u32) -> Result<()> {
    m.range(10..=20);
    m.range(..);
    m.range(k..);
    m.range(&1..&2);
    m.range(u64::from(n)..n.into());
    let last: Option<(u64, u64)> = m.last_key_value()?;
    if let Some((key, _)) = &last {
        m.range(..key);
    }
    m.range((Bound::Excluded(7), Bound::Included(9)));
    for entry in m.range(..100).rev().take(3) {
        let (k, v) = entry?;
        let _ = k + v;
    }
    Ok(())
}
fn p05_compare_exchange(m: &Hits, n: &Names, u: &Users, s: &String) -> Result<()> {
    assert!(m.compare_exchange(7, Some(2), None)?.is_ok());
    assert!(n.compare_exchange("k", Some("v"), Some("w"))?.is_ok());
    assert!(n.compare_exchange(s, None, Some(s))?.is_ok());
    assert!(u.compare_exchange("k", Some(b"v"), Some(b"longer"))?.is_ok());
    if let Err(found) = n.compare_exchange("k", Some("v"), None)? {
        let _: Option<String> = found;
    }
    Ok(())
}
fn p06_closures_see_borrowed_forms(
    n: &Names,
    u: &Users,
    t: &Map<u64, (u32, String)>,
) -> Result<()> {
    let _: Option<usize> = n.get_with("k", |s| s.len())?;
    let _: Option<u8> = u.get_with("k", |b| b.iter().copied().max().unwrap_or(0))?;
    let _: Option<bool> = t.get_with(7, |(a, s)| a > 3 && s.starts_with('x'))?;
    let mut out = String::new();
    n.get_with("k", |s| out.push_str(s))?;
    n.get_with("k", str::to_owned)?;
    let _: Option<Result<u16, _>> = n.get_with("k", |s| s.parse::<u16>())?;
    Ok(())
}
fn p07_alter_and_update(m: &Hits, n: &Names, u: &Users) -> Result<()> {
    m.alter(7, |old| Some(old.unwrap_or(0) + 1))?;
    m.alter(7, |old| old.filter(|&n| n > 3))?;
    n.alter("k", |old| Some(old.unwrap_or("").to_owned() + "x"))?;
    n.alter("k", |old| old.map(str::to_uppercase))?;
    u.alter("k", |old| Some([old.unwrap_or(b""), b"x"].concat()))?;
    n.alter("k", |_| None)?;
    let _: u64 = m.update(7, |old| old.map_or(1, |n| n * 2))?;
    let _: String = n.update("k", |old| format!("{}!", old.unwrap_or_default()))?;
    Ok(())
}
fn p08_collect(m: &Hits, n: &Names) -> Result<()> {
    let _: BTreeMap<String, String> = n.iter().collect::<Result<_>>()?;
    let _: HashMap<u64, u64> = m.range(1..).collect::<Result<_>>()?;
    let _: Vec<String> = n.keys().rev().collect::<Result<_>>()?;
    let _: u64 = m.values().sum::<Result<u64>>()?;
    let _ = m.values().try_fold(0, |max, v| Ok::<_, Error>(v?.max(max)))?;
    let _: Option<(u64, u64)> = m.range(..7).next_back().transpose()?;
    for entry in n {
        let (_, _): (String, String) = entry?;
    }
    Ok(())
}
fn p09_owned_names_of_types(m: &Map<String, Vec<u8>>, s: String) -> Result<()> {
    m.insert(&s, b"x")?;
    m.insert("lit", &vec![1])?;
    let _: Option<Vec<u8>> = m.get("lit")?;
    m.range("a"..);
    m.prefix("a");
    Ok(())
}
fn p10_tuples(m: &Map<(String, u64), str>, s: String, n: u64) -> Result<()> {
    m.insert(("ada", 7), "x")?;
    m.insert((&s, n), &s)?;
    m.range(("ada", 0)..("bob", 0));
    m.range(("ada", 3)..=("ada", u64::MAX));
    m.range((s.as_str(), 0)..);
    m.range((&s, 0)..(&s, n));
    m.prefix("ada");
    m.prefix(&s);
    for entry in m {
        let ((name, number), text): ((String, u64), String) = entry?;
        m.remove((&name, number))?;
        let _ = text;
    }
    Ok(())
}
fn p11_extend(
    m: &Hits,
    n: &Names,
    owned: Vec<(String, String)>,
    map: BTreeMap<u64, u64>,
) -> Result<()> {
    m.extend([(1, 2), (3, 4)])?;
    m.extend((0..10).map(|i| (i, i * i)))?;
    m.extend(map)?;
    n.extend([("a", "b")])?;
    n.extend(owned.iter().map(|(k, v)| (&k[..], &v[..])))?;
    Ok(())
}
fn p12_get_many(m: &Hits, n: &Names, ids: &[u64], names: &[String]) -> Result<()> {
    let _: Vec<Option<u64>> = m.get_many([1, 2, 3])?;
    m.get_many(ids.iter().copied())?;
    m.get_many(0..16)?;
    n.get_many(["a", "b"])?;
    n.get_many(names.iter().map(String::as_str))?;
    Ok(())
}
struct App {
    users: Users,
    ranking: Map<(Reverse<u32>, String), ()>,
}
static HITS: OnceLock<Hits> = OnceLock::new();
fn p13_types_from_where_they_go(pool: &Pool) -> Result<App> {
    let _ = HITS.set(pool.map("hits")?);
    let app = App { users: pool.map("users")?, ranking: pool.map("ranking")? };
    app.ranking.insert((Reverse(7), "ada"), ())?;
    let users = app.users.clone();
    std::thread::spawn(move || users.insert("x", b"y").map(drop)).join().unwrap()?;
    Ok(app)
}
fn p14_writers(u: &Users) -> io::Result<()> {
    u.insert_from("k", 3, |out| out.write_all(b"abc"))?;
    u.insert_from("k", 3, |out| {
        let bytes = std::fs::read("/dev/null")?;
        out.write_all(&bytes)?;
        io::copy(&mut io::empty(), out)?;
        Ok(())
    })?;
    u.read_with("k", |bytes| io::copy(&mut bytes.reader(), &mut io::sink()))?.transpose()?;
    u.get("k")?;
    Ok(())
}
fn p15_visitors(n: &Names, m: &Hits) -> Result<(), Box<dyn std::error::Error>> {
    let mut bytes = 0;
    n.range_with("a".."b", |k, v| bytes += k.len() + v.len())?;
    let found =
        m.range_with(
            ..,
            |k, v| if v == 7 { ControlFlow::Break(k) } else { ControlFlow::Continue(()) },
        )?;
    let _: Option<u64> = found.break_value();
    let mut out = Vec::new();
    n.prefix("user:")
        .visit(|k, v| io::Write::write_all(&mut out, [k, v].concat().as_bytes()))??;
    n.range(..).visit_rev(|_, _| ())?;
    n.retain(|k, v| !k.starts_with('x') && v != "y")?;
    Ok(())
}
fn ranges_of_bytes(m: &Map<[u8], u8>, v: Vec<u8>) -> Result<()> {
    m.range(b"a"..b"b");
    m.range(b"long".as_slice()..);
    m.range(&v..);
    m.prefix(b"x");
    m.get(b"x")?;
    Ok(())
}
fn next_page<K: Key + ?Sized, V: Value + ?Sized>(
    m: &Map<K, V>,
    after: &K::Owned,
) -> Result<Vec<(K::Owned, V::Owned)>> {
    m.range((Bound::Excluded(K::lend(after)), Bound::Unbounded)).take(100).collect()
}
fn within<K: Key + ?Sized>(m: &Map<K, u64>, keys: impl KeyRange<K>) -> Result<u64> {
    m.range(keys).values().sum()
}
fn p16_generic<K: Key + ?Sized, V: Value + ?Sized>(
    m: &Map<K, V>,
    key: K::Ref<'_>,
) -> Result<Option<V::Owned>> {
    m.range(..).count();
    m.range(key..);
    m.contains_key(key)?;
    m.get(key)
}
fn p17_more_keys(
    a: &Map<Option<u32>, bool>,
    b: &Map<[u8; 4], f64>,
    c: &Map<char, u64>,
    d: &Map<(u64, str), u8>,
) -> Result<()> {
    a.insert(None, true)?;
    a.range(Some(3)..);
    b.insert(*b"abcd", 0.5)?;
    b.range(..[1, 2, 3, 4]);
    c.range('a'..='z');
    d.insert((7, "x"), 1)?;
    within(c, 'a'..'z').ok();
    next_page(d, &(7, "x".to_owned()))?;
    p16_generic(c, 'x')?;
    p16_generic(d, (1, "x"))?;
    Ok(())
}

fn main() {}
