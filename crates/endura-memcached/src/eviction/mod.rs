//! What is least worth keeping, by the fetches of each key. Nothing here knows the pool: `store` evicts, and
//! `examples/policies` compares this choice with others.
//!
//! | module | what |
//! | --- | --- |
//! | [`fetches`] | how often keys were fetched of late |
//! | [`worth`] | what an item is worth, and which worth is among the least |

mod fetches;
mod worth;

pub use fetches::{Fetches, Print};
pub use worth::{Sample, Worth};

/// How often as many items are evicted as there are before all counters are halved once.
const TURNS: f64 = 4.0;

/// The share of the counters that is halved for an item that is evicted from `items` items.
pub fn faded(items: usize) -> f64 {
    1.0 / TURNS / items.max(1) as f64
}
