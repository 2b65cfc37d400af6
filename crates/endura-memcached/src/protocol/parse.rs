//! Parses a line into a command, or a refusal.

use super::command::{
    BAD_FORMAT, Command, ERROR, Refusal, Storage, Words, is_meta, key, length_of_data, next_word,
    refusal,
};
use super::tune::tune;
use crate::number::number;
use crate::store::Stores;

const BAD_DELTA: &str = "CLIENT_ERROR invalid numeric delta argument";
const BAD_TIME: &str = "CLIENT_ERROR invalid exptime argument";
const BAD_DELETE: &str = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]";

/// Reads a line, without its end.
pub(super) fn parse(line: &[u8]) -> Result<Command<'_>, Refusal> {
    let (start, end) = next_word(line, 0).ok_or(Some(ERROR))?;
    let (name, rest) = (&line[start..end], &line[end..]);
    match name {
        _ if is_meta(name) => Ok(Command::Meta { name, rest }),
        // An old name of `get`, which memcached still takes.
        b"get" | b"bget" => get(rest, false),
        b"gets" => get(rest, true),
        b"gat" => get_and_touch(rest, false),
        b"gats" => get_and_touch(rest, true),
        b"set" => storage(Stores::Set, rest),
        b"add" => storage(Stores::Add, rest),
        b"replace" => storage(Stores::Replace, rest),
        b"append" => storage(Stores::Append(0), rest),
        b"prepend" => storage(Stores::Prepend(0), rest),
        b"cas" => storage(Stores::Cas(0), rest),
        b"delete" => delete(rest),
        b"incr" => add(rest, false),
        b"decr" => add(rest, true),
        b"touch" => touch(rest),
        b"flush_all" => flush(rest),
        b"stats" => Ok(Command::Stats(Words::of(rest).words[0])),
        b"verbosity" => verbosity(rest),
        b"version" => Ok(Command::Version),
        b"quit" => Ok(Command::Quit),
        b"lru" | b"slabs" | b"lru_crawler" | b"watch" | b"cache_memlimit" | b"shutdown" => {
            tune(name, &Words::of(rest))
        }
        // A web page can make a browser send any lines after this one.
        _ if is_of_http(rest) => Ok(Command::Quit),
        _ => Err(Some(ERROR)),
    }
}

/// Whether the last word names the protocol of web servers, as in `POST / HTTP/1.1`.
fn is_of_http(rest: &[u8]) -> bool {
    let mut words = rest.rsplit(|&byte| byte == b' ').filter(|word| !word.is_empty());
    words.next().is_some_and(|last| last.starts_with(b"HTTP/"))
}

fn get(keys: &[u8], with_cas: bool) -> Result<Command<'_>, Refusal> {
    next_word(keys, 0).ok_or(Some(ERROR))?;
    check(keys)?;
    Ok(Command::Get { keys, with_cas, time: None })
}

/// The keys may be missing, as with memcached.
fn get_and_touch(rest: &[u8], with_cas: bool) -> Result<Command<'_>, Refusal> {
    let (start, end) = next_word(rest, 0).ok_or(Some(ERROR))?;
    let time = number(&rest[start..end]).ok_or(Some(BAD_TIME))?;
    let keys = &rest[end..];
    check(keys)?;
    Ok(Command::Get { keys, with_cas, time: Some(time) })
}

/// Looks at all keys before the first item is shown, so that a refusal is the whole reply.
fn check(keys: &[u8]) -> Result<(), Refusal> {
    let mut at = 0;
    while let Some((start, end)) = next_word(keys, at) {
        key(&keys[start..end], false)?;
        at = end;
    }
    Ok(())
}

fn storage(how: Stores, rest: &[u8]) -> Result<Command<'_>, Refusal> {
    let all = Words::of(rest);
    let has_cas = matches!(how, Stores::Cas(_));
    all.expect(if has_cas { 5..=6 } else { 4..=5 })?;
    let is_quiet = all.is_quiet();
    let refuse = || refusal(BAD_FORMAT, is_quiet);
    let [name, flags, time, bytes, unique, ..] = all.words;
    let how = match how {
        Stores::Cas(_) => Stores::Cas(number(unique).ok_or_else(refuse)?),
        how => how,
    };
    let key = key(name, is_quiet)?;
    let (flags, time) = (number(flags).ok_or_else(refuse)?, number(time).ok_or_else(refuse)?);
    let bytes = length_of_data(bytes).ok_or_else(refuse)?;
    Ok(Command::Store(Storage { how, key, flags, time, bytes, is_quiet }))
}

fn delete(rest: &[u8]) -> Result<Command<'_>, Refusal> {
    let all = Words::of(rest);
    all.expect(1..=3)?;
    // Older clients send a time, which must be 0.
    let (has_zero, is_quiet) = (all.words[1] == b"0", all.count > 1 && all.is_quiet());
    let is_valid = match all.count {
        1 => true,
        2 => has_zero || is_quiet,
        _ => has_zero && is_quiet,
    };
    if !is_valid {
        return Err(refusal(BAD_DELETE, is_quiet));
    }
    Ok(Command::Delete { key: key(all.words[0], is_quiet)?, is_quiet })
}

fn add(rest: &[u8], is_less: bool) -> Result<Command<'_>, Refusal> {
    let all = Words::of(rest);
    all.expect(2..=3)?;
    let is_quiet = all.is_quiet();
    let key = key(all.words[0], is_quiet)?;
    let delta = number(all.words[1]).ok_or(refusal(BAD_DELTA, is_quiet))?;
    Ok(Command::Add { key, delta, is_less, is_quiet })
}

fn touch(rest: &[u8]) -> Result<Command<'_>, Refusal> {
    let all = Words::of(rest);
    all.expect(2..=3)?;
    let is_quiet = all.is_quiet();
    let key = key(all.words[0], is_quiet)?;
    let time = number(all.words[1]).ok_or(refusal(BAD_TIME, is_quiet))?;
    Ok(Command::Touch { key, time, is_quiet })
}

fn flush(rest: &[u8]) -> Result<Command<'_>, Refusal> {
    let all = Words::of(rest);
    all.expect(0..=2)?;
    let is_quiet = all.is_quiet();
    let delay = match all.count - usize::from(is_quiet) {
        0 => 0,
        _ => number(all.words[0]).ok_or(refusal(BAD_TIME, is_quiet))?,
    };
    Ok(Command::Flush { delay, is_quiet })
}

fn verbosity(rest: &[u8]) -> Result<Command<'_>, Refusal> {
    let all = Words::of(rest);
    all.expect(1..=2)?;
    let is_quiet = all.is_quiet();
    number::<u32>(all.words[0]).ok_or(refusal(BAD_FORMAT, is_quiet))?;
    Ok(Command::Verbosity { is_quiet })
}
