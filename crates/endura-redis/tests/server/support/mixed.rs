//! A model of a server that has maps and keys of other types under the same names. It executes the same commands.

use std::collections::{BTreeMap, BTreeSet};

use super::Random;
use super::client::{Client, Reply};

/// How many databases there are.
pub(crate) const DATABASES: u32 = 4;

/// What a key holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Held {
    /// A map; one with an index of its own stays when it is empty.
    Map {
        is_own: bool,
        entries: BTreeMap<String, String>,
    },
    Text(String),
    List(Vec<String>),
    Hash(BTreeMap<String, String>),
    Set(BTreeSet<String>),
    /// Scores by their members.
    Sorted(BTreeMap<String, String>),
    /// The values of its entries.
    Stream(Vec<String>),
}

/// When a key expires (-1: never), and what it holds.
pub(crate) type Key = (i64, Held);

/// All keys, by database and name.
pub(crate) type Keys = BTreeMap<(u32, String), Key>;

pub(crate) fn is_map(key: &Key) -> bool {
    matches!(key.1, Held::Map { .. })
}

/// The maps of one state, and the keys of other types of another: where both have a name, it is the map's.
pub(crate) fn over(maps: &Keys, others: &Keys) -> Keys {
    let mut keys = others.clone();
    keys.retain(|_, key| !is_map(key));
    keys.extend(
        maps.iter().filter(|(_, key)| is_map(key)).map(|(name, key)| (name.clone(), key.clone())),
    );
    keys
}

/// A command, and the states that its steps lead through: the last is the one that it is answered in. None: it fails.
pub(crate) struct Step {
    pub(crate) line: String,
    pub(crate) states: Vec<Keys>,
}

/// A random command in a database.
pub(crate) fn step(random: &mut Random, keys: &Keys, database: u32) -> Step {
    let line = line(random);
    let words: Vec<&str> = line.split(' ').collect();
    let states = run(keys, database, &words);
    Step { line, states }
}

fn line(random: &mut Random) -> String {
    let mut below = |end| random.below(end);
    let (key, other) = (format!("k{}", below(5)), format!("k{}", below(5)));
    let (field, value, to) = (below(9), below(1_000), below(u64::from(DATABASES)));
    match below(44) {
        0..=7 => format!("EN.SET {key} {field} {value} {} {value} {} 7", below(9), below(9)),
        8 => format!("EN.CREATE {key} KIND {}", ["nbtree", "fastfair"][below(2) as usize]),
        9 => format!("EN.DEL {key} {field} {}", below(9)),
        10 => format!("EN.POP {key} {} {}", ["MIN", "MAX"][below(2) as usize], 1 + below(9)),
        11..=14 => format!("RENAME {key} {other}"),
        15 => format!("RENAMENX {key} {other}"),
        16..=18 => format!("COPY {key} {other} DB {to} REPLACE"),
        19 => format!("COPY {key} {other}"),
        20 => format!("RESTORE {key} 0 MAP REPLACE"),
        21 => format!("RESTORE {key} 0 {}", ["MAP", "TEXT"][below(2) as usize]),
        22 => format!("MOVE {key} {to}"),
        23 | 24 => format!("DEL {key}"),
        25 => format!("UNLINK {key} {other}"),
        26 => format!("PEXPIREAT {key} {}", 4_000_000_000_000 + below(9)),
        27 => format!("PERSIST {key}"),
        28 | 29 => format!("SET {key} {value}"),
        30 => format!("SET {key} {value} {}", ["NX", "XX", "KEEPTTL"][below(3) as usize]),
        31 => format!("APPEND {key} {value}"),
        32 => format!("LPUSH {key} {value}"),
        33 => format!("RPOP {key}"),
        34 | 35 => format!("HSET {key} {field} {value}"),
        36 => format!("HDEL {key} {field}"),
        37 => format!("SADD {key} {value}"),
        38 => format!("ZADD {key} {field} {value}"),
        39 => format!("ZREM {key} {value}"),
        40 => format!("XADD {key} * f {value}"),
        41 => format!("SUNIONSTORE {other} {key}"),
        42 => format!("SWAPDB {} {to}", below(u64::from(DATABASES))),
        _ => ["FLUSHDB", "FLUSHALL ASYNC", "FLUSHDB ASYNC"][below(3) as usize].to_owned(),
    }
}

