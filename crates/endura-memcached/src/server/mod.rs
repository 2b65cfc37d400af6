//! Threads and sockets.
//!
//! | module | what |
//! | --- | --- |
//! | [`limits`] | open files for all connections |
//! | [`client`] | one client's socket |
//! | [`worker`] | a thread that serves clients |
//! | [`whole`] | the server |

mod client;
mod limits;
mod whole;
mod worker;

pub use limits::{TooFewFiles, allow_connections};
pub use whole::{Config, Server};
