//! Threads and sockets.
//!
//! | module | what |
//! | --- | --- |
//! | [`checkpoints`] | sentences about checkpoints that fail |
//! | [`limits`] | the limit on open files |
//! | [`socket`] | sockets of TCP, and Unix sockets |
//! | [`client`] | one client's socket |
//! | [`inbox`] | clients that wait for a thread |
//! | [`worker`] | a thread that serves clients |
//! | [`whole`] | the server |

mod checkpoints;
mod client;
mod inbox;
mod limits;
mod socket;
mod whole;
mod worker;

pub use limits::{TooFewFiles, allow_connections};
pub use socket::Listener;
pub use whole::{Config, Server};
