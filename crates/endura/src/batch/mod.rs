//! Several changes at once: batches, transactions, and reads of one moment. The work is done in
//! [`commit`](endura_engine::index::commit).
//!
//! This module may use `map`, `pool`, `encoding` and `index`, and the modules below these. After a change run
//! `cargo test -p endura-tests --test batches`, then `.ci/quick`.
//!
//! | file | what |
//! | --- | --- |
//! | `parts` | the parts of a commit, encoded, until it is made |
//! | `batch` | changes and expectations that a program lists |
//! | `transaction` | the same, of a closure that reads |
//! | `pool` | the methods of [`Pool`](crate::Pool) that begin them |

#[expect(clippy::module_inception, reason = "the batch among what belongs to it")]
mod batch;
mod parts;
mod pool;
mod transaction;

pub use batch::Batch;
pub(crate) use parts::Encoded;
pub(crate) use transaction::Stored;
pub use transaction::Transaction;
