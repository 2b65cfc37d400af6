//! What the keys of one client must be, and random commands that change them.

use std::collections::BTreeMap;

use super::Random;
use super::client::{Client, Reply};

/// A key: when it expires (-1: never), and its entries.
pub(crate) type Key = (i64, BTreeMap<String, String>);
/// Keys by database and name.
pub(crate) type Keys = BTreeMap<(u32, String), Key>;

/// A command, and the state that it leads to. A kill in it leaves this state or the one before.
pub(crate) struct Step {
    pub(crate) line: String,
    pub(crate) state: Keys,
    pub(crate) answer: Option<Reply>,
}

/// What a client may do besides writing fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Keys of its own, in one database.
    Own,
    /// All databases.
    All,
}

/// One key in another state.
fn with(keys: &Keys, name: &(u32, String), key: Option<Key>) -> Keys {
    let mut keys = keys.clone();
    match key {
        Some(key) => keys.insert(name.clone(), key),
        None => keys.remove(name),
    };
    keys
}

/// What a command is made of.
struct Draw<'a> {
    random: &'a mut Random,
    keys: &'a Keys,
    key: (u32, String),
    other: (u32, String),
    value: String,
}

fn simple(line: String, state: Keys) -> Step {
    Step { line, state, answer: None }
}

/// A random command on keys of `client` in `database`, and what it does.
pub(crate) fn step(
    random: &mut Random,
    keys: &Keys,
    client: usize,
    database: u32,
    reach: Reach,
) -> Step {
    let mut name = || (database, format!("c{client}k{}", random.below(5)));
    let (key, other) = (name(), name());
    let value = format!("v{}", random.below(1_000_000));
    let which = random.below(if reach == Reach::All { 19 } else { 16 });
    let draw = Draw { random, keys, key, other, value };
    match which {
        0..=4 => set_fields(draw),
        5..11 => of_fields(draw, which),
        11..16 => of_keys(draw, which),
        _ => of_databases(draw, which),
    }
}

/// EN.SET of up to three fields.
fn set_fields(draw: Draw<'_>) -> Step {
    let Draw { random, keys, key, value, .. } = draw;
    let old = keys.get(&key);
    let mut line = format!("EN.SET {}", key.1);
    let mut now = old.cloned().unwrap_or((-1, BTreeMap::new()));
    for _ in 0..1 + random.below(3) {
        let field = format!("f{}", random.below(12));
        line += &format!(" {field} {value}");
        now.1.insert(field, value.clone());
    }
    simple(line, with(keys, &key, Some(now)))
}

fn of_fields(draw: Draw<'_>, which: u64) -> Step {
    let Draw { random, keys, key, value, .. } = draw;
    let old = keys.get(&key);
    let field = |random: &mut Random| format!("f{}", random.below(12));
    match which {
        5 | 6 => {
            let (first, second) = (field(random), field(random));
            let line = format!("EN.DEL {} {first} {second}", key.1);
            let mut now = old.cloned().unwrap_or_default();
            now.1.retain(|field, _| *field != first && *field != second);
            simple(line, with(keys, &key, Some(now).filter(|now| !now.1.is_empty())))
        }
        7 => {
            let field = field(random);
            let line = format!("EN.SET {} {field} {value} NX", key.1);
            let mut now = old.cloned().unwrap_or((-1, BTreeMap::new()));
            now.1.entry(field).or_insert(value);
            simple(line, with(keys, &key, Some(now)))
        }
        8 => {
            let (line, mut now) =
                (format!("EN.INCRBY {} n 7", key.1), old.cloned().unwrap_or((-1, BTreeMap::new())));
            let sum = now.1.get("n").map_or(0, |n| n.parse::<i64>().unwrap()) + 7;
            now.1.insert("n".into(), sum.to_string());
            let state = with(keys, &key, Some(now));
            Step { line, state, answer: Some(Reply::Integer(sum)) }
        }
        9 => {
            let count = 1 + random.below(3);
            let line = format!("EN.POP {} MIN {count}", key.1);
            let mut now = old.cloned().unwrap_or_default();
            (0..count).for_each(|_| drop(now.1.pop_first()));
            simple(line, with(keys, &key, Some(now).filter(|now| !now.1.is_empty())))
        }
        _ => {
            let found = old.and_then(|old| old.1.last_key_value());
            let (field, old_value) = found.map_or(("f", "x"), |(field, value)| (field, value));
            let line = format!("EN.CAS {} {field} {old_value} 5{}", key.1, random.below(9));
            let new = line.rsplit(' ').next().unwrap().to_owned();
            let mut after = keys.clone();
            if let Some(entry) = after.get_mut(&key).and_then(|key| key.1.last_entry()) {
                *entry.into_mut() = new;
            }
            simple(line, after)
        }
    }
}

