//! Pool and map handles as users see them.

mod fast_fair;
mod info;
mod map;
mod options;
mod pool;
mod range;
mod turn;

pub(crate) use fast_fair::survey;
pub use fast_fair::{AnyFastFair, AnyLayout, FastFair, NodeLayout};
pub use info::MapInfo;
pub use map::{Map, OrderedMap};
pub use options::PoolOptions;
pub use pool::{Pool, Stats};
pub use range::Range;

pub use crate::check::{MapReport, Report};
pub use crate::media::MediaChoice;
pub use crate::tree::Len;
