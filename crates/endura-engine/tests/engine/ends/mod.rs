//! What is said of the ends of a map, and of its length, is true of one moment.

mod both;
mod deep;
mod handshake;
mod lens;
pub(crate) mod one_moment;
mod pops;
