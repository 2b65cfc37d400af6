//! `mg`: shows an item, changes its time of expiry, makes it if it is absent, and chooses the client that fetches new
//! data.

use std::borrow::Cow;

use super::super::context::Context;
use super::super::execute::{failure, is_full};
use super::flags::{Flags, Line};
use super::reply::{echo, flag, is_binary, key, time_left, word};
use crate::clock::Expiry;
use crate::store::{Counter, Item, Uses};

pub(super) fn run(
    rest: &[u8],
    context: &Context,
    output: &mut Vec<u8>,
) -> Result<(), Cow<'static, str>> {
    let line = Line::of(rest, "CLIENT_ERROR options flags are too long")?;
    let flags = line.flags(1, context.now)?;
    let (start, now, makes) = (output.len(), context.now, flags.vivify.is_some());
    let unused = Uses { was_fetched: false, last: now };
    let uses = match has(&flags, |letter| matches!(letter, b'h' | b'l')) {
        true => context.store().uses(&flags.key, now),
        false => unused,
    };
    let mut shown = Ok(());
    let found = context.store().visit(&flags.key, makes, now, |item, is_new| {
        // The item is shown again if another client has changed it meanwhile.
        output.truncate(start);
        let found = Found { is_new, uses: if is_new { unused } else { uses } };
        shown = show(output, &flags, item, found, now);
    });
    count(&flags, matches!(found, Ok(true)), context);
    let found = found.or_else(|error| {
        output.truncate(start);
        // As with memcached, an item for which there is no space is absent.
        if is_full(&error) { Ok(false) } else { Err(failure(&error)) }
    })?;
    if found {
        // memcached counts the fetch after it has shown the item, and so not after a refusal, if a flag needs the item
        // as it was before.
        if !flags.leaves_no_trace && (shown.is_ok() || !needs_lock(&flags)) {
            context.store().was_fetched(&flags.key, now);
        }
    } else {
        output.extend_from_slice(b"EN");
        shown = echo(output, &flags);
        output.extend_from_slice(b"\r\n");
        if flags.is_quiet && shown.is_ok() {
            output.truncate(start);
        }
    }
    shown.map_err(|refusal| {
        output.truncate(start);
        refusal.into()
    })
}

fn count(flags: &Flags<'_>, found: bool, context: &Context) {
    let (all, hits, misses) = match flags.expiry {
        Some(_) => (Counter::Touch, Counter::TouchHits, Counter::TouchMisses),
        None => (Counter::Get, Counter::GetHits, Counter::GetMisses),
    };
    context.count(all);
    context.count(if found { hits } else { misses });
}

fn has(flags: &Flags<'_>, is_one: impl Fn(u8) -> bool) -> bool {
    flags.all.iter().any(|flag| is_one(flag.letter()))
}

/// Whether a flag needs the item as it was before.
fn needs_lock(flags: &Flags<'_>) -> bool {
    has(flags, |letter| matches!(letter, b'N' | b'T' | b'R' | b'l' | b'h'))
}

/// How an item was found.
#[derive(Clone, Copy)]
struct Found {
    /// This `mg` has made it.
    is_new: bool,
    uses: Uses,
}

/// Shows an item. A flag that changes the item counts from its place on. So a refusal keeps what stands before it.
fn show(
    output: &mut Vec<u8>,
    flags: &Flags<'_>,
    item: &mut Item<'_>,
    found: Found,
    now: u32,
) -> Result<(), &'static str> {
    if flags.with_value {
        output.extend_from_slice(format!("VA {}", item.data.len()).as_bytes());
    } else {
        output.extend_from_slice(b"HD");
    }
    let mut wins = false;
    for each in &flags.all {
        match each.letter() {
            b'T' => item.expiry = flags.expiry.unwrap_or(item.expiry),
            b'N' if found.is_new => {
                item.expiry = flags.vivify.unwrap_or(item.expiry);
                wins = true;
            }
            b'R' if !found.is_new && !item.marks.was_won => {
                let Expiry(at) = item.expiry;
                wins |= at != 0 && flags.recache.is_some_and(|Expiry(bound)| at < bound);
            }
            b's' => flag(output, 's', item.data.len()),
            b't' => time_left(output, item.expiry, now),
            b'c' => flag(output, 'c', item.cas),
            b'f' => flag(output, 'f', item.flags),
            b'l' => flag(output, 'l', now.saturating_sub(found.uses.last)),
            b'h' => flag(output, 'h', u8::from(found.uses.was_fetched)),
            b'O' => word(output, each.opaque()?),
            b'k' => key(output, &flags.key, is_binary(&flags.key, item.marks.has_binary_key)),
            _ => {}
        }
    }
    if item.marks.was_won {
        output.extend_from_slice(b" Z");
    }
    if item.marks.is_stale {
        output.extend_from_slice(b" X");
        wins |= !item.marks.was_won;
    }
    if wins {
        output.extend_from_slice(b" W");
        item.marks.was_won = true;
    }
    output.extend_from_slice(b"\r\n");
    if flags.with_value {
        output.extend_from_slice(item.data);
        output.extend_from_slice(b"\r\n");
    }
    Ok(())
}
