//! The numbered steps of the protocol.

/// What the tree announces with [`Mark::Step`](crate::media::Mark::Step), in the order of the alphabet; the
/// documentation of the modules says what each is. Tests stop threads there, and crash.
pub const STEPS: [&str; 27] = [
    "fast_delete.commit",
    "fast_delete.shift",
    "fast_insert.commit",
    "fast_insert.shift",
    "lock.taken",
    "merge.M1",
    "merge.M2",
    "merge.M3",
    "merge.M4.high",
    "merge.M4.sib",
    "merge.M4.tag",
    "merge.M5",
    "post.P1",
    "post.P2",
    "read.inner",
    "read.leaf",
    "repair.duplicate",
    "repair.merging",
    "repair.splitting",
    "root.grow",
    "root.shrink",
    "split.S2",
    "split.S3.durable",
    "split.S3.high",
    "split.S3.sib",
    "split.S3.tag",
    "split.S4",
];
