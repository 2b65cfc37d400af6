//! Bytes of a connection: lines, data blocks, replies.
//!
//! | module | what |
//! | --- | --- |
//! | [`command`] | a line as a command, or why it is none |
//! | [`context`] | what all connections of a thread share |
//! | [`execute`] | what each command does, and its reply |
//! | [`connection`] | bytes in, bytes out |

mod command;
mod connection;
mod context;
mod execute;
#[cfg(test)]
mod tests;

pub(crate) use connection::Connection;
pub(crate) use context::{Context, Facts};
