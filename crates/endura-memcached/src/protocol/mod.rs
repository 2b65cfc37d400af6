//! The bytes of a connection: lines, data blocks, replies.
//!
//! | module | what |
//! | --- | --- |
//! | [`context`] | the state that the connections of a thread share |
//! | [`command`] | a command, and the words of its line |
//! | [`parse`] | parses a line into a command, or a refusal |
//! | [`tune`] | commands that concern memcached's memory |
//! | [`execute`] | the commands and their replies |
//! | [`meta`] | the meta protocol |
//! | [`stats`] | the reply to `stats` |
//! | [`connection`] | a connection without its socket: bytes in, bytes out |

mod command;
mod connection;
mod context;
mod execute;
mod meta;
mod parse;
mod stats;
#[cfg(test)]
mod tests;
mod tune;

pub(crate) use connection::{Connection, TURN};
pub(crate) use context::{Context, Facts};
