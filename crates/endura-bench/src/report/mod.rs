//! One page that tells all: plots, counts, claims, and where endura is behind.
//!
//! [`BenchReport`] holds what was measured; [`BenchReport::write`] makes of it one HTML file that needs no network,
//! and beside it the same as CSV and JSON. [`measure()`] makes one. Nothing is left out that was measured: what
//! is slower than a peer stands in a section of its own, in the same type as the rest.

mod charts;
mod contents;
mod csv;
mod extent;
mod measure;
mod page;
#[cfg(test)]
mod tests;
mod workloads;
mod write;

pub use contents::{BenchReport, CountTable};
pub use extent::Extent;
pub use measure::measure;
pub use page::{Ratio, ratios, slower};
pub use write::Files;
