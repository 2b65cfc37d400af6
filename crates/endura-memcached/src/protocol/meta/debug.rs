//! `me`: what is known of an item, for people.

use std::borrow::Cow;
use std::io::Write;

use super::super::command::{BAD_FORMAT, MAX_KEY, next_word, without_nul};
use super::super::context::Context;
use super::super::execute::{failure, line};
use super::base64::{decode, encode};
use super::reply::is_binary;

pub(super) fn run(
    rest: &[u8],
    context: &Context,
    output: &mut Vec<u8>,
) -> Result<(), Cow<'static, str>> {
    without_nul(rest)?;
    let (start, end) = next_word(rest, 0).ok_or(BAD_FORMAT)?;
    let mut key = Cow::Borrowed(&rest[start..end]);
    if key.len() > MAX_KEY {
        return Err(BAD_FORMAT.into());
    }
    if next_word(rest, end).is_some_and(|(start, end)| &rest[start..end] == b"b") {
        key = decode(&key).ok_or(BAD_FORMAT)?.into();
    }
    let (store, now) = (context.store(), context.now);
    let uses = store.uses(&key, now);
    let found = store.get_quietly(&key, now, |item| {
        output.extend_from_slice(b"ME ");
        if is_binary(&key, item.marks.has_binary_key) {
            encode(&key, output);
        } else {
            output.extend_from_slice(&key);
        }
        // memcached shows how long ago the item has expired, so the time that is left is negative.
        let expires = match item.expiry.0 {
            0 => -1,
            at => i64::from(now) - i64::from(at),
        };
        let (ago, cas) = (now.saturating_sub(uses.last), item.cas);
        let fetched = if uses.was_fetched { "yes" } else { "no" };
        let size = key.len() + item.size();
        // Writing to a vector does not fail.
        let _ = write!(output, " exp={expires} la={ago} cas={cas} fetch={fetched} size={size}\r\n");
    });
    if !found.map_err(|error| failure(&error))? {
        line(output, "EN");
    }
    Ok(())
}
