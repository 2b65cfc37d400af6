//! Searches of whole cache lines in DRAM: for a byte, and for the last number up to a limit.

mod lanes;
mod line;
#[cfg(all(target_arch = "aarch64", not(miri), not(all(test, loom))))]
mod neon;
#[cfg(all(target_arch = "x86_64", not(miri), not(all(test, loom))))]
mod sse2;
#[cfg(all(test, not(loom)))]
mod tests;
#[cfg(all(target_arch = "x86_64", not(miri), not(all(test, loom))))]
mod wide;
#[cfg(any(test, miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod words;

pub(crate) use lanes::{Lanes, Narrow, Wide};
pub(crate) use line::{Halves, Line, set_byte};
