//! Changes of several keys at once, and reads of one moment.

mod batch;
mod transaction;
mod view;

pub use batch::{
    endura_batch_begin, endura_batch_clear, endura_batch_commit, endura_batch_delete,
    endura_batch_delete_u64, endura_batch_expect, endura_batch_expect_u64, endura_batch_len,
    endura_batch_put, endura_batch_put_u64, endura_batch_release,
};
pub use transaction::{
    Run, endura_transact, endura_transaction_delete, endura_transaction_delete_u64,
    endura_transaction_get, endura_transaction_get_u64, endura_transaction_put,
    endura_transaction_put_u64,
};
pub use view::{LookAt, endura_read};
