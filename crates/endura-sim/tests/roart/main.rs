//! ROART trees with arrays of four: threads and crashes, calls that matter. (Every crash of every short history is a
//! matter of `campaign`.)
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod mutation;
mod stopped;
mod threads;

use endura_engine::space::PAGE;
use endura_sim::subjects::ByteOp;

/// Every session after a crash takes new spans, one for each size of chunk.
const LIMIT: u64 = 64 * PAGE;

fn put(key: &str, value: u64) -> ByteOp {
    ByteOp::Put(key.as_bytes().to_vec(), value)
}

fn remove(key: &str) -> ByteOp {
    ByteOp::Remove(key.as_bytes().to_vec())
}
