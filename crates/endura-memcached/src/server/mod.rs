//! Threads and sockets.
//!
//! | module | what |
//! | --- | --- |
//! | [`checkpoints`] | sentences about checkpoints that fail |
//! | [`limits`] | the limit on open files |
//! | [`client`] | one client's socket |
//! | [`inbox`] | clients that wait for a thread |
//! | [`worker`] | a thread that serves clients |
//! | [`whole`] | the server |

mod checkpoints;
mod client;
mod inbox;
mod limits;
mod whole;
mod worker;

pub use limits::{TooFewFiles, allow_connections};
pub use whole::{Config, Server};
