//! The data in the pool: entries, and a catalogue of the keys they belong to. Nothing here calls Redis.

mod catalogue;
mod entries;
mod failure;
mod integer;
mod opened;
mod record;
mod slots;
mod spaces;
mod span;
mod steps;
mod sweeper;
mod value;
mod wording;

pub(crate) use catalogue::Place;
pub(crate) use entries::{Entries, Order, Pair, form_named};
pub(crate) use failure::{Failure, Outcome};
pub(crate) use integer::{Digits, how_many, integer};
pub(crate) use opened::Store;
pub(crate) use record::{Form, Record};
pub(crate) use slots::{SlotRanges, has_slot, slot_of};
pub(crate) use span::Span;
pub(crate) use value::{Count, Value};
pub(crate) use wording::{in_words, sentence};

#[cfg(test)]
mod tests;
