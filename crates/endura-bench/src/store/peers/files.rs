//! What a store takes up that keeps files.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::store::contract::Footprint;
use crate::{Error, Result};

/// What the files below `dir` take up: the blocks that are theirs, and their lengths.
pub(super) fn size_of_files(dir: &Path) -> Result<Footprint> {
    let failure =
        |source| Error::Io { doing: format!("cannot look into {}", dir.display()), source };
    let mut sum = Footprint { used_bytes: 0, file_bytes: 0 };
    for entry in std::fs::read_dir(dir).map_err(failure)? {
        let entry = entry.map_err(failure)?;
        // A background thread may have deleted it since.
        let Ok(data) = entry.metadata() else { continue };
        let part = if data.is_dir() {
            size_of_files(&entry.path())?
        } else {
            Footprint { used_bytes: data.blocks() * 512, file_bytes: data.len() }
        };
        sum.used_bytes += part.used_bytes;
        sum.file_bytes += part.file_bytes;
    }
    Ok(sum)
}
