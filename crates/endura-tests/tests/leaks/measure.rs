//! What a leak recovery costs and gives back. Run with
//! `cargo test --release -p endura-tests --test leaks -- --ignored --nocapture measure`: A16.

use std::time::{Duration, Instant};

use endura::{Map, MediaChoice, Pool};

const KEYS: u64 = 1_000_000;

fn scattered(n: u64) -> [u8; 24] {
    let mut key = *b"--------/--------/------";
    key[..8].copy_from_slice(&n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    key
}

/// Operations a second, half of them lookups and half updates, until `stop` says so.
fn throughput(map: &Map<[u8], [u8]>, stop: impl Fn(u64) -> bool) -> (f64, Duration) {
    let (begun, mut done, mut slowest) = (Instant::now(), 0_u64, Duration::ZERO);
    while !stop(done) {
        let one = Instant::now();
        for i in 0..64 {
            let key = scattered((done * 7 + i * 31) % KEYS);
            match i % 2 {
                0 => assert!(map.get(&key).unwrap().is_some()),
                _ => _ = map.insert(&key, &[1; 100]).unwrap(),
            }
        }
        slowest = slowest.max(one.elapsed());
        done += 64;
    }
    (done as f64 / begun.elapsed().as_secs_f64(), slowest)
}

#[test]
#[ignore = "a measurement"]
fn a16_a_million_keys_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.endura");
    let options = Pool::options().media(MediaChoice::PageCache);
    let pool = options.create_new(&path).unwrap();
    let map = pool.map::<[u8], [u8]>("m").unwrap();
    (0..KEYS).for_each(|n| _ = map.insert(&scattered(n), &[0; 100]).unwrap());
    (0..KEYS / 4).for_each(|n| _ = map.remove(&scattered(4 * n)).unwrap());
    (0..KEYS / 4).for_each(|n| _ = map.insert(&scattered(4 * n), &[0; 200]).unwrap());
    crate::killed_file::leave_as_killed(&path, || {
        drop(map);
        pool.close().unwrap();
    });
    let begun = Instant::now();
    let pool = options.open_existing(&path).unwrap();
    let map = pool.map::<[u8], [u8]>("m").unwrap();
    assert!(map.get(&scattered(1)).unwrap().is_some());
    println!("open and first lookup: {:?}", begun.elapsed());
    let done = || pool.stats().unwrap().leak_recovery.is_done();
    let (during, slowest) = throughput(&map, |ops| ops % 4096 == 0 && done());
    let found = pool.stats().unwrap().leak_recovery;
    println!("leak_recovery: {:?}, {found:?}", begun.elapsed());
    let (after, slowest_after) = throughput(&map, |ops| ops >= KEYS / 2);
    println!("operations a second: {during:.0} during, {after:.0} after: {:.2}", during / after);
    println!("slowest 64 operations: {slowest:?} during, {slowest_after:?} after");
    let shares = pool.verify().unwrap().shares;
    println!("{shares:?}");
    assert_eq!(shares.leaked, 0);
}
