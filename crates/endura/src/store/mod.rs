//! Pool and map handles as users see them.

mod options;
mod pool;

pub use options::PoolOptions;
pub use pool::{Pool, Stats};
