//! Memory that is at hand before what enters keys is timed.

use std::io::Read as _;
use std::path::Path;

use super::definition::{Action, Workload};
use crate::Result;
use crate::store::{Shape, measured_pool, temporary};

/// Warms as much memory as a store is likely to take for what `workload` enters in so many operations.
pub(crate) fn warm_memory(dir: &Path, shape: Shape, workload: &Workload, operations: u64) {
    if workload.has(Action::Insert) {
        warm_bytes(dir, operations * (2 * shape.mean_bytes() as u64 + 32));
    }
}

/// Fills a file in `dir` with so many bytes, and deletes it. A virtual machine gives memory that is free for a while back to
/// its host, which takes as long to lend it again as an index takes to fill it: a load would measure the host, and each
/// store as much of it as its turn brings with it.
pub(crate) fn warm_bytes(dir: &Path, bytes: u64) {
    let fill = || -> Result<()> {
        let dir = temporary(dir)?;
        let pool = measured_pool().create_new(dir.path().join("memory"))?;
        let map = pool.map::<u64, [u8]>("memory")?;
        for (piece, begin) in (0..).zip((0..bytes).step_by(1 << 28)) {
            let len = (bytes - begin).min(1 << 28);
            map.insert_from(piece, len as usize, |out| {
                std::io::copy(&mut std::io::repeat(0).take(len), out).map(drop)
            })?;
        }
        Ok(())
    };
    // A full file system is for the store to tell of.
    drop(fill());
}
