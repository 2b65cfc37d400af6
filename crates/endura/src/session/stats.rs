//! Facts and figures of an open pool.

use super::open::Open;
use super::warnings;
use crate::checkpoint::keeper::Keeper;
use crate::checkpoint::{CheckpointStats, Restored};
use crate::media::Domain;
use crate::space::{LeakRecovery, SizeUse};
use crate::{Error, Result};

/// Facts and figures of an open pool.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of the file that are in use, in units of 4 KiB, those that describe the pool among them. The rest is free
    /// for any purpose.
    pub bytes_in_use: u64,
    /// Bytes of free chunks in what is in use. Chunks of one size lie in spans of 16 KiB to 2 MiB. A free chunk can
    /// be reused only for its own size until all chunks of its span are free: [`sizes`](Self::sizes) lists
    /// them by size. One entry in a span keeps the whole span.
    pub free_chunk_bytes: u64,
    /// For each size of chunk, its spans, and what is free in them.
    pub sizes: Vec<SizeUse>,
    /// Bytes that are freed, but that a thread may still be reading. If a thread stays inside an operation, they grow
    /// with every update and removal, and so does the file, up to its largest size. When the thread has left, each
    /// update frees a few of them: all are gone after about a third as many updates as ran meanwhile.
    pub limbo_bytes: u64,
    /// The progress of the search for space stranded by an unclean end.
    pub leak_recovery: LeakRecovery,
    /// Bytes to which the pool may grow while it is open this time.
    pub max_bytes: u64,
    /// How often the pool was opened for writing, including this time. A read-only open counts itself, but does not
    /// record this.
    pub generation: u64,
    /// Whether the session before this one closed the pool.
    pub clean_open: bool,
    /// Whether the pool is open read-only.
    pub read_only: bool,
    /// The pool's random identifier. Its copies keep it.
    pub uuid: [u8; 16],
    /// The persistence domain in use.
    pub domain: Domain,
    /// Whether operations that returned survive a power loss.
    pub power_safe: bool,
    /// The kind of the file system below.
    pub filesystem: &'static str,
    /// The checkpoints of the pool, if it has any.
    pub checkpoints: Option<CheckpointStats>,
    /// What this open did if a power loss had torn the pool.
    pub restored: Option<Restored>,
    /// Problems of the pool, in sentences for a person.
    pub warnings: Vec<&'static str>,
}

impl Open {
    pub(crate) fn stats(&self) -> Result<Stats> {
        let space = &self.space;
        if self.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        // While the caller is inside an operation the pool is still open, because a close waits for that operation.
        if space.is_closed() && !space.is_inside() {
            return Err(Error::Closed);
        }
        let mut warnings = self.facts.warnings.clone();
        warnings.extend(space.warnings());
        warnings.extend(self.keeper.iter().flat_map(Keeper::warnings));
        let figures = space.stats();
        warnings.extend(warnings::of(&figures));
        Ok(Stats {
            file_bytes: figures.file_bytes,
            bytes_in_use: figures.bytes_in_use,
            free_chunk_bytes: figures.free_chunk_bytes,
            sizes: space.sizes(),
            limbo_bytes: figures.limbo_bytes,
            leak_recovery: space.leak_recovery(),
            max_bytes: space.media().limit(),
            generation: self.session.generation,
            clean_open: self.session.clean,
            read_only: self.session.read_only,
            uuid: self.facts.uuid,
            domain: self.placement.domain,
            power_safe: self.placement.is_power_safe(),
            filesystem: self.facts.filesystem,
            checkpoints: self
                .keeper
                .as_ref()
                .map(Keeper::stats)
                .or_else(|| self.facts.told.clone()),
            restored: self.facts.restored.clone(),
            warnings,
        })
    }
}
