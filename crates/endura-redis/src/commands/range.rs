//! EN.RANGE and EN.PREFIX.

use std::ops::ControlFlow;

use super::read::INLINE;
use super::workers::read_on_a_thread;
use crate::keys::session;
use crate::redis::{Context, Text};
use crate::store::{Failure, Order, Outcome, Span, Value, how_many};

/// The part of each entry that is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Both,
    Keys,
    Values,
}

/// The options after the bounds.
struct Options {
    order: Order,
    limit: usize,
    part: Part,
}

/// Who comes from ZRANGE gives an offset as well.
const LIMIT_SYNTAX: &str = "ERR syntax error: LIMIT takes one number; go on behind the last field with (FIELD as the lower bound";

impl Options {
    fn of(mut words: &[Text]) -> Outcome<Self> {
        let mut options = Self { order: Order::Ascending, limit: usize::MAX, part: Part::Both };
        while let [word, rest @ ..] = words {
            words = rest;
            match word.bytes().to_ascii_uppercase().as_slice() {
                b"REV" => options.order = Order::Descending,
                b"KEYS" => options.part = Part::Keys,
                b"VALUES" => options.part = Part::Values,
                b"LIMIT" => {
                    let [limit, rest @ ..] = words else {
                        return Err(Failure::Says(LIMIT_SYNTAX));
                    };
                    (options.limit, words) = (how_many(limit.bytes())?, rest);
                }
                _ if options.limit != usize::MAX => return Err(Failure::Says(LIMIT_SYNTAX)),
                _ => return Err(Failure::Says("ERR syntax error")),
            }
        }
        Ok(options)
    }
}

/// `EN.RANGE key min max [REV] [LIMIT n] [KEYS|VALUES]`; with REV the higher bound comes first.
pub(crate) fn range(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    let [_, name, first, second, words @ ..] = arguments else { return Err(Failure::Arity) };
    let options = Options::of(words)?;
    let (min, max) = match options.order {
        Order::Ascending => (first, second),
        Order::Descending => (second, first),
    };
    let span = Span::between(min.bytes(), max.bytes())?;
    answer(context, name, span, options)
}

/// `EN.PREFIX key prefix [REV] [LIMIT n] [KEYS|VALUES]`.
pub(crate) fn prefix(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    let [_, name, prefix, words @ ..] = arguments else { return Err(Failure::Arity) };
    let options = Options::of(words)?;
    session().is_ready(context)?;
    let key = context.read(name);
    if key.value()?.is_some_and(|value| value.own.is_some()) {
        return Err(Failure::Says("ERR integers have no prefixes: use EN.RANGE"));
    }
    drop(key);
    answer(context, name, Some(Span::prefix(prefix.bytes())), options)
}

fn answer(context: &Context<'_>, name: &Text, span: Option<Span>, options: Options) -> Outcome {
    session().is_ready(context)?;
    let key = context.read(name);
    let (Some(value), Some(span)) = (key.value()?, span) else {
        context.array(0);
        return Ok(());
    };
    if value.own.is_some() {
        // Bounds that are not integers fail the command here. In `write`, which first starts the array of the reply,
        // the error would be an element of that array.
        session().store.entries.visit(
            value,
            &span,
            options.order,
            |_, _| ControlFlow::Break(()),
        )?;
    }
    if options.limit <= INLINE || !session().store.entries.has_more_than(value, &span, INLINE)? {
        return write(context, value, &span, &options);
    }
    let Some(value) = key.shared()? else { return Ok(()) };
    drop(key);
    read_on_a_thread(context, value, move |context, value| write(context, value, &span, &options))
}

/// Writes the entries to the reply, without a copy in between.
fn write(context: &Context<'_>, value: &Value, span: &Span, options: &Options) -> Outcome {
    let (mut left, mut written) = (options.limit, 0);
    if left == 0 {
        context.array(0);
        return Ok(());
    }
    context.array_of_unknown();
    let visited = session().store.entries.visit(value, span, options.order, |field, value| {
        if options.part != Part::Values {
            context.bulk(field);
            written += 1;
        }
        if options.part != Part::Keys {
            context.bulk(value);
            written += 1;
        }
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if let Err(failure) = &visited {
        // The array has been started, so the error becomes its last element.
        context.failure(failure);
        written += 1;
    }
    context.end_of_array(written);
    Ok(())
}
