//! EN.RANGE and EN.PREFIX.

use std::ops::{Bound, ControlFlow};

use super::read::INLINE;
use super::workers::read_in_turns;
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
    let mut reply = Reply::new(span, options);
    if reply.left <= INLINE || !session().store.entries.has_more_than(value, &reply.span, INLINE)? {
        reply.write(context, value, usize::MAX)?;
        return Ok(());
    }
    let Some(value) = key.shared()? else { return Ok(()) };
    drop(key);
    reply.most = longest_reply(context);
    read_in_turns(context, value, move |context, value| reply.write(context, value, TURN))
}

/// The number of entries that one turn of a long reply writes, which takes some milliseconds.
const TURN: usize = 10_000;

/// The number of bytes above which the server disconnects a client whose reply waits to be sent: the hard limit of
/// `client-output-buffer-limit normal`.
fn longest_reply(context: &Context<'_>) -> usize {
    let name = b"client-output-buffer-limit";
    let texts = context.call(c"CONFIG", &[b"GET", name]).unwrap_or_default();
    let mut words =
        texts.iter().flat_map(|text| text.split(' ')).skip_while(|word| *word != "normal");
    let limit = words.nth(1).and_then(|word| word.parse().ok());
    limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX)
}

/// A reply that is being written, without a copy of entries in between.
struct Reply {
    /// What is left of the range.
    span: Span,
    order: Order,
    part: Part,
    left: usize,
    /// The number of bytes that the client may get.
    most: usize,
    bytes: usize,
    /// The number of elements written; `None` before the array has been started.
    written: Option<usize>,
}

impl Reply {
    fn new(span: Span, options: Options) -> Self {
        let Options { order, limit: left, part } = options;
        Self { span, order, part, left, most: usize::MAX, bytes: 0, written: None }
    }

    /// Writes the next entries, `turn` at most. Returns whether there are more.
    fn write(&mut self, context: &Context<'_>, value: &Value, turn: usize) -> Outcome<bool> {
        let mut written = self.written.unwrap_or_else(|| {
            context.array_of_unknown();
            0
        });
        let (mut last, mut turn, most) = (None, turn.min(self.left), self.most);
        let is_empty = turn == 0;
        let visit = |field: &[u8], value: &[u8]| {
            if self.part != Part::Values {
                context.bulk(field);
                (written, self.bytes) = (written + 1, self.bytes + field.len());
            }
            if self.part != Part::Keys {
                context.bulk(value);
                (written, self.bytes) = (written + 1, self.bytes + value.len());
            }
            self.left -= 1;
            turn -= 1;
            if turn > 0 && self.bytes <= most {
                return ControlFlow::Continue(());
            }
            last = Some(field.to_vec());
            ControlFlow::Break(())
        };
        let visited = if is_empty {
            Ok(())
        } else {
            session().store.entries.visit(value, &self.span, self.order, visit)
        };
        let has_all = visited.is_err() || self.left == 0 || last.is_none();
        if !has_all && self.bytes <= self.most {
            let end = last.map_or(Bound::Unbounded, Bound::Excluded);
            match self.order {
                Order::Ascending => self.span.from = end,
                Order::Descending => self.span.to = end,
            }
            self.written = Some(written);
            return Ok(true);
        }
        // The array has been started, so an error becomes its last element.
        if let Err(failure) = &visited {
            context.failure(failure);
            written += 1;
        } else if !has_all {
            // The server disconnects the client, so it need not hold the rest.
            context
                .failure(&Failure::Says("ERR endura: a reply above `client-output-buffer-limit`"));
            written += 1;
        }
        context.end_of_array(written);
        Ok(false)
    }
}
