//! Items in a map, and the effect of each command on them.
//!
//! | module | what |
//! | --- | --- |
//! | [`item`] | the layout of an item |
//! | [`cas`] | the unique numbers of stores |
//! | [`flush`] | epochs, which `flush_all` ends |
//! | [`counters`] | figures for `stats` |
//! | [`seen`] | when items were used, in memory only |
//! | [`items`] | the map |
//! | [`commands`] | the commands in terms of that change |
//! | [`levels`] | how much room the pool has, of each kind |
//! | [`hand`] | walks the items, and evicts some |
//! | [`windows`] | clears stretches of the pool |
//! | [`evictions`] | the state of evictions |
//! | [`search`] | what a store does that finds no room |
//! | [`changes`] | the atomic change of one item, for which there is room |
//! | [`remembered`] | the copy of the counters of fetches in the pool |
//! | [`evictor`] | the thread that evicts before there is none |
//! | [`sweep`] | the thread that removes dead items |

mod cas;
mod changes;
mod commands;
mod counters;
mod evictions;
mod evictor;
mod flush;
mod hand;
mod item;
mod items;
mod levels;
#[cfg(test)]
mod races;
mod remembered;
mod search;
mod seen;
mod sweep;
#[cfg(test)]
mod tests;
mod windows;

pub(crate) use commands::{Deleted, Delta, Stored, Stores, Sum};
pub(crate) use counters::{Counter, Counters};
pub(crate) use evictor::Evictor;
pub(crate) use item::{About, Item};
pub(crate) use items::Store;
pub use items::{MAX_ITEM, StoreOptions};
pub(crate) use seen::Uses;
pub(crate) use sweep::Sweeper;
