//! Items in a map, and what each command does to them.

mod cas;
mod counters;
mod flush;
mod item;
mod items;
mod sweep;

pub(crate) use counters::{Counter, Counters};
pub(crate) use item::Item;
pub use items::StoreOptions;
pub(crate) use items::{Delta, Store, Stored, Stores};
pub(crate) use sweep::Sweeper;
