//! Commands that write fields.

use super::edit::{delete_if_empty, edit};
use crate::keys::session;
use crate::redis::{Context, Text};
use crate::store::{Digits, Entries, Failure, Form, Order, Outcome, Value};
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

/// The result of [`put_all`].
#[derive(Default)]
struct Put<'a> {
    /// The fields and values that were written.
    done: Vec<&'a [u8]>,
    added: i64,
    old: Option<Vec<u8>>,
    failure: Option<Failure>,
}

/// Writes the fields, or none of them if a field or a value is invalid. A new key gets all fields or none: if they do not
/// all fit into the pool, the key is not created.
fn put_all<'a>(value: &Value, is_new: bool, words: &[&'a [u8]], options: &Options) -> Put<'a> {
    let (entries, when) = (&session().store.entries, options.when);
    let pairs = || words[..options.pairs].chunks_exact(2);
    let wrong = pairs().find_map(|pair| Entries::check(value.form, pair[0], pair[1]).err());
    if wrong.is_some() {
        return Put { failure: wrong, ..Put::default() };
    }
    let mut put = Put::default();
    for pair in pairs() {
        let (field, new) = (pair[0], pair[1]);
        let mut one = || {
            if options.get {
                put.old = entries.get(value, field)?;
            }
            if when != When::Always && entries.contains(value, field)? != (when == When::Present) {
                return Ok(None);
            }
            entries.put(value, field, new).map(Some)
        };
        match one() {
            Ok(None) => {}
            Ok(Some(was_absent)) => {
                put.done.extend([field, new]);
                put.added += i64::from(was_absent);
            }
            Err(failure) => {
                if is_new {
                    put.done.clear();
                }
                put.failure = Some(failure);
                break;
            }
        }
    }
    put
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
    let name = &arguments[1];
    let put = edit(context, name, Form::Shared, |value, is_new| {
        let put = put_all(value, is_new, &words, &options);
        (!put.done.is_empty(), put)
    })?;
    if put.done.len() == words.len() {
        context.replicate(c"EN.SET", &arguments[1..]);
    } else if Options::of(&put.done).is_ok_and(|options| options.pairs < put.done.len()) {
        // A replica would read the last pair as options, so that pair is sent in a command of its own.
        let (pairs, last) = put.done.split_at(put.done.len() - 2);
        context.replicate_bytes(c"EN.SET", name, pairs);
        context.replicate_bytes(c"EN.SET", name, last);
    } else if !put.done.is_empty() {
        context.replicate_bytes(c"EN.SET", name, &put.done);
    }
    if !put.done.is_empty() {
        context.changed(name, c"en.set");
    }
    if let Some(failure) = put.failure {
        return Err(failure);
    }
    match put.old {
        Some(old) => context.bulk(&old),
        None if options.get => context.nil(),
        None if options.when == When::Present => context.integer(put.done.len() as i64 / 2),
        None => context.integer(put.added),
    }
    Ok(())
}

/// `EN.DEL key field [field ...]`.
pub(crate) fn del(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    if arguments.len() < 3 {
        return Err(Failure::Arity);
    }
    let name = &arguments[1];
    let (mut removed, mut done, mut failure) = (0, 2, None);
    if session().is_ready(context)? {
        let key = context.write(name);
        if let Some(value) = key.value()? {
            for field in &arguments[2..] {
                Entries::check_field(value.form, field.bytes())?;
            }
            for field in &arguments[2..] {
                match session().store.entries.remove(value, field.bytes()) {
                    Ok(was_there) => (removed, done) = (removed + i64::from(was_there), done + 1),
                    Err(error) => {
                        failure = Some(error);
                        break;
                    }
                }
            }
        }
    }
    if removed > 0 {
        // If a removal failed, replicas get only the fields before the one that was not removed.
        context.replicate(c"EN.DEL", &arguments[1..done]);
        context.changed(name, c"en.del");
        delete_if_empty(context, name);
    }
    match failure {
        Some(failure) => Err(failure),
        None => {
            context.integer(removed);
            Ok(())
        }
    }
}

/// `EN.INCRBY key field increment`. Replicas get the sum, by EN.SET.
pub(crate) fn incrby(context: &Context<'_>, arguments: &[Text]) -> Outcome {
    let [_, name, field, by] = arguments else { return Err(Failure::Arity) };
    let by = integer(by.bytes())?;
    if !session().is_ready(context)? {
        context.integer(0);
        return Ok(());
    }
    let sum = edit(context, name, Form::Shared, |value, _| {
        let sum = add(value, field.bytes(), by);
        (sum.is_ok(), sum)
    })??;
    context.replicate_bytes(c"EN.SET", name, &[field.bytes(), Digits::of(sum).as_bytes()]);
    context.changed(name, c"en.incrby");
    context.integer(sum);
    Ok(())
}

fn add(value: &Value, field: &[u8], by: i64) -> Outcome<i64> {
    let entries = &session().store.entries;
    Entries::check_field(value.form, field)?;
    let old = entries.get_with(value, field, integer)?.transpose()?.unwrap_or(0);
    let overflow = Failure::Says("ERR increment or decrement would overflow");
    let sum = old.checked_add(by).ok_or(overflow)?;
    entries.put(value, field, Digits::of(sum).as_bytes())?;
    Ok(sum)
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
        let (entries, key) = (&session().store.entries, context.write(name));
        if let Some(value) = key.value()? {
            popped = entries.ends(value, order, count)?;
            for at in 0..popped.len() {
                match entries.remove(value, &popped[at].0) {
                    Ok(_) => {}
                    Err(failure) if at == 0 => return Err(failure),
                    // The client and the replicas get the entries that were removed before this one.
                    Err(_) => {
                        popped.truncate(at);
                        break;
                    }
                }
            }
        }
    }
    context.array(2 * popped.len());
    for (field, value) in &popped {
        context.bulk(field);
        context.bulk(value);
    }
    if !popped.is_empty() {
        let fields: Vec<&[u8]> = popped.iter().map(|(field, _)| field.as_slice()).collect();
        context.replicate_bytes(c"EN.DEL", name, &fields);
        context.changed(name, c"en.pop");
        delete_if_empty(context, name);
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
        if context.read(name).value()?.is_some() {
            return Err(Failure::Says("BUSYKEY Target key name already exists."));
        }
        edit(context, name, form, |_, _| (true, ()))?;
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
