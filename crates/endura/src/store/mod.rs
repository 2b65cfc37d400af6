//! The public interface of pools and maps.

pub(crate) mod dynamic;
mod encoding;
pub(crate) mod index;
mod map;
mod pool;

pub use encoding::bound::KeyRange;
#[cfg(feature = "json")]
pub use encoding::codecs::Json;
#[cfg(feature = "postcard")]
pub use encoding::codecs::Postcard;
pub use encoding::newtype::Newtype;
pub use encoding::value::{Key, KeyBound, PrefixKey, Value};
pub use index::NodeLayout;
pub use map::{Keys, Map, MapOptions, Range, Values, Visit};
pub use pool::{
    Checkpoint, CheckpointFailure, CheckpointStats, Checkpoints, Closed, MapInfo, MapReport, Pool,
    PoolOptions, Report, Restored, Stats,
};

pub use crate::media::{Domain, MediaChoice, explain_bus_errors};
pub use crate::pool::{Event, LeakRecovery, LeakRecoveryState, Shares, SizeUse};
pub use crate::tree::{Bytes, LONGEST_KEY, LONGEST_VALUE, Repairs};
