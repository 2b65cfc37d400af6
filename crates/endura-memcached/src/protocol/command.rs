//! A line as a command, or why it is none.

use crate::store::Stores;

/// The most bytes of a key.
pub(super) const MAX_KEY: usize = 250;

/// A command.
#[derive(Debug)]
pub(super) enum Command<'l> {
    /// `get`, `gets`; with a time of expiry `gat`, `gats`.
    Get {
        keys: &'l [u8],
        with_cas: bool,
        time: Option<i64>,
    },
    /// A data block follows.
    Store(Storage<'l>),
    Delete {
        key: &'l [u8],
        is_quiet: bool,
    },
    Add {
        key: &'l [u8],
        delta: u64,
        is_less: bool,
        is_quiet: bool,
    },
    Touch {
        key: &'l [u8],
        time: i64,
        is_quiet: bool,
    },
    Flush {
        delay: i64,
        is_quiet: bool,
    },
    Stats(&'l [u8]),
    Verbosity {
        is_quiet: bool,
    },
    Version,
    Quit,
}

/// The line of a command that stores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Storage<'l> {
    pub(super) how: Stores,
    pub(super) key: &'l [u8],
    pub(super) flags: u32,
    pub(super) time: i64,
    pub(super) bytes: usize,
    pub(super) is_quiet: bool,
}

/// The reply to a line that is no command.
pub(super) type Refusal = &'static str;

pub(super) const ERROR: Refusal = "ERROR";
pub(super) const BAD_FORMAT: Refusal = "CLIENT_ERROR bad command line format";
pub(super) const BAD_CHUNK: Refusal = "CLIENT_ERROR bad data chunk";
const BAD_DELTA: Refusal = "CLIENT_ERROR invalid numeric delta argument";
const BAD_TIME: Refusal = "CLIENT_ERROR invalid exptime argument";
const BAD_DELETE: Refusal = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]";

/// The words of a line, which blanks separate.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte == b' ').filter(|word| !word.is_empty())
}

/// Reads a line, without its end.
pub(super) fn parse(line: &[u8]) -> Result<Command<'_>, Refusal> {
    let line = line.trim_ascii_start();
    let end = line.iter().position(|&byte| byte == b' ').unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    match name {
        b"get" => get(rest, false),
        b"gets" => get(rest, true),
        b"gat" => get_and_touch(rest, false),
        b"gats" => get_and_touch(rest, true),
        b"set" => storage(Stores::Set, rest),
        b"add" => storage(Stores::Add, rest),
        b"replace" => storage(Stores::Replace, rest),
        b"append" => storage(Stores::Append, rest),
        b"prepend" => storage(Stores::Prepend, rest),
        b"cas" => storage(Stores::Cas(0), rest),
        b"delete" => delete(rest),
        b"incr" => add(rest, false),
        b"decr" => add(rest, true),
        b"touch" => touch(rest),
        b"flush_all" => flush(rest),
        b"stats" => Ok(Command::Stats(rest.trim_ascii())),
        b"verbosity" => verbosity(rest),
        b"version" => Ok(Command::Version),
        b"quit" => Ok(Command::Quit),
        _ => Err(ERROR),
    }
}

fn get(keys: &[u8], with_cas: bool) -> Result<Command<'_>, Refusal> {
    match words(keys).next() {
        Some(_) => Ok(Command::Get { keys, with_cas, time: None }),
        None => Err(ERROR),
    }
}

fn get_and_touch(rest: &[u8], with_cas: bool) -> Result<Command<'_>, Refusal> {
    let rest = rest.trim_ascii_start();
    let end = rest.iter().position(|&byte| byte == b' ').ok_or(ERROR)?;
    let (time, keys) = rest.split_at(end);
    let time = number(time).ok_or(BAD_TIME)?;
    match get(keys, with_cas)? {
        Command::Get { keys, with_cas, .. } => {
            Ok(Command::Get { keys, with_cas, time: Some(time) })
        }
        other => Ok(other),
    }
}

