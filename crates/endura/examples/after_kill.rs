//! A child loads and is killed; then `len` is exact and the estimate comes at once.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]

use endura::{Kind, MapOptions, Pool, Result};

fn main() -> Result<()> {
    let folder = match std::env::args().nth(1) {
        Some(path) => {
            let pool = Pool::open(&path)?;
            let hits = pool.map_with::<u64, u64>("hits", MapOptions::new().kind(Kind::NbTree))?;
            let users = pool.map::<str, u32>("users")?;
            hits.extend((0..90_000).map(|n| (n, n)))?;
            for n in 0..9_000 {
                users.insert(&format!("user:{n}"), n)?;
            }
            std::process::abort();
        }
        None => tempfile::tempdir().unwrap(),
    };
    let path = folder.path().join("pool.endura");
    let exe = std::env::current_exe().unwrap();
    let status = std::process::Command::new(exe)
        .arg(&path)
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(!status.success());
    let pool = Pool::options().open_existing(&path)?;
    let hits = pool.map_with::<u64, u64>("hits", MapOptions::new().create(false))?;
    let users = pool.map::<str, u32>("users")?;
    println!("at once: about {} and {}", hits.approximate_len()?, users.approximate_len()?);
    assert_eq!((hits.len()?, users.len()?), (90_000, 9_000));
    assert_eq!((hits.kind(), users.get("user:8999")?), (Kind::NbTree, Some(8_999)));
    println!("counted: {} and {}", hits.len()?, users.len()?);
    pool.close()?;
    let error = Pool::options()
        .read_only(true)
        .open(&path)?
        .map::<u64, u64>("hits")?
        .insert(1, 1)
        .unwrap_err();
    println!("{error}");
    Ok(())
}
