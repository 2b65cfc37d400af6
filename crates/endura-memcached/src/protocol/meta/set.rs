//! `ms`: stores an item.

use super::super::command::{BAD_CHUNK, BAD_FORMAT, length_of_data};
use super::super::context::Context;
use super::super::execute::{self, TOO_LARGE, line};
use super::flags::{Flags, Line};
use super::reply::{flag, key, word};
use crate::clock::Expiry;
use crate::store::{About, Stored, Stores};

/// What follows a line of the meta protocol.
#[derive(Debug)]
pub(in super::super) enum Next {
    /// The next line.
    Line,
    /// The data block of this `ms`.
    Data(MetaSet),
    /// A data block with so many bytes, its end included, that is not stored.
    Refused(usize),
}

/// An `ms` that waits for its data block.
#[derive(Debug)]
pub(in super::super) struct MetaSet {
    pub(in super::super) bytes: usize,
    how: Stores,
    key: Vec<u8>,
    about: About,
    /// The parts of the reply that repeat the request or tell of the store, in their order.
    echo: Vec<Echo>,
    is_quiet: bool,
}

#[derive(Debug)]
enum Echo {
    Opaque(Vec<u8>),
    Key,
    Cas,
}

/// Reads the line. Once the length of the data is known, the data of an `ms` that is refused is skipped.
pub(super) fn begin(rest: &[u8], context: &Context, output: &mut Vec<u8>) -> Next {
    let parsed = Line::of(rest, "CLIENT_ERROR options flags too long").and_then(|line| {
        let bytes = line.length().and_then(length_of_data).ok_or(BAD_FORMAT)?;
        Ok((line, bytes))
    });
    let (words, bytes) = match parsed {
        Ok(parsed) => parsed,
        Err(refusal) => {
            line(output, refusal);
            return Next::Line;
        }
    };
    let request = words.flags(2, context.now).and_then(|flags| MetaSet::of(&flags, bytes));
    let refusal = match request {
        Ok(request) if bytes <= context.store().max_item() => return Next::Data(request),
        Ok(request) => {
            execute::forget(&request.key, context);
            TOO_LARGE
        }
        Err(refusal) => refusal,
    };
    line(output, refusal);
    Next::Refused(bytes + 2)
}

impl MetaSet {
    fn of(flags: &Flags<'_>, bytes: usize) -> Result<Self, &'static str> {
        let (mut echo, mut refusal) = (Vec::new(), Ok(()));
        for each in &flags.all {
            match each.letter() {
                b'O' => match each.opaque() {
                    Ok(opaque) => echo.push(Echo::Opaque(opaque.to_vec())),
                    Err(long) => refusal = Err(long),
                },
                b'k' => echo.push(Echo::Key),
                b'c' => echo.push(Echo::Cas),
                _ => {}
            }
        }
        let how = how(flags)?;
        refusal?;
        let (is_quiet, has_binary_key) = (flags.is_quiet, flags.has_binary_key);
        let expiry = flags.expiry.unwrap_or(Expiry(0));
        let about = About { flags: flags.flags, expiry, has_binary_key };
        Ok(Self { bytes, how, key: flags.key.to_vec(), about, echo, is_quiet })
    }

    /// Stores the data; `is_whole` says whether the block ends where it should.
    pub(in super::super) fn end(
        self,
        data: &[u8],
        is_whole: bool,
        context: &Context,
        output: &mut Vec<u8>,
    ) {
        if !is_whole {
            return line(output, BAD_CHUNK);
        }
        let stored = match execute::stored(self.how, &self.key, self.about, data, context) {
            Ok(stored) => stored,
            Err(failure) => {
                execute::forget(&self.key, context);
                return line(output, &failure);
            }
        };
        let (code, cas) = match stored {
            Stored::Yes(_) if self.is_quiet => return,
            Stored::Yes(cas) => ("HD", cas),
            Stored::Exists => ("EX", 0),
            Stored::NotFound => ("NF", 0),
            Stored::No => ("NS", 0),
        };
        output.extend_from_slice(code.as_bytes());
        for each in &self.echo {
            match each {
                Echo::Opaque(opaque) => word(output, opaque),
                Echo::Key => key(output, &self.key, self.about.has_binary_key),
                Echo::Cas => flag(output, 'c', cas),
            }
        }
        output.extend_from_slice(b"\r\n");
    }
}

/// The condition that the mode and the number of a store make together.
fn how(flags: &Flags<'_>) -> Result<Stores, &'static str> {
    let (cas, of_any) = (flags.cas, flags.cas.unwrap_or(0));
    Ok(match (flags.mode.unwrap_or(b'S'), cas) {
        (b'E', _) => Stores::Add,
        (b'A', _) => Stores::Append(of_any),
        (b'P', _) => Stores::Prepend(of_any),
        (b'R' | b'S', Some(cas)) if flags.invalidates => Stores::CasOrStale(cas),
        (b'R' | b'S', Some(cas)) => Stores::Cas(cas),
        (b'R', None) => Stores::Replace,
        (b'S', None) => Stores::Set,
        _ => return Err("CLIENT_ERROR invalid mode for ms M token"),
    })
}
