//! What one operation asks of its medium and of the processor, what the hardware takes at least, and
//! what a crash and checkpoints cost.

pub mod batches;
pub mod chain;
pub mod checkpoints;
pub mod counts;
pub mod floor;
pub mod instructions;
pub mod recovery;
mod string_scans;
pub mod which;
