//! Commands that read fields.

use std::ops::ControlFlow;

use super::workers::read_in_turns;
use crate::keys::session;
use crate::redis::{Context, Text};
use crate::store::{Failure, Order, Outcome, Span, how_many};

/// The largest number of entries that a command reads on the thread of the server. If a command has to read more, a
/// worker thread reads them while the client waits.
pub(super) const INLINE: usize = 1_000;

/// `EN.GET key field`.
pub(crate) fn get(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    let [_, name, field] = arguments else { return Err(Failure::Arity) };
    session().is_ready(context)?;
    let key = context.read(name);
    let found = match key.value()? {
        Some(value) => {
            let entries = &session().store.entries;
            entries.get_with(value, field.bytes(), |value| context.bulk(value))?
        }
        None => None,
    };
    if found.is_none() {
        context.nil();
    }
    Ok(())
}

/// `EN.MGET key field [field ...]`.
pub(crate) fn mget(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    let [_, name, fields @ ..] = arguments else { return Err(Failure::Arity) };
    if fields.is_empty() {
        return Err(Failure::Arity);
    }
    session().is_ready(context)?;
    let key = context.read(name);
    let value = key.value()?;
    let mut found = Vec::with_capacity(fields.len());
    for field in fields {
        found.push(match value {
            Some(value) => session().store.entries.get(value, field.bytes())?,
            None => None,
        });
    }
    context.array(found.len());
    for value in found {
        match value {
            Some(value) => context.bulk(&value),
            None => context.nil(),
        }
    }
    Ok(())
}

/// `EN.COUNT key`: replies at once if the count is known. If it is not, a worker thread counts the entries. In a
/// transaction or a script, where clients cannot wait, this thread counts them.
pub(crate) fn count(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    let [_, name] = arguments else { return Err(Failure::Arity) };
    session().is_ready(context)?;
    let key = context.read(name);
    let Some(value) = key.shared()? else {
        context.integer(0);
        return Ok(());
    };
    if let Some(entries) = value.count.known().filter(|_| value.own.is_none()) {
        context.integer(entries);
        return Ok(());
    }
    drop(key);
    if !context.can_block() {
        context.integer(session().store.entries.count_now(&value)?);
        return Ok(());
    }
    read_in_turns(context, value, |context, value| {
        let counted = session().store.entries.step_of_count(value)?;
        counted.into_iter().for_each(|entries| context.integer(entries));
        Ok(counted.is_none())
    })
}

/// `EN.SCAN key cursor [COUNT n]`: the cursor 0 starts a scan, and is returned at its end. Any other cursor is `(` and the
/// last field of a page. The count is a hint, as in Redis' own SCAN commands: a page has at most [`INLINE`] entries, so
/// that it does not hold up other clients.
pub(crate) fn scan(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    let (name, cursor, count) = match arguments {
        [_, name, cursor] => (name, cursor, 10),
        [_, name, cursor, word, count] if word.bytes().eq_ignore_ascii_case(b"COUNT") => {
            (name, cursor, how_many(count.bytes())?.min(INLINE))
        }
        [_, _, _, _, _] => return Err(Failure::Says("ERR syntax error")),
        _ => return Err(Failure::Arity),
    };
    if count == 0 {
        return Err(Failure::Says("ERR syntax error"));
    }
    let span = match cursor.bytes() {
        b"0" => Span::ALL,
        [b'(', field @ ..] => Span::behind(field),
        _ => return Err(Failure::Says("ERR invalid cursor")),
    };
    session().is_ready(context)?;
    let key = context.read(name);
    let (mut page, mut has_more) = (Vec::new(), false);
    if let Some(value) = key.value()? {
        session().store.entries.visit(value, &span, Order::Ascending, |field, value| {
            has_more = page.len() == count;
            if has_more {
                return ControlFlow::Break(());
            }
            page.push((field.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        })?;
    }
    context.array(2);
    match page.last().filter(|_| has_more) {
        Some((field, _)) => context.bulk(&[b"(", field.as_slice()].concat()),
        None => context.bulk(b"0"),
    }
    context.array(2 * page.len());
    for (field, value) in &page {
        context.bulk(field);
        context.bulk(value);
    }
    Ok(())
}
