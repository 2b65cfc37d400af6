//! Figures: how a time is taken, what becomes of many of them, and how they are written.

mod clock;
mod latency;
mod median;
mod neighbour;
mod text;

pub use clock::Pacing;
pub(crate) use clock::{empty_histogram, thread_cpu_time, thread_time_in_line, timed};
pub use latency::Latency;
pub use median::Median;
pub(crate) use neighbour::{is_shared, probe};
pub(crate) use text::{figure, grouped, in_unit, is_time, list, short, threads};