/// Carries a command out. No state: it fails.
pub(crate) fn run(keys: &Keys, database: u32, words: &[&str]) -> Vec<Keys> {
    let name = (database, words.get(1).copied().unwrap_or_default().to_owned());
    let after = match *words {
        ["EN.SET", _, ref pairs @ ..] => set_fields(keys, &name, pairs),
        ["EN.DEL", _, ref fields @ ..] => remove_fields(keys, &name, fields),
        ["EN.POP", _, end, count] => pop_fields(keys, &name, end, count),
        ["EN.CREATE" | "RENAME" | "RENAMENX" | "COPY" | "RESTORE" | "MOVE", ..] => {
            place(keys, &name, words)
        }
        ["DEL" | "UNLINK", ref names @ ..] => {
            let mut states = Vec::new();
            let mut after = keys.clone();
            for key in names {
                after.remove(&(database, (*key).to_owned()));
                states.push(after.clone());
            }
            return states;
        }
        ["PEXPIREAT", _, at] => Some(with_time(keys, &name, at.parse().unwrap())),
        ["PERSIST", _] => Some(with_time(keys, &name, -1)),
        ["SWAPDB" | "FLUSHDB" | "FLUSHALL", ..] => Some(of_databases(keys, database, words)),
        _ => of_other_type(keys, &name, words),
    };
    after.into_iter().collect()
}

fn with(keys: &Keys, name: &(u32, String), key: Option<Key>) -> Keys {
    let mut keys = keys.clone();
    match key {
        Some(key) => keys.insert(name.clone(), key),
        None => keys.remove(name),
    };
    keys
}

fn with_time(keys: &Keys, name: &(u32, String), at: i64) -> Keys {
    let mut keys = keys.clone();
    if let Some(key) = keys.get_mut(name) {
        key.0 = at;
    }
    keys
}

/// The map of a name, or an empty one; `None`: a key of another type.
fn map(keys: &Keys, name: &(u32, String)) -> Option<(i64, bool, BTreeMap<String, String>)> {
    match keys.get(name) {
        None => Some((-1, false, BTreeMap::new())),
        Some((at, Held::Map { is_own, entries })) => Some((*at, *is_own, entries.clone())),
        Some(_) => None,
    }
}

fn set_fields(keys: &Keys, name: &(u32, String), pairs: &[&str]) -> Option<Keys> {
    let (at, is_own, mut entries) = map(keys, name)?;
    entries.extend(pairs.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())));
    Some(with(keys, name, Some((at, Held::Map { is_own, entries }))))
}

fn remove_fields(keys: &Keys, name: &(u32, String), fields: &[&str]) -> Option<Keys> {
    let (at, is_own, mut entries) = map(keys, name)?;
    entries.retain(|field, _| !fields.contains(&field.as_str()));
    let stays = is_own || !entries.is_empty();
    Some(with(keys, name, Some((at, Held::Map { is_own, entries })).filter(|_| stays)))
}

fn pop_fields(keys: &Keys, name: &(u32, String), end: &str, count: &str) -> Option<Keys> {
    let (_, _, entries) = map(keys, name)?;
    let mut fields: Vec<&str> = entries.keys().map(String::as_str).collect();
    if end == "MAX" {
        fields.reverse();
    }
    fields.truncate(count.parse().unwrap());
    remove_fields(keys, name, &fields)
}

