//! `ma`: adds to a number, or subtracts from it.

use std::borrow::Cow;

use super::super::context::Context;
use super::super::execute::{NOT_A_NUMBER, count_sum, failure};
use super::delete::WRONG_FLAG;
use super::flags::{Flags, Line};
use super::reply::{echo, flag, key, time_left, word};
use crate::store::{Delta, Item, Sum};

pub(super) fn run(
    rest: &[u8],
    context: &Context,
    output: &mut Vec<u8>,
) -> Result<(), Cow<'static, str>> {
    let line = Line::of(rest, "CLIENT_ERROR options flags too long")?;
    let flags = line.flags(1, context.now).map_err(|_| WRONG_FLAG)?;
    let is_less = match flags.mode {
        None | Some(b'I' | b'+') => false,
        Some(b'D' | b'-') => true,
        Some(_) => return Err("CLIENT_ERROR invalid mode for ma M token".into()),
    };
    let sum = Sum {
        delta: flags.delta.unwrap_or(1),
        is_less,
        cas: flags.cas.unwrap_or(0),
        initial: flags.vivify.map(|_| flags.initial),
    };
    let (start, now) = (output.len(), context.now);
    let mut shown = Ok(());
    let outcome = context.store().add(&flags.key, sum, now, |item, delta| {
        output.truncate(start);
        shown = show(output, &flags, item, delta, now);
    });
    if outcome.is_err() {
        output.truncate(start);
    }
    let outcome = outcome.map_err(|error| failure(&error))?;
    count_sum(outcome, is_less, context);
    match outcome {
        Delta::Is(_) | Delta::IsNew(_) => {}
        Delta::NotANumber => return Err(NOT_A_NUMBER.into()),
        Delta::NotFound | Delta::Exists => {
            output.extend_from_slice(if outcome == Delta::NotFound { b"NF" } else { b"EX" });
            shown = echo(output, &flags);
            output.extend_from_slice(b"\r\n");
        }
    }
    if shown.is_err() || flags.is_quiet && matches!(outcome, Delta::Is(_)) {
        output.truncate(start);
    }
    shown.map_err(Into::into)
}

/// Shows the new number. A refusal keeps the number, and the time of expiry if its flag stands before.
fn show(
    output: &mut Vec<u8>,
    flags: &Flags<'_>,
    item: &mut Item<'_>,
    delta: Delta,
    now: u32,
) -> Result<(), &'static str> {
    let (Delta::Is(number) | Delta::IsNew(number)) = delta else { return Ok(()) };
    // The item may have blanks after the number, which the client does not get.
    let text = number.to_string();
    if flags.with_value {
        output.extend_from_slice(format!("VA {}", text.len()).as_bytes());
    } else {
        output.extend_from_slice(b"HD");
    }
    for each in &flags.all {
        match each.letter() {
            b'c' => flag(output, 'c', item.cas),
            b't' => time_left(output, item.expiry, now),
            b'T' => item.expiry = flags.expiry.unwrap_or(item.expiry),
            b'N' if matches!(delta, Delta::IsNew(_)) => {
                item.expiry = flags.vivify.unwrap_or(item.expiry);
            }
            b'O' => word(output, each.opaque()?),
            b'k' => key(output, &flags.key, flags.has_binary_key),
            _ => {}
        }
    }
    output.extend_from_slice(b"\r\n");
    if flags.with_value {
        output.extend_from_slice(text.as_bytes());
        output.extend_from_slice(b"\r\n");
    }
    Ok(())
}
