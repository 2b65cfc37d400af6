//! Media around a medium: what passes through is counted, stopped, or made slow.

mod counting;
mod emulated;
mod pass_on;
mod staged;

pub use counting::{Counting, Counts};
pub use emulated::{Charges, Emulated, Pace, Slow};
pub use staged::{Halt, Staged, Stop};
