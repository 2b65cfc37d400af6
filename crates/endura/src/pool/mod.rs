//! Pools, as programs use them: options, the handle, copies. The work is done in [`session`](endura_engine::session).
//!
//! This module may use `encoding`, `session`, `index`, `checkpoint` and `space`, and the modules below these. A new
//! option also belongs in `settings.rs`. After a change run `.ci/quick`. Also run
//!
//! * for opens, closes and copies: `cargo test -p endura-tests --test faults`
//! * for the public API: `ENDURA_BLESS=1 cargo test -p endura --test architecture surface`

// First, so that the page of `Pool` begins with its opens.
#[expect(clippy::module_inception, reason = "the pool among what belongs to it")]
pub(crate) mod pool;

mod copies;
mod listen;
mod open;
mod options;
mod settings;

pub use options::PoolOptions;
pub use pool::Pool;
