//! [`NbTree`]: the index with the sizes that it has in a pool.

use crate::media::Mapped;
use crate::store::Map;
use crate::tree::nbtree::Tree;

/// A map from `u64` to `u64` that keeps its entries in the pool and all else in DRAM: an NBTree. Its
/// writers never wait for each other, and an insert, update or remove writes one line. What is in
/// DRAM is made anew as it is needed after an open.
///
/// All its methods are those of [`Map`].
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// let pool = endura::Pool::options().open_or_create(folder.path().join("data.endura"))?;
/// let seen = pool.nbtree("seen")?;
/// assert!(seen.insert_new(7, 1)?);
/// assert_eq!(seen.range(..).next().transpose()?, Some((7, 1)));
/// # Ok::<(), endura::Error>(())
/// ```
pub type NbTree = Map<NbTreeIndex>;

/// The index of an [`NbTree`].
pub type NbTreeIndex = Tree<Mapped, WORDS, FANOUT>;

/// Words of a block: 1 KiB, 63 entries.
pub(super) const WORDS: usize = 128;
/// Children of an inner node.
pub(super) const FANOUT: usize = 64;
