//! Slow memory, emulated on fast memory: `medium` says how.

mod cache;
mod clock;
mod medium;
#[cfg(test)]
mod tests;
mod thread;

pub use clock::Pace;
pub use medium::{Charges, Emulated, Slow};