/// What gives a name to a key.
fn place(keys: &Keys, name: &(u32, String), words: &[&str]) -> Option<Keys> {
    let replaces = words.last() == Some(&"REPLACE") || words[0] == "RENAME";
    let (to, key) = match *words {
        ["EN.CREATE", ..] => {
            (name.clone(), (-1, Held::Map { is_own: true, entries: BTreeMap::new() }))
        }
        ["RESTORE", _, _, dump, ..] => (name.clone(), (-1, dumped(dump))),
        ["MOVE", _, to] => {
            let to = (to.parse().unwrap(), name.1.clone());
            // The same database is an error; a name that is taken, or none, is not.
            if to.0 == name.0 {
                return None;
            }
            let Some(key) = keys.get(name) else { return Some(keys.clone()) };
            (to, key.clone())
        }
        ["COPY", _, other, ..] => {
            let database = if words.len() > 3 { words[4].parse().unwrap() } else { name.0 };
            let to = (database, other.to_owned());
            if to == *name {
                return None;
            }
            let Some(key) = keys.get(name) else { return Some(keys.clone()) };
            (to, key.clone())
        }
        [_, _, other] => ((name.0, other.to_owned()), keys.get(name)?.clone()),
        _ => return None,
    };
    if keys.contains_key(&to) && !replaces && to != *name {
        return if matches!(words[0], "RENAMENX" | "COPY" | "MOVE") {
            Some(keys.clone())
        } else {
            None
        };
    }
    if keys.contains_key(&to) && !replaces && matches!(words[0], "EN.CREATE" | "RESTORE") {
        return None;
    }
    let moves = matches!(words[0], "RENAME" | "RENAMENX" | "MOVE");
    let without = if moves { with(keys, name, None) } else { keys.clone() };
    Some(with(&without, &to, Some(key)))
}

/// What the dumps hold that RESTORE is given.
pub(crate) fn dumped(name: &str) -> Held {
    match name {
        "MAP" => {
            Held::Map { is_own: false, entries: BTreeMap::from([("1".to_owned(), "2".to_owned())]) }
        }
        _ => Held::Text("dumped".into()),
    }
}

fn of_databases(keys: &Keys, database: u32, words: &[&str]) -> Keys {
    let mut keys = keys.clone();
    match *words {
        ["SWAPDB", a, b] => {
            let (a, b) = (a.parse().unwrap(), b.parse().unwrap());
            let other = |database| match database {
                _ if database == a => b,
                _ if database == b => a,
                _ => database,
            };
            return keys.into_iter().map(|((at, name), key)| ((other(at), name), key)).collect();
        }
        ["FLUSHALL", ..] => keys.clear(),
        _ => keys.retain(|(at, _), _| *at != database),
    }
    keys
}

/// Commands of Redis' own types. `None`: it fails.
fn of_other_type(keys: &Keys, name: &(u32, String), words: &[&str]) -> Option<Keys> {
    match *words {
        ["SET", _, value, ref option @ ..] => return Some(set(keys, name, value, option.first())),
        ["SUNIONSTORE", _, from] => return store(keys, name, from),
        _ => {}
    }
    let Some((at, old)) = keys.get(name) else {
        let made = fresh(words).map(|held| (-1, held));
        return Some(made.map_or_else(|| keys.clone(), |made| with(keys, name, Some(made))));
    };
    let mut held = old.clone();
    let is_empty = match (&mut held, words) {
        (Held::Text(text), ["APPEND", _, more]) => {
            text.push_str(more);
            false
        }
        (Held::List(list), ["LPUSH", _, value]) => {
            list.insert(0, (*value).into());
            false
        }
        (Held::List(list), ["RPOP", _]) => {
            list.pop();
            list.is_empty()
        }
        (Held::Hash(pairs), ["HSET", _, key, value])
        | (Held::Sorted(pairs), ["ZADD", _, value, key]) => {
            pairs.insert((*key).into(), (*value).into());
            false
        }
        (Held::Hash(pairs), ["HDEL", _, key]) | (Held::Sorted(pairs), ["ZREM", _, key]) => {
            pairs.remove(*key);
            pairs.is_empty()
        }
        (Held::Set(set), ["SADD", _, value]) => {
            set.insert((*value).into());
            false
        }
        (Held::Stream(values), ["XADD", _, _, _, value]) => {
            values.push((*value).into());
            false
        }
        _ => return None,
    };
    Some(with(keys, name, Some((*at, held)).filter(|_| !is_empty)))
}

