//! The commands and their replies.

use std::borrow::Cow;
use std::io::Write;

use endura::Error;

use super::command::{Command, ERROR, next_word};
use super::context::Context;
use super::stats::{VERSION, stats};
use crate::clock::Expiry;
use crate::store::{About, Counter, Deleted, Delta, Item, Stored, Stores, Sum};
use crate::wording::sentence;

pub(super) const TOO_LARGE: &str = "SERVER_ERROR object too large for cache";
pub(super) const NOT_A_NUMBER: &str =
    "CLIENT_ERROR cannot increment or decrement non-numeric value";

/// Whether the pool has no space.
pub(super) fn is_full(error: &Error) -> bool {
    matches!(error, Error::Full { .. } | Error::ReclaimStalled { .. })
}

/// The reply to a failure of the pool.
pub(super) fn failure(error: &Error) -> Cow<'static, str> {
    match error {
        _ if is_full(error) => "SERVER_ERROR out of memory storing object".into(),
        Error::ValueTooLong { .. } => TOO_LARGE.into(),
        // A reply is one line.
        _ => format!("SERVER_ERROR {}", sentence(error).replace(['\r', '\n'], " ")).into(),
    }
}

/// Adds a line to the output.
pub(super) fn line(output: &mut Vec<u8>, text: &str) {
    output.extend_from_slice(text.as_bytes());
    output.extend_from_slice(b"\r\n");
}

/// Writes an item as `get` shows it.
fn show(output: &mut Vec<u8>, key: &[u8], item: Item<'_>, with_cas: bool) {
    output.extend_from_slice(b"VALUE ");
    output.extend_from_slice(key);
    // Writing to a vector does not fail.
    let _ = write!(output, " {} {}", item.flags, item.data.len());
    if with_cas {
        let _ = write!(output, " {}", item.cas);
    }
    output.extend_from_slice(b"\r\n");
    output.extend_from_slice(item.data);
    output.extend_from_slice(b"\r\n");
}

/// Looks up keys while the output has at most `most` bytes and the turn lasts. Returns where the remaining keys start, or
/// none if the reply is complete.
pub(super) fn get(
    keys: &[u8],
    how: (bool, Option<Expiry>),
    context: &Context,
    output: &mut Vec<u8>,
    (most, turn): (usize, &mut usize),
) -> Option<usize> {
    let mut at = 0;
    while let Some((start, end)) = next_word(keys, at) {
        if at > 0 && (output.len() > most || *turn == 0) {
            return Some(at);
        }
        if let Err(reply) = get_one(&keys[start..end], how, context, output) {
            line(output, &reply);
            return None;
        }
        at = end;
        *turn = turn.saturating_sub(1);
    }
    line(output, "END");
    None
}

fn get_one(
    key: &[u8],
    (with_cas, expiry): (bool, Option<Expiry>),
    context: &Context,
    output: &mut Vec<u8>,
) -> Result<(), Cow<'static, str>> {
    context.count(Counter::Get);
    let (store, now, start) = (context.store(), context.now, output.len());
    let found = match expiry {
        None => store.get(key, now, |item| show(output, key, item, with_cas)),
        Some(expiry) => {
            context.count(Counter::Touch);
            // The item is shown again if another client stores it meanwhile.
            let shown = store.touch(key, expiry, now, |item| {
                output.truncate(start);
                show(output, key, item, with_cas);
            });
            let is_there = matches!(shown, Ok(true));
            context.count(if is_there { Counter::TouchHits } else { Counter::TouchMisses });
            if !is_there {
                output.truncate(start);
            }
            shown
        }
    };
    let found = found.map_err(|error| failure(&error))?;
    context.count(if found { Counter::GetHits } else { Counter::GetMisses });
    Ok(())
}

/// Stores an item; returns the reply to a classic command.
pub(super) fn store(
    how: Stores,
    key: &[u8],
    about: About,
    data: &[u8],
    context: &Context,
) -> Cow<'static, str> {
    match stored(how, key, about, data, context) {
        Ok(Stored::Yes(_)) => "STORED".into(),
        Ok(Stored::No) => "NOT_STORED".into(),
        Ok(Stored::Exists) => "EXISTS".into(),
        Ok(Stored::NotFound) => "NOT_FOUND".into(),
        Err(failure) => {
            if how == Stores::Set {
                forget(key, context);
            }
            failure
        }
    }
}

