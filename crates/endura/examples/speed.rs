//! How long an operation takes in this build: to compare a debug build, a release, and a debug build whose
//! `Cargo.toml` optimises the library; and two kinds of index for strings, of two sorts.
//!
//!     CARGO_PROFILE_DEV_OPT_LEVEL=0 cargo run --example speed
//!     cargo run --release --example speed
//!
//! The number of keys may be given.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]

use std::time::Instant;

use endura::{Checkpoints, Kind, MapOptions, Pool, Result};

/// Nanoseconds of each of `count` operations.
fn each(count: u64, mut operation: impl FnMut(u64) -> Result<()>) -> Result<u128> {
    let begun = Instant::now();
    (0..count).try_for_each(&mut operation)?;
    Ok(begun.elapsed().as_nanos() / u128::from(count))
}

fn row(what: &str, [insert, get, scan]: [u128; 3]) {
    println!("{what:<16} {insert:>10} {get:>10} {scan:>10}");
}

fn key(i: u64) -> u64 {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// A key of few bytes that all keys share.
fn name(i: u64) -> String {
    format!("user:{:016x}", key(i))
}

/// A key of many bytes that all keys share, or thousands of them.
fn file(i: u64) -> String {
    let [folder, file] = [key(i) >> 52, key(i) & 0xFFFF_FFFF_FFFF];
    format!("/srv/www/example.org/static/assets/{:02x}/{folder:03x}/{file:012x}.html", folder >> 4)
}

fn main() -> Result<()> {
    let count: u64 = std::env::args().nth(1).map_or(20_000, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("speed.endura");
    let pool = Pool::options().checkpoints(Checkpoints::off()).open(&path)?;

    println!("{:<16} {:>10} {:>10} {:>10}", "ns", "insert", "get", "scan");
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        let options = MapOptions::new().kind(kind);
        let map = pool.map_with::<u64, u64>(&format!("{kind:?}"), options)?;
        let insert = each(count, |i| map.insert(key(i), i).map(drop))?;
        let get = each(count, |i| map.get(key(i)).map(|found| assert_eq!(found, Some(i))))?;
        let mut entries = map.iter();
        let scan = each(count, |_| entries.next().unwrap().map(drop))?;
        row(&format!("{kind:?}"), [insert, get, scan]);
    }
    for (sort, spell) in [("names", name as fn(u64) -> String), ("paths", file)] {
        for kind in [Kind::FastFair, Kind::Roart] {
            let options = MapOptions::new().kind(kind);
            let map = pool.map_with::<str, str>(&format!("{sort} {kind:?}"), options)?;
            let insert = each(count, |i| map.insert(&spell(i), "a value of 20 bytes!").map(drop))?;
            let get = each(count, |i| map.get(&spell(i)).map(|found| assert!(found.is_some())))?;
            let mut entries = map.iter();
            let scan = each(count, |_| entries.next().unwrap().map(drop))?;
            row(&format!("{kind:?}, {sort}"), [insert, get, scan]);
        }
    }
    pool.close().map(drop)
}
