//! The bytes of a connection: lines, data blocks, replies.
//!
//! | module | what |
//! | --- | --- |
//! | [`context`] | the state that the connections of a thread share |
//! | [`command`] | parses a line into a command, or a refusal |
//! | [`execute`] | the commands and their replies |
//! | [`stats`] | the reply to `stats` |
//! | [`connection`] | a connection without its socket: bytes in, bytes out |

mod command;
mod connection;
mod context;
mod execute;
mod stats;
#[cfg(test)]
mod tests;

pub(crate) use connection::{Connection, TURN};
pub(crate) use context::{Context, Facts};