fn storage(how: Stores, rest: &[u8]) -> Result<Command<'_>, Refusal> {
    let mut words = words(rest);
    let mut next = || words.next().ok_or(ERROR);
    let (name, flags, time, bytes) = (next()?, next()?, next()?, next()?);
    let how = match how {
        Stores::Cas(_) => Stores::Cas(number(next()?).ok_or(BAD_FORMAT)?),
        how => how,
    };
    let is_quiet = is_quiet(&mut words, ERROR)?;
    let (key, flags) = (key(name)?, number(flags).ok_or(BAD_FORMAT)?);
    let (time, bytes): (_, i64) =
        (number(time).ok_or(BAD_FORMAT)?, number(bytes).ok_or(BAD_FORMAT)?);
    // With the two bytes behind it, it can be counted in 31 bits.
    let bytes = i32::try_from(bytes).ok().filter(|&bytes| bytes <= i32::MAX - 2);
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or(BAD_CHUNK)?;
    Ok(Command::Store(Storage { how, key, flags, time, bytes, is_quiet }))
}

fn delete(rest: &[u8]) -> Result<Command<'_>, Refusal> {
    let mut words = words(rest).peekable();
    let name = words.next().ok_or(ERROR)?;
    // A time, which once could be given; 0 is let through.
    words.next_if_eq(&&b"0"[..]);
    let is_quiet = is_quiet(&mut words, BAD_DELETE)?;
    Ok(Command::Delete { key: key(name)?, is_quiet })
}

fn add(rest: &[u8], is_less: bool) -> Result<Command<'_>, Refusal> {
    let mut words = words(rest);
    let (name, delta) = (words.next().ok_or(ERROR)?, words.next().ok_or(ERROR)?);
    let is_quiet = is_quiet(&mut words, ERROR)?;
    let (key, delta) = (key(name)?, number(delta).ok_or(BAD_DELTA)?);
    Ok(Command::Add { key, delta, is_less, is_quiet })
}

fn touch(rest: &[u8]) -> Result<Command<'_>, Refusal> {
    let mut words = words(rest);
    let (name, time) = (words.next().ok_or(ERROR)?, words.next().ok_or(ERROR)?);
    let is_quiet = is_quiet(&mut words, ERROR)?;
    Ok(Command::Touch { key: key(name)?, time: number(time).ok_or(BAD_TIME)?, is_quiet })
}

fn flush(rest: &[u8]) -> Result<Command<'_>, Refusal> {
    let mut words = words(rest).peekable();
    let delay = match words.next_if(|&word| word != b"noreply") {
        Some(delay) => number(delay).ok_or(BAD_FORMAT)?,
        None => 0,
    };
    Ok(Command::Flush { delay, is_quiet: is_quiet(&mut words, ERROR)? })
}

fn verbosity(rest: &[u8]) -> Result<Command<'_>, Refusal> {
    let mut words = words(rest);
    words.next().ok_or(ERROR)?;
    Ok(Command::Verbosity { is_quiet: words.last() == Some(b"noreply") })
}

/// Whether the rest of a line is `noreply`.
fn is_quiet<'l>(
    words: &mut impl Iterator<Item = &'l [u8]>,
    otherwise: Refusal,
) -> Result<bool, Refusal> {
    match (words.next(), words.next()) {
        (None, _) => Ok(false),
        (Some(b"noreply"), None) => Ok(true),
        _ => Err(otherwise),
    }
}

/// A word as a key.
pub(super) fn key(word: &[u8]) -> Result<&[u8], Refusal> {
    let is_key = word.len() <= MAX_KEY && !word.iter().any(u8::is_ascii_control);
    if is_key { Ok(word) } else { Err(BAD_FORMAT) }
}

/// A number in decimal digits.
fn number<N: std::str::FromStr>(word: &[u8]) -> Option<N> {
    std::str::from_utf8(word).ok()?.parse().ok()
}