/// What a command makes that adds to a key where there is none. `None`: it removes.
fn fresh(words: &[&str]) -> Option<Held> {
    let pair = |key: &str, value: &str| BTreeMap::from([(key.into(), value.into())]);
    match *words {
        ["APPEND", _, value] => Some(Held::Text(value.into())),
        ["LPUSH", _, value] => Some(Held::List(vec![value.into()])),
        ["HSET", _, field, value] => Some(Held::Hash(pair(field, value))),
        ["SADD", _, value] => Some(Held::Set(BTreeSet::from([value.into()]))),
        ["ZADD", _, score, member] => Some(Held::Sorted(pair(member, score))),
        ["XADD", _, _, _, value] => Some(Held::Stream(vec![value.into()])),
        _ => None,
    }
}

fn set(keys: &Keys, name: &(u32, String), value: &str, option: Option<&&str>) -> Keys {
    let old = keys.get(name);
    match option {
        Some(&"NX") if old.is_some() => return keys.clone(),
        Some(&"XX") if old.is_none() => return keys.clone(),
        _ => {}
    }
    let at = old.filter(|_| option == Some(&"KEEPTTL")).map_or(-1, |key| key.0);
    with(keys, name, Some((at, Held::Text(value.into()))))
}

/// The union of one set: that set, or no key.
fn store(keys: &Keys, name: &(u32, String), from: &str) -> Option<Keys> {
    match keys.get(&(name.0, from.to_owned())).map(|key| &key.1) {
        None => Some(with(keys, name, None)),
        Some(Held::Set(set)) => Some(with(keys, name, Some((-1, Held::Set(set.clone()))))),
        Some(_) => None,
    }
}

/// The keys that the server has.
pub(crate) fn found(client: &mut Client) -> Keys {
    let mut keys = Keys::new();
    for database in 0..DATABASES {
        client.call(&format!("SELECT {database}"));
        for name in client.call("KEYS *").texts() {
            let Reply::Integer(at) = client.call(&format!("PEXPIRETIME {name}")) else {
                panic!("no time")
            };
            let held = held(client, &name);
            keys.insert((database, name), (at, held));
        }
    }
    client.call("SELECT 0");
    keys
}

fn held(client: &mut Client, name: &str) -> Held {
    let mut ask = |command: &str| client.call(&command.replace("NAME", name));
    let pairs = |reply: Reply| {
        let texts = reply.texts();
        texts.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
    };
    match ask("TYPE NAME").text().as_str() {
        "endura-om" => {
            let is_own = !ask("EN.INFO NAME").text().contains("roart");
            Held::Map { is_own, entries: pairs(ask("EN.RANGE NAME - +")) }
        }
        "string" => Held::Text(ask("GET NAME").text()),
        "list" => Held::List(ask("LRANGE NAME 0 -1").texts()),
        "hash" => Held::Hash(pairs(ask("HGETALL NAME"))),
        "set" => Held::Set(ask("SMEMBERS NAME").texts().into_iter().collect()),
        "zset" => Held::Sorted(pairs(ask("ZRANGE NAME 0 -1 WITHSCORES"))),
        "stream" => {
            let Reply::Array(entries) = ask("XRANGE NAME - +") else { panic!("no array") };
            let value = |entry: &Reply| entry.text().rsplit(' ').next().map(str::to_owned);
            Held::Stream(entries.iter().filter_map(value).collect())
        }
        other => panic!("{name} is of type {other}"),
    }
}