fn of_keys(draw: Draw<'_>, which: u64) -> Step {
    let Draw { random, keys, key, other, .. } = draw;
    let old = keys.get(&key);
    match which {
        11 => {
            let mut after = keys.clone();
            let line = format!("RENAME {} {}", key.1, other.1);
            if let Some(moved) = after.remove(&key) {
                after.insert(other, moved);
            }
            simple(line, after)
        }
        12 => {
            let mut after = keys.clone();
            let line = format!("COPY {} {} REPLACE", key.1, other.1);
            if let (Some(copied), true) = (old, key != other) {
                after.insert(other, copied.clone());
            }
            simple(line, after)
        }
        13 => {
            let word = if random.below(2) == 0 { "DEL" } else { "UNLINK" };
            simple(format!("{word} {}", key.1), with(keys, &key, None))
        }
        14 => {
            // Gone, for a string is in no pool; and then the string too.
            simple(format!("SET {} text PXAT 1", key.1), with(keys, &key, None))
        }
        _ => {
            let at = 4_000_000_000_000 + random.below(1_000_000) as i64;
            let mut after = keys.clone();
            if let Some(key) = after.get_mut(&key) {
                key.0 = at;
            }
            simple(format!("PEXPIREAT {} {at}", key.1), after)
        }
    }
}

fn of_databases(draw: Draw<'_>, which: u64) -> Step {
    let Draw { random, keys, key, .. } = draw;
    let database = key.0;
    match which {
        16 => {
            let (a, b) = (random.below(4) as u32, random.below(4) as u32);
            let swapped = |database| match database {
                database if database == a => b,
                database if database == b => a,
                database => database,
            };
            let after = keys
                .iter()
                .map(|((database, name), key)| ((swapped(*database), name.clone()), key.clone()));
            simple(format!("SWAPDB {a} {b}"), after.collect())
        }
        17 => {
            let to = random.below(4) as u32;
            let mut after = keys.clone();
            if to != database && keys.contains_key(&key) && !keys.contains_key(&(to, key.1.clone()))
            {
                let moved = after.remove(&key).unwrap();
                after.insert((to, key.1.clone()), moved);
            }
            simple(format!("MOVE {} {to}", key.1), after)
        }
        _ => {
            let all = random.below(3) == 0;
            let mut after = keys.clone();
            after.retain(|(other, _), _| !all && *other != database);
            let how = ["", " ASYNC", " SYNC"][random.below(3) as usize];
            simple(format!("FLUSH{}{how}", if all { "ALL" } else { "DB" }), after)
        }
    }
}

/// The keys of a client that the server has.
pub(crate) fn found(connection: &mut Client, client: usize) -> Keys {
    let mut keys = Keys::new();
    for database in 0..4 {
        connection.call(&format!("SELECT {database}"));
        for name in connection.call(&format!("KEYS c{client}k*")).texts() {
            if connection.call(&format!("TYPE {name}")).text() != "endura-om" {
                continue;
            }
            let Reply::Integer(expires) = connection.call(&format!("PEXPIRETIME {name}")) else {
                panic!("no time")
            };
            let entries = connection.call(&format!("EN.RANGE {name} - +")).texts();
            let entries = entries.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone()));
            keys.insert((database, name), (expires, entries.collect()));
        }
    }
    connection.call("SELECT 0");
    keys
}
