//! `md`: removes an item, or makes it stale.

use std::borrow::Cow;

use super::super::context::Context;
use super::super::execute::failure;
use super::flags::Line;
use super::reply::echo;
use crate::store::{Counter, Deleted};

pub(super) const WRONG_FLAG: &str = "CLIENT_ERROR invalid or duplicate flag";

pub(super) fn run(
    rest: &[u8],
    context: &Context,
    output: &mut Vec<u8>,
) -> Result<(), Cow<'static, str>> {
    let line = Line::of(rest, "CLIENT_ERROR options flags too long")?;
    let flags = line.flags(1, context.now).map_err(|_| WRONG_FLAG)?;
    let mut reply = Vec::new();
    echo(&mut reply, &flags)?;
    let (store, now) = (context.store(), context.now);
    let deleted = match flags.invalidates {
        true => store.invalidate(&flags.key, flags.cas, flags.expiry, now),
        false => store.delete(&flags.key, flags.cas, now),
    };
    let deleted = deleted.map_err(|error| failure(&error))?;
    match deleted {
        Deleted::Yes if flags.invalidates => {}
        Deleted::Yes => context.count(Counter::DeleteHits),
        Deleted::Exists | Deleted::NotFound => context.count(Counter::DeleteMisses),
    }
    if flags.is_quiet && deleted == Deleted::Yes {
        return Ok(());
    }
    output.extend_from_slice(match deleted {
        Deleted::Yes => b"HD",
        Deleted::Exists => b"EX",
        Deleted::NotFound => b"NF",
    });
    output.extend_from_slice(&reply);
    output.extend_from_slice(b"\r\n");
    Ok(())
}
