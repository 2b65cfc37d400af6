//! Pools, as programs use them: options, the handle, copies. What happens behind them is in [`session`](crate::session).

mod copies;
mod listen;
mod open;
mod options;
#[expect(clippy::module_inception, reason = "the pool among what belongs to it")]
pub(crate) mod pool;
#[cfg(test)]
mod power_cuts;
mod settings;

pub use options::PoolOptions;
pub use pool::Pool;
