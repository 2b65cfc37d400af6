//! Pools from open to close, and what they tell.

mod closing;
mod events;
mod listeners;
mod read_only;
mod renames;
