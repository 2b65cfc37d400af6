//! TPC-C as an index sees it: its five transactions as lookups, inserts, replacements, removes and
//! range scans on eleven ordered maps from numbers to numbers. FAST & FAIR, section 6.6, compares
//! indexes by four mixes of them, [`TransactionMix::W1`] to [`TransactionMix::W4`].
//!
//! Left out, as there: logging, locks of rows, roll-backs, terminals that think. Each thread has
//! warehouses of its own; one line in a hundred of an order, and 15 payments in a hundred, belong to a
//! warehouse of any thread. What an order holds follows from its number, and the heads of the queues
//! of orders are kept in DRAM, so that almost every answer can be checked exactly.

mod keys;
mod load;
mod mix;
mod scale;
mod tables;
mod transaction;

pub use keys::{MAPS, Table};
pub use load::load;
pub use mix::TransactionMix;
pub use scale::{DISTRICTS, TpccScale};
pub use tables::Tables;
pub use transaction::run;
