//! The file of a pool as a killed process leaves it, without a process.

use std::fs;
use std::path::Path;

use endura_engine::space::superblock::{BYTES, Superblock};

/// Has `close` close the pool, and leaves the file as it was before, and its checkpoint if it had one. The close has removed the
/// mark that the file had, so its superblock says that it has none.
pub(crate) fn leave_as_killed<R>(path: &Path, close: impl FnOnce() -> R) {
    let mut image = fs::read(path).unwrap();
    let mut kept = path.as_os_str().to_owned();
    kept.push(".checkpoint");
    let checkpoint = fs::read(&kept);
    close();
    if let Ok(checkpoint) = checkpoint {
        fs::write(kept, checkpoint).unwrap();
    }
    for copy in [0, 4096] {
        let bytes: &mut [u8; BYTES] = (&mut image[copy..copy + BYTES]).try_into().unwrap();
        let superblock = Superblock::decode(bytes).unwrap();
        *bytes = Superblock { is_marked: false, ..superblock }.encode();
    }
    // The same file: another one would be a copy.
    fs::write(path, image).unwrap();
}
