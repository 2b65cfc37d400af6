//! The program, by its socket.
//!
//! | module | what |
//! | --- | --- |
//! | [`program`] | starts, signals, limits, slow and silent clients |
//! | [`unix`] | the Unix socket |
//! | [`states`] | the first line for each state of a pool |
//! | [`evictions`] | a pool that is too small |
//! | [`beside`] | the same bytes to Debian's memcached, random packets included |
//! | [`clients`] | recorded dialogues of clients of several languages |
//! | [`race`] | several clients that could win one item |
//! | [`strange`] | random bytes in random packets |
//! | [`kills`] | SIGKILL under load, against a model |

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod beside;
mod clients;
mod evictions;
mod kills;
mod program;
mod race;
mod states;
mod strange;
mod support;
mod unix;
