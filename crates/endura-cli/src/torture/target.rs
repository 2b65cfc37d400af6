//! What is tortured, and how it is opened.

use std::path::Path;

use endura::{Error, Kind, Pool, Result};
use endura_bench::contender::Contender;

use super::peer::PeerMap;
use super::subject::Subject;
use crate::pool_args::MediaArgs;

/// What is tortured.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// A map in a pool.
    Index(Kind),
    /// A peer with its own files.
    Peer(Contender),
}

/// An open map, with the pool that it lies in.
pub(super) struct Open {
    pub(super) map: Subject,
    pool: Option<Pool>,
}

impl Target {
    /// Makes an empty map at `path`, where nothing is.
    pub(super) fn create(self, path: &Path, media: MediaArgs) -> Result<()> {
        match self {
            Self::Index(kind) => {
                let pool = media.options().create(path)?;
                Subject::open(&pool, Some(kind))?;
                pool.close()
            }
            Self::Peer(contender) => PeerMap::open(contender, path).map(drop),
        }
    }

    /// Opens the map at `path`; to read, if that is asked for and it can be done.
    pub(super) fn open(self, path: &Path, media: MediaArgs, read_only: bool) -> Result<Open> {
        if let Self::Peer(contender) = self {
            return Ok(Open { map: Subject::Peer(PeerMap::open(contender, path)?), pool: None });
        }
        let options = media.options();
        let pool = match options.clone().read_only(read_only).open(path) {
            Err(Error::NeedsRecovery) => options.open(path)?,
            other => other?,
        };
        Ok(Open { map: Subject::open(&pool, None)?, pool: Some(pool) })
    }

    /// The name in a report.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Index(kind) => Contender::of(kind).name(),
            Self::Peer(contender) => contender.name(),
        }
    }

    /// Whether kills leave things to repair that can be counted. Nearly every change of a ROART is one
    /// store: a kill rarely comes between two. Peers do not say.
    pub(super) fn repairs_expected(self) -> bool {
        matches!(self, Self::Index(kind) if kind != Kind::Roart)
    }
}

impl Open {
    /// Verifies everything; gives how much there is to repair.
    pub(super) fn repairs_pending(&self) -> Result<u64> {
        self.pool.as_ref().map_or(Ok(0), |pool| Ok(pool.verify()?.repairs_pending()))
    }

    /// Bytes of its files.
    pub(super) fn file_bytes(&self) -> Result<u64> {
        match (&self.pool, &self.map) {
            (Some(pool), _) => Ok(pool.stats()?.file_bytes),
            (None, Subject::Peer(map)) => map.file_bytes(),
            _ => Ok(0),
        }
    }

    pub(super) fn close(self) -> Result<()> {
        self.pool.map_or(Ok(()), |pool| pool.close())
    }
}