/// Stores an item, and counts that.
pub(super) fn stored(
    how: Stores,
    key: &[u8],
    about: About,
    data: &[u8],
    context: &Context,
) -> Result<Stored, Cow<'static, str>> {
    context.count(Counter::Set);
    let stored = context.store().store(how, key, about, data, context.now);
    if let (Stores::Cas(_) | Stores::CasOrStale(_), Ok(stored)) = (how, &stored) {
        context.count(match stored {
            Stored::Yes(_) => Counter::CasHits,
            Stored::NotFound => Counter::CasMisses,
            _ => Counter::CasBadval,
        });
    }
    if let Ok(Stored::Yes(_)) = stored {
        context.count(Counter::TotalItems);
    }
    stored.map_err(|error| failure(&error))
}

/// Removes an item whose new data could not be stored, as memcached does: the client believes that the old data is gone.
pub(super) fn forget(key: &[u8], context: &Context) {
    // If the removal fails too, the reply is the first failure.
    let _ = context.store().delete(key, None, context.now);
}

/// Runs a command that has no data block and shows no items.
pub(super) fn run(command: Command<'_>, context: &Context, output: &mut Vec<u8>) {
    let (reply, is_quiet) = match command {
        Command::Delete { key, is_quiet } => (delete(key, context), is_quiet),
        Command::Add { key, delta, is_less, is_quiet } => {
            (add(key, delta, is_less, context), is_quiet)
        }
        Command::Touch { key, time, is_quiet } => (touch(key, time, context), is_quiet),
        Command::Flush { delay, is_quiet } => (flush(delay, context), is_quiet),
        Command::Verbosity { is_quiet } => ("OK".into(), is_quiet),
        Command::Version => (format!("VERSION {VERSION}").into(), false),
        Command::Stats(what) => return stats(what, context, output),
        Command::Tune { reply, is_quiet } => (reply.into(), is_quiet),
        // The connection itself runs these commands.
        Command::Get { .. } | Command::Store(_) | Command::Meta { .. } | Command::Quit => {
            (ERROR.into(), false)
        }
    };
    if !is_quiet {
        line(output, &reply);
    }
}

fn delete(key: &[u8], context: &Context) -> Cow<'static, str> {
    match context.store().delete(key, None, context.now) {
        Ok(Deleted::Yes) => {
            context.count(Counter::DeleteHits);
            "DELETED".into()
        }
        Ok(Deleted::Exists | Deleted::NotFound) => {
            context.count(Counter::DeleteMisses);
            "NOT_FOUND".into()
        }
        Err(error) => failure(&error),
    }
}

fn add(key: &[u8], delta: u64, is_less: bool, context: &Context) -> Cow<'static, str> {
    let sum = Sum { delta, is_less, cas: 0, initial: None };
    let outcome = match context.store().add(key, sum, context.now, |_, _| ()) {
        Ok(outcome) => outcome,
        Err(error) => return failure(&error),
    };
    count_sum(outcome, is_less, context);
    match outcome {
        Delta::Is(number) | Delta::IsNew(number) => number.to_string().into(),
        Delta::NotFound | Delta::Exists => "NOT_FOUND".into(),
        Delta::NotANumber => NOT_A_NUMBER.into(),
    }
}

/// Counts an addition.
pub(super) fn count_sum(outcome: Delta, is_less: bool, context: &Context) {
    let [hit, miss] = match is_less {
        false => [Counter::IncrHits, Counter::IncrMisses],
        true => [Counter::DecrHits, Counter::DecrMisses],
    };
    match outcome {
        Delta::Is(_) => context.count(hit),
        Delta::NotFound => context.count(miss),
        Delta::IsNew(_) => context.count(Counter::TotalItems),
        Delta::Exists | Delta::NotANumber => {}
    }
}

fn touch(key: &[u8], time: i64, context: &Context) -> Cow<'static, str> {
    context.count(Counter::Touch);
    let expiry = Expiry::from_client(time, context.now);
    match context.store().touch(key, expiry, context.now, |_| ()) {
        Ok(true) => {
            context.count(Counter::TouchHits);
            "TOUCHED".into()
        }
        Ok(false) => {
            context.count(Counter::TouchMisses);
            "NOT_FOUND".into()
        }
        Err(error) => failure(&error),
    }
}

fn flush(delay: i64, context: &Context) -> Cow<'static, str> {
    context.count(Counter::Flush);
    // memcached removes what is older than the second before the time, from that second on.
    let at = Expiry::from_client(delay, context.now).0.saturating_sub(1);
    let at = (at > context.now).then_some(at);
    match context.store().flush_all(at) {
        Ok(()) => "OK".into(),
        Err(error) => failure(&error),
    }
}
