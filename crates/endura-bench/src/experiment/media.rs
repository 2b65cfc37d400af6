//! Media of experiments, and fresh pools on them.

use std::fs::File;
use std::path::Path;

use endura_engine::media::{Domain, FlushInstruction, Mapped, Mapping, Reservation};

use crate::store::Shape;
use crate::{Error, Result};

/// Bytes of a medium that holds so many entries of this shape with room to spare.
pub fn room(entries: u64, shape: Shape) -> u64 {
    (96 << 20) + entries * (160 + 3 * (shape.longest_key_bytes + shape.value_bytes) as u64)
}

/// A mapped file without a name in `dir`, that can grow to `bytes`: lines are written back and fences
/// run as the domain has it.
pub fn mapped(domain: Domain, dir: &Path, bytes: u64) -> Result<Mapped> {
    let doing = || format!("cannot make a file in {}", dir.display());
    let failure = |source| Error::Io { doing: doing(), source };
    let file: File = tempfile::tempfile_in(dir).map_err(failure)?;
    let reservation = Reservation::new(bytes).map_err(failure)?;
    let instruction = FlushInstruction::best().unwrap_or(FlushInstruction::Clflush);
    let mapping =
        Mapping { read_only: false, direct: false, domain, instruction, notes_pages: false };
    Ok(Mapped::new(file, reservation, mapping)?)
}

/// [`mapped`] with write-backs and fences as persistent memory wants them.
pub fn adr(dir: &Path, bytes: u64) -> Result<Mapped> {
    mapped(Domain::Adr, dir, bytes)
}

/// [`mapped`] with neither.
pub fn page_cache(dir: &Path, bytes: u64) -> Result<Mapped> {
    mapped(Domain::PageCache, dir, bytes)
}
