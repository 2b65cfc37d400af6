//! A real server with the module, on a socket in a folder of its own, and a client.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![allow(
    dead_code,
    unused_imports,
    reason = "the tests and the program that measures use their parts"
)]

pub(crate) mod client;
pub(crate) mod mixed;
pub(crate) mod model;
pub(crate) mod server;

pub(crate) use client::{Client, Reply};
pub(crate) use server::Server;

/// A sequence of numbers that a seed repeats.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }
}
