//! A pool in memory with its checkpoint on a disk: no store waits for a disk, and a power loss costs a second.
//!
//! On tmpfs nothing is written back, so that no update is held up by the kernel. Only checkpoints write, to the file that
//! is named at each open. A reboot empties the tmpfs: the next open makes the pool anew from the checkpoint.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]

use std::path::Path;
use std::time::Duration;

use endura::{Checkpoints, Map, Pool, Result};

fn open(memory: &Path, disk: &Path) -> Result<Pool> {
    let how = Checkpoints::every(Duration::from_secs(1)).in_file(disk.join("ticks.checkpoint"));
    Pool::options().checkpoints(how).open(memory.join("ticks.endura"))
}

fn main() -> Result<()> {
    let in_memory = Path::new("/dev/shm");
    let memory = match in_memory.is_dir() {
        true => tempfile::tempdir_in(in_memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    };
    let disk = tempfile::tempdir().unwrap();

    let pool = open(memory.path(), disk.path())?;
    let ticks: Map<u64, f64> = pool.map("ticks")?;
    for i in 0..1_000 {
        ticks.put(i, f64::from(i as u32).sqrt())?;
    }
    let made = pool.checkpoint()?;
    println!("a checkpoint of {} bytes; writers waited for {:?}", made.written_bytes, made.held);
    pool.close()?;

    // What a reboot does to a tmpfs.
    std::fs::remove_file(memory.path().join("ticks.endura")).unwrap();

    let pool = open(memory.path(), disk.path())?;
    let restored = pool.stats()?.restored.unwrap();
    println!("made anew from a checkpoint: {} bytes", restored.written_bytes);
    let ticks: Map<u64, f64> = pool.map("ticks")?;
    assert_eq!((ticks.len()?, ticks.get(81)?), (1_000, Some(9.0)));
    pool.close()?;
    Ok(())
}
