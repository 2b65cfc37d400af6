//! Commands that write fields.

use std::collections::HashSet;

use super::edit::{put_all, remove_all};
use crate::keys::session;
use crate::redis::{Context, Text};
use crate::store::{Digits, Entries, Failure, Form, Order, Outcome, Pair, Value};
use crate::store::{form_named, how_many, integer};

/// When EN.SET writes a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    /// NX.
    Absent,
    /// XX.
    Present,
}

impl When {
    fn named(word: &[u8]) -> Option<Self> {
        match word {
            _ if word.eq_ignore_ascii_case(b"NX") => Some(Self::Absent),
            _ if word.eq_ignore_ascii_case(b"XX") => Some(Self::Present),
            _ => None,
        }
    }

    /// The pairs that are written. A field that an earlier pair writes is there.
    fn chosen<'p>(self, value: Option<&Value>, pairs: Vec<Pair<'p>>) -> Outcome<Vec<Pair<'p>>> {
        if self == Self::Always {
            return Ok(pairs);
        }
        let (mut written, mut chosen) = (HashSet::new(), Vec::new());
        for pair in pairs {
            let is_there = written.contains(pair.0)
                || match value {
                    Some(value) => session().store.entries.contains(value, pair.0)?,
                    None => false,
                };
            if is_there == (self == Self::Present) {
                written.insert(pair.0);
                chosen.push(pair);
            }
        }
        Ok(chosen)
    }
}

/// The words of EN.SET after the key: fields and values, then the options, which are `NX` or `XX`, and `GET`.
///
/// If the number of words is odd, the last one is an option. If it is even, the last two are options if one of them is
/// `NX` or `XX` and the other is `GET`; otherwise they are a field and its value.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    /// The number of words that are fields and values.
    pairs: usize,
    when: When,
    get: bool,
}

impl Options {
    /// Parses the words. Only the last two can be options.
    fn of(words: &[&[u8]]) -> Outcome<Self> {
        let is_get = |word: &[u8]| word.eq_ignore_ascii_case(b"GET");
        let mut options = Self { pairs: words.len(), when: When::Always, get: false };
        match words {
            [_, _, .., last] if !words.len().is_multiple_of(2) => {
                options.pairs -= 1;
                options.get = is_get(last);
                if !options.get {
                    options.when = When::named(last).ok_or(Failure::Says("ERR syntax error"))?;
                }
            }
            [_, _, .., first, second] => {
                let when = match (When::named(first), When::named(second)) {
                    (Some(when), None) if is_get(second) => Some(when),
                    (None, Some(when)) if is_get(first) => Some(when),
                    _ => None,
                };
                if let Some(when) = when {
                    options = Self { pairs: words.len() - 2, when, get: true };
                }
            }
            [_, _] => {}
            _ => return Err(Failure::Arity),
        }
        if options.get && options.pairs > 2 {
            return Err(Failure::Says("ERR GET takes one field and its value"));
        }
        Ok(options)
    }
}

/// `EN.SET key field value [field value ...] [NX|XX] [GET]`.
pub(crate) fn set(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    if arguments.len() < 4 {
        return Err(Failure::Arity);
    }
    let words: Vec<&[u8]> = arguments[2..].iter().map(Text::bytes).collect();
    let options = Options::of(&words)?;
    if options.get && !context.may_call(c"EN.GET", &[arguments[1].bytes(), words[0]]) {
        return Err(Failure::Says("NOPERM GET needs the permission to run EN.GET on the key"));
    }
    if !session().is_ready(context)? {
        context.integer(0);
        return Ok(());
    }
    let (name, entries) = (&arguments[1], &session().store.entries);
    let key = context.write(name);
    let value = key.value()?;
    let pairs = words[..options.pairs].chunks_exact(2).map(|pair| (pair[0], pair[1]));
    let pairs: Vec<Pair<'_>> = pairs.collect();
    for (field, new) in &pairs {
        Entries::check(value.map_or(Form::Shared, |value| value.form), field, new)?;
    }
    let old = match value.filter(|_| options.get) {
        Some(value) => entries.get(value, words[0])?,
        None => None,
    };
    let pairs = options.when.chosen(value, pairs)?;
    let mut added = 0;
    if !pairs.is_empty() {
        added = put_all(context, key, name, Form::Shared, &pairs)?;
        replicate(context, arguments, &pairs, options.when);
        context.changed(name, c"en.set");
    }
    match old {
        Some(old) => context.bulk(&old),
        None if options.get => context.nil(),
        None if options.when == When::Present => context.integer(pairs.len() as i64),
        None => context.integer(added),
    }
    Ok(())
}

/// Replicates an EN.SET by the fields that it has set, as one command.
fn replicate(context: &Context<'_>, arguments: &[Text], set: &[Pair<'_>], when: When) {
    if 2 * set.len() == arguments.len() - 2 {
        context.replicate(c"EN.SET", &arguments[1..]);
        return;
    }
    let mut words: Vec<&[u8]> = set.iter().flat_map(|&(field, value)| [field, value]).collect();
    // A replica would read a last pair that looks like options as such, but not in front of an option. That of the command
    // leaves out nothing there: each of these fields was absent, or present, as it asks, and so it is on the replica.
    if !Options::of(&words).is_ok_and(|options| options.pairs == words.len()) {
        words.push(if when == When::Absent { b"NX" } else { b"XX" });
    }
    context.replicate_bytes(c"EN.SET", &arguments[1], &words);
}

