//! Runs a command of the meta protocol, by its name.

use super::super::command::ERROR;
use super::super::context::Context;
use super::super::execute::line;
use super::set::Next;
use super::{arithmetic, debug, delete, get, set};

/// Runs a command. `rest` is the line after its name.
pub(in super::super) fn run(
    name: &[u8],
    rest: &[u8],
    context: &Context,
    output: &mut Vec<u8>,
) -> Next {
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
