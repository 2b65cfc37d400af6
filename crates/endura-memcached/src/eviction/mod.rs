//! What is least worth keeping, by the fetches of each key. Nothing here knows the pool: `store` evicts, and
//! `examples/policies` compares this choice with others.
//!
//! | module | what |
//! | --- | --- |
//! | `fetches` | how often keys were fetched of late |
//! | `worth` | what an item is worth, and which worth is among the least |

mod fetches;
mod worth;

pub use fetches::{Fetches, Print, faded};
pub use worth::{Sample, Worth};
