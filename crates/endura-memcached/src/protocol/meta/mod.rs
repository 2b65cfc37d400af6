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

mod arithmetic;
mod base64;
mod debug;
mod delete;
mod flags;
mod get;
mod reply;
mod set;

pub(super) use set::MetaSet;

use super::command::{BAD_FORMAT, ERROR};
use super::context::Context;
use super::execute::line;

/// What follows a line of the meta protocol.
#[derive(Debug)]
pub(super) enum Next {
    /// The next line.
    Line,
    /// The data block of this `ms`.
    Data(MetaSet),
    /// A data block with so many bytes, its end included, that is not stored.
    Refused(usize),
}

/// Whether this is the name of a meta command.
pub(super) fn is_meta(name: &[u8]) -> bool {
    matches!(name, b"mg" | b"ms" | b"md" | b"ma" | b"mn" | b"me")
}

/// Runs a command. `rest` is the line after its name.
pub(super) fn run(name: &[u8], rest: &[u8], context: &Context, output: &mut Vec<u8>) -> Next {
    let outcome = match name {
        b"ms" => return set::begin(rest, context, output),
        b"mg" => get::run(rest, context, output),
        b"md" => delete::run(rest, context, output),
        b"ma" => arithmetic::run(rest, context, output),
        b"mn" => {
            line(output, "MN");
            Ok(())
        }
        b"me" => debug::run(rest, context, output),
        _ => Err(ERROR.into()),
    };
    if let Err(refusal) = outcome {
        line(output, &refusal);
    }
    Next::Line
}

/// The refusal of a line with a NUL, which memcached takes for its end. It would take one key for another.
fn without_nul(rest: &[u8]) -> Result<(), &'static str> {
    if rest.contains(&0) { Err(BAD_FORMAT) } else { Ok(()) }
}
