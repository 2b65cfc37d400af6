//! Who runs beside endura, and the stores of one round.

use std::path::Path;

use endura::Kind;

use crate::operation::Sizes;
use crate::run::Config;
use crate::store::{EnduraStore, Lmdb, LmdbBytes, RoartStore, Shape, Store};
use crate::{Error, Result};

/// Who runs beside endura.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// LMDB, with the same promise as endura on the page cache.
    Lmdb,
    /// `congee`, a volatile concurrent radix tree with keys of 8 bytes. Needs the feature `congee`.
    Congee,
}

/// What is done with the stores of a round.
pub(crate) trait Contest {
    /// Runs all operations on fresh stores.
    fn round<S: Store, P: Store>(
        &mut self,
        round: u32,
        threads: usize,
        endura: &S,
        peer: Option<&P>,
    ) -> Result<()>;
}

/// Makes the stores of one round, and lets them compete.
pub(crate) fn round(
    config: &Config,
    round: u32,
    threads: usize,
    contest: &mut impl Contest,
) -> Result<()> {
    let dir = temporary(&config.dir)?;
    let (pool, options) = (dir.path().join("pool"), config.pool.clone());
    if config.kind == Kind::Roart {
        let endura = RoartStore::create(&pool, options, config.shape)?;
        return match config.peer {
            Some(Peer::Lmdb) => {
                let map_size = map_size(config.sizes, config.shape);
                let lmdb = LmdbBytes::create(&lmdb_dir(dir.path())?, map_size, config.shape)?;
                contest.round(round, threads, &endura, Some(&lmdb))
            }
            peer => beside_congee(config, peer, round, threads, &endura, contest),
        };
    }
    let endura = EnduraStore::create(&pool, options, config.kind, config.layout)?;
    match config.peer {
        Some(Peer::Lmdb) => {
            let map_size = map_size(config.sizes, Shape::WORDS);
            let lmdb = Lmdb::create(&lmdb_dir(dir.path())?, map_size)?;
            contest.round(round, threads, &endura, Some(&lmdb))
        }
        peer => beside_congee(config, peer, round, threads, &endura, contest),
    }
}

/// A round beside congee, or beside nobody.
fn beside_congee<S: Store>(
    config: &Config,
    peer: Option<Peer>,
    round: u32,
    threads: usize,
    endura: &S,
    contest: &mut impl Contest,
) -> Result<()> {
    if peer.is_none() {
        return contest.round(round, threads, endura, None::<&S>);
    }
    if config.kind == Kind::Roart && config.shape != Shape::WORDS {
        return Err(Error::Config("congee has keys and values of 8 bytes: ask for the same here"));
    }
    #[cfg(feature = "congee")]
    {
        let congee = crate::store::CongeeStore::default();
        contest.round(round, threads, endura, Some(&congee))
    }
    #[cfg(not(feature = "congee"))]
    Err(Error::Config("this build has no congee: build it with `--features congee`"))
}

fn temporary(dir: &Path) -> Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("endura-bench-").tempdir_in(dir).map_err(|source| Error::Io {
        doing: format!("cannot make a folder in {}", dir.display()),
        source,
    })
}

fn lmdb_dir(dir: &Path) -> Result<std::path::PathBuf> {
    let dir = dir.join("lmdb");
    std::fs::create_dir(&dir)
        .map_err(|source| Error::Io { doing: format!("cannot make {}", dir.display()), source })?;
    Ok(dir)
}

/// Room for three times what LMDB needs; the file is sparse.
fn map_size(sizes: Sizes, shape: Shape) -> u64 {
    let payload = (shape.key_bytes + shape.value_bytes) as u64;
    let bytes = (1 << 30) + (200 + 4 * payload) * (sizes.keys + sizes.operations);
    // Whole pages.
    bytes.next_multiple_of(1 << 20)
}
