//! Typed handles of the maps of a pool, one type for each kind.

use super::any::{AnyIndex, AnyMap};
use super::byte_map::ByteMap;
use super::word_map::WordMap;
use crate::kind::Kind;
use crate::media::Mapped;
use crate::store::fast_fair::{AnyLayout, NodeLayout};
use crate::store::nbtree::NbTreeIndex;
use crate::store::pool::pool::Pool;
use crate::tree::{Index, roart};
use crate::{Error, Result};

/// A FAST & FAIR map of numbers.
pub type FastFair = WordMap<FastFairIndex>;
/// The index of a [`FastFair`].
pub type FastFairIndex = AnyLayout<Mapped>;
/// An NBTree of numbers.
pub type NbTree = WordMap<NbTreeIndex>;
/// A ROART map of byte strings.
pub type Roart = ByteMap<RoartIndex>;
/// The index of a [`Roart`].
pub type RoartIndex = roart::Tree<Mapped>;

/// Opens maps by their kind, whatever types they have: as numbers, or as byte strings.
#[expect(clippy::missing_errors_doc, reason = "those of `Pool::map_with`, which has them")]
pub trait Handles {
    /// The FAST & FAIR map `name`; made if there is none, with the nodes that suit the medium.
    fn fast_fair(&self, name: &str) -> Result<FastFair>;

    /// The same with a choice of node sizes.
    fn fast_fair_with(&self, name: &str, layout: NodeLayout) -> Result<FastFair>;

    /// The NBTree map `name`; made if there is none.
    fn nbtree(&self, name: &str) -> Result<NbTree>;

    /// The map `name`, of whichever kind of numbers it is; made if there is none, as the kind asked for or as a
    /// [`FastFair`].
    fn any_map(&self, name: &str, kind: Option<Kind>) -> Result<AnyMap>;

    /// The ROART map `name`, from byte strings to byte strings; made if there is none.
    fn roart(&self, name: &str) -> Result<Roart>;
}

impl Handles for Pool {
    fn fast_fair(&self, name: &str) -> Result<FastFair> {
        Ok(keeping_open(self, FastFairIndex::open(self.space(), name, None)?))
    }

    fn fast_fair_with(&self, name: &str, layout: NodeLayout) -> Result<FastFair> {
        Ok(keeping_open(self, FastFairIndex::open(self.space(), name, Some(layout))?))
    }

    fn nbtree(&self, name: &str) -> Result<NbTree> {
        Ok(keeping_open(self, NbTreeIndex::open(self.space(), name)?))
    }

    fn any_map(&self, name: &str, kind: Option<Kind>) -> Result<AnyMap> {
        loop {
            let found = kind_of(self, name)?;
            match open_as(self, name, kind.or(found).unwrap_or(Kind::FastFair)) {
                // Another thread made it meanwhile, or made another one of it.
                Err(Error::WrongKind { .. }) if kind.is_none() && kind_of(self, name)? != found => {
                }
                index => return Ok(keeping_open(self, index?)),
            }
        }
    }

    fn roart(&self, name: &str) -> Result<Roart> {
        Ok(ByteMap::in_pool(RoartIndex::open(self.space(), name)?, self.keep_open()))
    }
}

/// A handle that keeps the pool open.
fn keeping_open<I: Index>(pool: &Pool, index: I) -> WordMap<I> {
    WordMap::in_pool(index, pool.keep_open())
}

fn kind_of(pool: &Pool, name: &str) -> Result<Option<Kind>> {
    let found = pool.space().find_map(name)?;
    Ok(found.and_then(|map| Kind::numbered(map.kind())))
}

fn open_as(pool: &Pool, name: &str, kind: Kind) -> Result<AnyIndex> {
    Ok(match kind {
        Kind::FastFair => AnyIndex::FastFair(FastFairIndex::open(pool.space(), name, None)?),
        Kind::NbTree => AnyIndex::NbTree(NbTreeIndex::open(pool.space(), name)?),
        // Opened as what it is not, which says so.
        Kind::Roart => AnyIndex::FastFair(FastFairIndex::open(pool.space(), name, None)?),
    })
}
