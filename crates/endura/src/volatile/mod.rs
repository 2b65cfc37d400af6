//! The second and last door for `unsafe`: volatile state that every operation touches. Who is
//! inside an operation ([`epoch`]), which thread this is ([`thread`]), how a rare thread makes all
//! others pay for a barrier ([`barrier`]), whether this process is still the one that opened the
//! pool ([`fork`]), what a child must let go ([`held`]), what pools of one process must not do at once
//! ([`claims`]), and nodes of structures that live beside
//! the pool ([`arena`], [`lines`], [`ranks`], [`prefetch`](mod@prefetch)). And the checksum of keys
//! and values ([`checksum`]).

pub(crate) mod arena;
pub(crate) mod barrier;
pub(crate) mod checksum;
pub(crate) mod claims;
pub(crate) mod epoch;
pub(crate) mod fork;
pub(crate) mod held;
mod late;
pub(crate) mod lines;
#[cfg(all(test, loom))]
mod loom;
mod numbers;
pub(crate) mod prefetch;
pub(crate) mod ranks;
mod slots;
pub(crate) mod thread;
