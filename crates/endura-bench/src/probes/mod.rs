//! What one operation asks of its medium and of the processor, what the hardware takes at least, and
//! what a crash costs.

pub mod chain;
pub mod counts;
pub mod floor;
pub mod instructions;
pub mod recovery;
mod string_scans;
