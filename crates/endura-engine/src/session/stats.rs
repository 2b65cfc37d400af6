//! Facts and figures of an open pool.

use std::borrow::Cow;

use super::after_power_loss::{AfterPowerLoss, Place};
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
    /// Bytes of the file that are in use, a multiple of 4 KiB. They include those that describe the pool. The rest is
    /// free for any purpose. After an unclean end this is an upper bound, until the search for leaked space is done:
    /// see [`leak_recovery`](Self::leak_recovery).
    pub bytes_in_use: u64,
    /// Bytes of free chunks within [`bytes_in_use`](Self::bytes_in_use). Chunks of one size lie in spans of 16 KiB to 2
    /// MiB. A free chunk can be reused only for its own size until all chunks of its span are free.
    /// [`sizes`](Self::sizes) lists them by size. A single entry keeps its whole span.
    pub free_chunk_bytes: u64,
    /// For each size of chunk, the spans and the free chunks in them.
    pub sizes: Vec<SizeUse>,
    /// Bytes that are freed, but that a thread may still be reading. While a thread stays inside an operation, they
    /// grow with every update and removal, and so does the file, up to its largest size. Once the thread has left, each
    /// update makes some of them reusable: all of them after about a third as many updates as ran meanwhile.
    pub limbo_bytes: u64,
    /// The progress of the search for space stranded by an unclean end.
    pub leak_recovery: LeakRecovery,
    /// The size in bytes to which the pool may grow in this session.
    pub max_bytes: u64,
    /// How many times the pool was opened for writing, including this session. A read-only open counts itself, but does
    /// not record that.
    pub generation: u64,
    /// Whether the session before this one closed the pool.
    pub clean_open: bool,
    /// Whether the pool is open read-only.
    pub read_only: bool,
    /// The pool's random identifier. Its copies keep it.
    pub uuid: [u8; 16],
    /// The persistence domain in use.
    pub domain: Domain,
    /// Whether operations that have returned survive a power loss.
    pub power_safe: bool,
    /// The kind of the file system on which the pool lies.
    pub filesystem: &'static str,
    /// The checkpoints of the pool, if it has any.
    pub checkpoints: Option<CheckpointStats>,
    /// What the restore did, if this open took the pool back to a checkpoint or made it from one.
    pub restored: Option<Restored>,
    /// What a power loss now would leave of the pool.
    pub after_power_loss: AfterPowerLoss,
    /// Problems of the pool, as sentences for a person.
    pub warnings: Vec<Cow<'static, str>>,
}

impl Open {
    /// See `Pool::stats`.
    pub fn stats(&self) -> Result<Stats> {
        let space = &self.space;
        if self.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        // If the caller is inside an operation, the pool is not closed yet, because a close waits for that operation.
        if space.is_closed() && !space.is_inside() {
            return Err(self.closed());
        }
        let figures = space.stats();
        let (own, of_space) = (self.facts.warnings.iter().copied(), space.warnings());
        let mut warnings: Vec<_> = own.chain(of_space).map(Cow::Borrowed).collect();
        warnings.extend(self.keeper.iter().flat_map(Keeper::warnings));
        warnings.extend(warnings::of(&figures).map(Cow::Borrowed));
        let checkpoints = self.keeper.as_ref().map(Keeper::stats);
        let checkpoints = checkpoints.or_else(|| self.facts.told.clone());
        let place = match (self.placement.is_power_safe(), self.facts.in_memory) {
            (true, _) => Place::PowerSafe,
            (false, true) => Place::Memory,
            (false, false) => {
                Place::Disk { is_closed: self.session.read_only && self.session.clean }
            }
        };
        Ok(Stats {
            file_bytes: figures.file_bytes,
            bytes_in_use: figures.bytes_in_use.min(figures.file_bytes),
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
            after_power_loss: AfterPowerLoss::of(place, checkpoints.as_ref()),
            checkpoints,
            restored: self.facts.restored.clone(),
            warnings,
        })
    }
}
