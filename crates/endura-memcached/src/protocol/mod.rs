//! The bytes of a connection: lines, data blocks, replies.
//!
//! | module | what |
//! | --- | --- |
//! | [`context`] | what the connections of a thread share |
//! | [`command`] | a line as a command, or its refusal |
//! | [`execute`] | the commands and their replies |
//! | [`stats`] | the reply to `stats` |
//! | [`connection`] | bytes in, bytes out |

mod command;
mod connection;
mod context;
mod execute;
mod stats;
#[cfg(test)]
mod tests;

pub(crate) use connection::{Connection, TURN};
pub(crate) use context::{Context, Facts};
