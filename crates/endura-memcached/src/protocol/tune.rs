//! Commands that concern memcached's memory: slabs, queues of recency, watchers. There is nothing to do for them here. A
//! line is checked as by memcached, and the reply is that of a memcached which has no items or may not do it.

use super::command::{BAD_FORMAT, Command, ERROR, Refusal, Words, refusal};
use crate::number::number;

const OK: &str = "OK";
/// The last class of slabs of a memcached with its usual options.
const LAST_CLASS: i32 = 39;

/// Reads one of these commands.
pub(super) fn tune<'l>(name: &[u8], all: &Words<'l>) -> Result<Command<'l>, Refusal> {
    match name {
        b"lru" => {
            all.expect(1..=usize::MAX)?;
            let is_quiet = all.is_quiet();
            let reply = lru(all).unwrap_or(ERROR);
            Ok(Command::Tune { reply, is_quiet })
        }
        b"slabs" => slabs(all),
        b"lru_crawler" => {
            Ok(Command::Tune { reply: crawler(all).unwrap_or(ERROR), is_quiet: false })
        }
        b"cache_memlimit" => {
            all.expect(1..=2)?;
            let reply = memory(all.words[0]);
            Ok(Command::Tune { reply, is_quiet: all.is_quiet() })
        }
        // As by `memcached -W`: a watcher who sees nothing would believe that nothing happens.
        b"watch" => {
            let reply = "CLIENT_ERROR watch commands not allowed";
            Ok(Command::Tune { reply, is_quiet: all.is_quiet() })
        }
        _ => Ok(Command::Tune { reply: "ERROR: shutdown not enabled", is_quiet: false }),
    }
}

fn lru(all: &Words<'_>) -> Option<&'static str> {
    let [what, first, second, third, fourth, ..] = all.words;
    match (what, all.count) {
        (b"tune", 5..) => {
            let (hot, warm): (u32, u32) = (number(first)?, number(second)?);
            let (hot_age, warm_age) = (fraction(third)?, fraction(fourth)?);
            Some(if hot.wrapping_add(warm) > 80 {
                "ERROR hot and warm pcts must not exceed 80"
            } else if hot_age <= 0.0 || warm_age <= 0.0 {
                "ERROR hot/warm age factors must be greater than 0"
            } else {
                OK
            })
        }
        (b"mode", 2..) => matches!(first, b"flat" | b"segmented").then_some(OK),
        (b"temp_ttl", 2..) => number::<i64>(first).map(|_| OK),
        _ => None,
    }
}

fn slabs<'l>(all: &Words<'_>) -> Result<Command<'l>, Refusal> {
    let [what, first, second, ..] = all.words;
    match (what, all.count) {
        (b"reassign", 3) => {
            let class = |word| number::<i32>(word).ok_or(Some(BAD_FORMAT));
            let (from, to) = (class(first)?, class(second)?);
            let reply = if from == to {
                "SAME src and dst class are identical"
            } else if ![from, to].iter().all(|class| (0..=LAST_CLASS).contains(class)) {
                "BADCLASS invalid src or dst class id"
            } else {
                "NOSPARE source class has no spare pages"
            };
            Ok(Command::Tune { reply, is_quiet: false })
        }
        (b"automove", 2..) => {
            let is_quiet = all.is_quiet();
            let is_valid = match first {
                b"ratio" => all.count >= 3 && fraction(second).is_some(),
                _ => number::<u32>(first).ok_or(refusal(BAD_FORMAT, is_quiet))? <= 2,
            };
            Ok(Command::Tune { reply: if is_valid { OK } else { ERROR }, is_quiet })
        }
        _ => Err(Some(ERROR)),
    }
}

/// A thread removes dead items by itself, so a request to crawl has been fulfilled.
fn crawler(all: &Words<'_>) -> Option<&'static str> {
    let [what, first, ..] = all.words;
    Some(match (what, all.count) {
        (b"enable" | b"disable", 1) | (b"crawl", 2) => OK,
        // As by `memcached -X`.
        (b"metadump", 2) => "ERROR metadump not allowed",
        (b"tocrawl", 2) => number::<u32>(first).map_or(BAD_FORMAT, |_| OK),
        (b"sleep", 2) => match number::<u32>(first) {
            None => BAD_FORMAT,
            Some(1_000_001..) => "CLIENT_ERROR sleep must be one second or less",
            Some(_) => OK,
        },
        _ => return None,
    })
}

/// The limit of the pool is an option of the start.
fn memory(megabytes: &[u8]) -> &'static str {
    match number::<u32>(megabytes) {
        None => ERROR,
        Some(..8) => "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m",
        Some(1_000_000_001..) => "MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes",
        Some(_) => "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust",
    }
}

fn fraction(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
