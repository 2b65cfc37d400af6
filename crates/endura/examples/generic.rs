//! Functions over maps of any key.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]

use endura::{Key, Map, Pool, Result, Value};

fn total<K: Key + ?Sized>(map: &Map<K, u64>) -> Result<u64> {
    map.values().sum()
}

/// The key with the largest value.
fn best<K: Key + ?Sized>(map: &Map<K, u64>) -> Result<Option<K::Owned>> {
    let mut best = None;
    for entry in map {
        let (key, value) = entry?;
        if best.as_ref().is_none_or(|&(_, most)| value > most) {
            best = Some((key, value));
        }
    }
    Ok(best.map(|(key, _)| key))
}

fn copy<K: Key + ?Sized, V: Value + ?Sized>(from: &Map<K, V>, to: &Map<K, V>) -> Result<usize> {
    let mut count = 0;
    for entry in from {
        let (key, value) = entry?;
        to.insert(K::lend(&key), V::lend(&value))?;
        count += 1;
    }
    Ok(count)
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool.endura"))?;
    let by_name = pool.map::<str, u64>("by name")?;
    let by_number = pool.map::<u32, u64>("by number")?;
    let by_both = pool.map::<(u32, String), u64>("by both")?;
    by_name.extend([("a", 1), ("b", 3), ("c", 2)])?;
    by_number.extend((0..10).map(|n| (n, u64::from(n))))?;
    by_both.extend([((1, "x"), 5), ((2, "y"), 4)])?;

    assert_eq!((total(&by_name)?, total(&by_number)?, total(&by_both)?), (6, 45, 9));
    assert_eq!(best(&by_name)?.as_deref(), Some("b"));
    assert_eq!(best(&by_both)?, Some((1, "x".to_owned())));

    let backup = pool.map("backup")?;
    assert_eq!(copy(&by_both, &backup)?, 2);
    assert!(by_both.iter().map(Result::unwrap).eq(backup.iter().map(Result::unwrap)));
    Ok(())
}
