//! The meta protocol: commands of two letters, flags of one letter with an argument each, and replies in two letters and
//! the flags that were asked for. The order of its checks, and the moment of each effect, are those of memcached 1.6.18.
//!
//! | module | what |
//! | --- | --- |
//! | [`base64`] | keys with any bytes |
//! | [`flags`] | parses a line into its key and its flags |
//! | [`reply`] | the parts of a reply |
//! | [`get`] | `mg` |
//! | [`set`] | `ms` |
//! | [`delete`] | `md` |
//! | [`arithmetic`] | `ma` |
//! | [`debug`] | `me` |
//! | [`run`] | one of these commands, by its name |

mod arithmetic;
mod base64;
mod debug;
mod delete;
mod flags;
mod get;
mod reply;
mod run;
mod set;

pub(super) use run::run;
pub(super) use set::{MetaSet, Next};
