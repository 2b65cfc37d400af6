//! Hit counters, from four threads at once.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]

use endura::{Kind, MapOptions, Pool, Result};

fn main() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("hits.endura"))?;
    let pages = pool.map_with::<u64, u64>("pages", MapOptions::new().kind(Kind::NbTree))?;
    let paths = pool.map::<str, u64>("paths")?;

    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| -> Result<()> {
                for i in 0..10_000 {
                    pages.alter(i % 10, |old| Some(old.unwrap_or(0) + 1))?;
                    paths.update("/index.html", |n| n.unwrap_or(0) + 1)?;
                }
                Ok(())
            });
        }
    });

    assert_eq!(pages.get(7)?, Some(4_000));
    assert_eq!(paths.get("/index.html")?, Some(40_000));
    assert_eq!(pages.values().sum::<Result<u64>>()?, 40_000);

    // The next number, by whoever asks: `update` returns the new value.
    let tickets = pool.map::<str, u64>("tickets")?;
    assert_eq!(tickets.update("orders", |n| n.map_or(100, |n| n + 1))?, 100);
    assert_eq!(tickets.update("orders", |n| n.map_or(100, |n| n + 1))?, 101);

    // Count down; the last one out takes the key with it.
    pages.insert(7, 2)?;
    assert_eq!(pages.alter(7, |n| n?.checked_sub(1).filter(|&n| n > 0))?, Some(2));
    assert_eq!(pages.alter(7, |n| n?.checked_sub(1).filter(|&n| n > 0))?, Some(1));
    assert!(!pages.contains_key(7)?);

    // Lock-free flags.
    assert_eq!(pages.compare_exchange(7, None, Some(1))?, Ok(()));
    assert_eq!(pages.compare_exchange(7, Some(2), None)?, Err(Some(1)));

    for entry in &pages {
        let (page, hits) = entry?;
        println!("page {page}: {hits} hits");
    }
    Ok(())
}
