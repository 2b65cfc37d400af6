//! [`Roart`]: the index as it is in a pool.

use crate::media::Mapped;
use crate::store::ByteMap;
use crate::tree::roart::Tree;

/// A map from byte strings to byte strings that lies in the pool entirely: a ROART radix tree. It
/// restarts in microseconds, and serves any number of readers and writers.
///
/// All its methods are those of [`ByteMap`].
pub type Roart = ByteMap<RoartIndex>;

/// The index of a [`Roart`].
pub type RoartIndex = Tree<Mapped>;
