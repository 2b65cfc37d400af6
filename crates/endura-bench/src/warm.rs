//! Memory that is at hand before a load is timed.

use std::io::Write;
use std::path::Path;

use crate::store::Shape;
use crate::suite::temporary;

/// Fills a file in `dir` with as many bytes as a store of so many entries is likely to take, and deletes
/// it. A virtual machine gives memory that is free for a while back to its host, which takes as long to
/// lend it again as an index takes to fill it: a load would measure the host, and each store as much of
/// it as its turn brings with it.
pub(crate) fn warm_memory(dir: &Path, shape: Shape, entries: u64) {
    let bytes = entries * (2 * shape.mean_bytes() as u64 + 32);
    let piece = vec![0; 1 << 20];
    let fill = || -> crate::Result<()> {
        let dir = temporary(dir)?;
        let failure = |source| crate::Error::Io { doing: "cannot warm memory".into(), source };
        let mut file = std::fs::File::create(dir.path().join("memory")).map_err(failure)?;
        (0..bytes >> 20).try_for_each(|_| file.write_all(&piece)).map_err(failure)
    };
    // A full file system is for the load to tell of.
    drop(fill());
}
