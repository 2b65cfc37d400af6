//! The second and last door for `unsafe`: volatile state that every operation touches. Who is
//! inside an operation ([`epoch`]), which thread this is ([`thread`]), how a rare thread makes all
//! others pay for a barrier ([`barrier`]), whether this process is still the one that opened the
//! pool ([`fork`]), and what a child must let go ([`held`]).

pub(crate) mod barrier;
pub(crate) mod epoch;
pub(crate) mod fork;
pub(crate) mod held;
pub(crate) mod thread;