/// `EN.DEL key field [field ...]`.
pub(crate) fn del(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    if arguments.len() < 3 {
        return Err(Failure::Arity);
    }
    let mut fields = Vec::new();
    if session().is_ready(context)? {
        let key = context.write(&arguments[1]);
        if let Some(value) = key.value()? {
            let mut seen = HashSet::new();
            for field in arguments[2..].iter().map(Text::bytes) {
                Entries::check_field(value.form, field)?;
                if seen.insert(field) && session().store.entries.contains(value, field)? {
                    fields.push(field);
                }
            }
        }
        if !fields.is_empty() {
            remove_all(context, key, &arguments[1], &fields, c"en.del")?;
        }
    }
    context.integer(fields.len() as i64);
    Ok(())
}

/// `EN.INCRBY key field increment`. Replicas get the sum, by EN.SET.
pub(crate) fn incrby(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    let [_, name, field, by] = arguments else { return Err(Failure::Arity) };
    let by = integer(by.bytes())?;
    if !session().is_ready(context)? {
        context.integer(0);
        return Ok(());
    }
    let key = context.write(name);
    let sum = sum(key.value()?, field.bytes(), by)?;
    let digits = Digits::of(sum);
    put_all(context, key, name, Form::Shared, &[(field.bytes(), digits.as_bytes())])?;
    context.replicate_bytes(c"EN.SET", name, &[field.bytes(), digits.as_bytes()]);
    context.changed(name, c"en.incrby");
    context.integer(sum);
    Ok(())
}

/// The integer in a field, and `by` more. An absent field is 0.
fn sum(value: Option<&Value>, field: &[u8], by: i64) -> Outcome<i64> {
    Entries::check_field(value.map_or(Form::Shared, |value| value.form), field)?;
    let old = match value {
        Some(value) => session().store.entries.get_with(value, field, integer)?.transpose()?,
        None => None,
    };
    let overflow = Failure::Says("ERR increment or decrement would overflow");
    old.unwrap_or(0).checked_add(by).ok_or(overflow)
}

/// `EN.CAS key field old new`: replies 1 if the field had the value `old` and now has `new`, otherwise 0.
pub(crate) fn cas(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    let [_, name, field, old, new] = arguments else { return Err(Failure::Arity) };
    let mut is_done = false;
    if session().is_ready(context)? {
        let (entries, key) = (&session().store.entries, context.write(name));
        if let Some(value) = key.value()? {
            Entries::check(value.form, field.bytes(), new.bytes())?;
            let found = entries.get_with(value, field.bytes(), |found| found == old.bytes())?;
            is_done = found == Some(true);
            if is_done {
                entries.put(value, field.bytes(), new.bytes())?;
            }
        }
    }
    if is_done {
        context.replicate_bytes(c"EN.SET", name, &[field.bytes(), new.bytes()]);
        context.changed(name, c"en.cas");
    }
    context.integer(is_done.into());
    Ok(())
}

/// `EN.POP key MIN|MAX [count]`. Replicas get the fields that were removed, by EN.DEL.
pub(crate) fn pop(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    let (name, which, count) = match arguments {
        [_, name, which] => (name, which, 1),
        [_, name, which, count] => (name, which, how_many(count.bytes())?),
        _ => return Err(Failure::Arity),
    };
    let order = match which.bytes().to_ascii_uppercase().as_slice() {
        b"MIN" => Order::Ascending,
        b"MAX" => Order::Descending,
        _ => return Err(Failure::Says("ERR syntax error: MIN or MAX")),
    };
    let mut popped = Vec::new();
    if session().is_ready(context)? {
        let key = context.write(name);
        if let Some(value) = key.value()? {
            popped = session().store.entries.ends(value, order, count)?;
        }
        if !popped.is_empty() {
            let fields: Vec<&[u8]> = popped.iter().map(|(field, _)| field.as_slice()).collect();
            remove_all(context, key, name, &fields, c"en.pop")?;
        }
    }
    context.array(2 * popped.len());
    for (field, value) in &popped {
        context.bulk(field);
        context.bulk(value);
    }
    Ok(())
}

/// `EN.CREATE key KIND nbtree|fastfair`.
pub(crate) fn create(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    let [_, name, word, kind] = arguments else { return Err(Failure::Arity) };
    if !word.bytes().eq_ignore_ascii_case(b"KIND") {
        return Err(Failure::Says("ERR syntax error: EN.CREATE key KIND nbtree|fastfair"));
    }
    let form = form_named(kind.bytes())?;
    if session().is_ready(context)? {
        let key = context.write(name);
        if key.value()?.is_some() {
            return Err(Failure::Says("BUSYKEY Target key name already exists."));
        }
        put_all(context, key, name, form, &[])?;
        context.replicate(c"EN.CREATE", &arguments[1..]);
        context.changed(name, c"en.create");
    }
    context.ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_stand_behind_the_last_value() {
        let of = |line: &str| {
            let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            Options::of(&words).ok().map(|options| (options.pairs, options.when, options.get))
        };
        assert_eq!(of("f v"), Some((2, When::Always, false)));
        assert_eq!(of("f GET"), Some((2, When::Always, false)));
        assert_eq!(of("NX GET"), Some((2, When::Always, false)));
        assert_eq!(of("f v nx"), Some((2, When::Absent, false)));
        assert_eq!(of("f v GET"), Some((2, When::Always, true)));
        assert_eq!(of("f v GET xx"), Some((2, When::Present, true)));
        assert_eq!(of("f v NX GET"), Some((2, When::Absent, true)));
        assert_eq!(of("NX GET f v"), Some((4, When::Always, false)));
        assert_eq!(of("f v NX NX"), Some((4, When::Always, false)));
        assert_eq!(of("f v g w XX"), Some((4, When::Present, false)));
        assert_eq!(of("f v g"), None);
        assert_eq!(of("f v g w GET"), None);
        assert_eq!(of("f"), None);
    }
}
