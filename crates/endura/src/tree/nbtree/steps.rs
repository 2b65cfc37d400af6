//! The numbered steps of the protocol.

/// What the tree announces with [`Mark::Step`](crate::media::Mark::Step), in the order of the alphabet; the
/// documentation of the modules says what each is. Tests stop threads there, and crash.
pub const STEPS: [&str; 23] = [
    "alter.durable",
    "alter.exchange",
    "change.S0",
    "change.S1",
    "change.S3",
    "change.S4",
    "insert.I2",
    "insert.I3",
    "insert.I4",
    "insert.I5",
    "insert.durable",
    "merge.M1",
    "merge.M2",
    "read.leaf",
    "read.tags",
    "reroute.cell",
    "reroute.frozen",
    "reroute.root",
    "settle.S5",
    "settle.S6",
    "settle.S7",
    "settle.S8",
    "settle.unlink",
];
