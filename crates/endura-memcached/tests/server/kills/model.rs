//! The model of one client: what it knows of its keys.

use std::collections::BTreeMap;
use std::io::Result;

use crate::support::{Client, Shown};

/// Keys of a client.
const KEYS: u64 = 40;

/// A time of expiry that no test sees the end of.
const LONG: i32 = 1_000_000;

/// Flags and data.
type Value = (u32, Vec<u8>);
type Values = BTreeMap<String, Value>;

/// A command to come, its reply, and what it leaves.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) said: Vec<u8>,
    /// None after `noreply`.
    reply: Option<String>,
    /// The reply is items and `END`.
    shows: bool,
    key: String,
    left: Option<Value>,
}

impl Step {
    pub(crate) fn set(key: &str, flags: u32, data: &[u8]) -> Self {
        let said = with_data(&format!("set {key} {flags} 0"), data, "");
        let left = Some((flags, data.to_vec()));
        Self { said, reply: Some("STORED".into()), shows: false, key: key.into(), left }
    }

    /// Whether a reply says that it has happened, and all before it.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.reply.is_some()
    }

    /// Reads its reply.
    pub(crate) fn reply(&self, client: &mut Client) -> Result<String> {
        match (&self.reply, self.shows) {
            (None, _) => Ok(String::new()),
            (Some(_), false) => client.line(),
            (Some(_), true) => Ok(shown(client.items("")?.into_iter().next())),
        }
    }

    pub(crate) fn expect(&self, reply: &str) {
        let expected = self.reply.as_deref().unwrap_or_default();
        assert_eq!(reply, expected, "to {}", self.said.escape_ascii());
    }
}

fn shown(item: Option<Shown>) -> String {
    item.map_or("nothing".into(), |(_, flags, _, data)| format!("{flags} {}", data.escape_ascii()))
}

fn with_data(head: &str, data: &[u8], tail: &str) -> Vec<u8> {
    let mut said = format!("{head} {}{tail}\r\n", data.len()).into_bytes();
    said.extend_from_slice(data);
    said.extend_from_slice(b"\r\n");
    said
}

/// What is there for certain, and the commands in flight of the last kill.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    client: u64,
    rng: fastrand::Rng,
    values: Values,
    in_flight: Vec<Step>,
}

impl Model {
    pub(crate) fn new(client: u64, seed: u64) -> Self {
        let rng = fastrand::Rng::with_seed(seed);
        Self { client, rng, values: Values::new(), in_flight: Vec::new() }
    }

    /// The keys that are there.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.values.keys().cloned().collect()
    }

    /// Everything is gone.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.in_flight.clear();
    }

    /// Notes a command that was acknowledged, or whose successor was.
    pub(crate) fn settle(&mut self, step: &Step) {
        apply(&mut self.values, step);
    }

    /// Notes commands whose fate is not known.
    pub(crate) fn leave(&mut self, steps: Vec<Step>) {
        self.in_flight = steps;
    }

    /// Compares with a server, which must have done the commands in flight up to some point.
    pub(crate) fn compare(&mut self, client: &mut Client) {
        let mut found = Values::new();
        for key in 0..KEYS {
            let key = format!("c{}k{key}", self.client);
            if let Some((key, flags, _, data)) =
                client.items(&format!("get {key}\r\n")).unwrap().pop()
            {
                found.insert(key, (flags, data));
            }
        }
        let mut possible = self.values.clone();
        for step in std::mem::take(&mut self.in_flight) {
            if possible == found {
                break;
            }
            apply(&mut possible, &step);
        }
        assert!(possible == found, "client {}: {found:?}, expected {:?}", self.client, self.values);
        self.values = found;
    }

    /// Some commands to send at once. The last one has a reply, so that those without are settled as well.
    pub(crate) fn plan(&mut self) -> Vec<Step> {
        let (mut values, mut steps) = (self.values.clone(), Vec::new());
        for _ in 0..self.rng.usize(1..6) {
            steps.push(self.step(&values));
            apply(&mut values, &steps[steps.len() - 1]);
        }
        let key = steps[steps.len() - 1].key.clone();
        steps.push(get(&key, values.get(&key)));
        steps
    }

    /// A `cas`, with the number of the item or another one.
    pub(crate) fn plan_cas(&mut self, client: &mut Client) -> Result<Vec<Step>> {
        let key = format!("c{}k{}", self.client, self.rng.u64(..KEYS));
        let item = client.items(&format!("gets {key}\r\n"))?.pop();
        let (old, is_right) = (self.values.get(&key).cloned(), self.rng.bool());
        let cas = item.as_ref().map_or(1, |(_, _, cas, _)| cas + u64::from(!is_right));
        assert_eq!(shown(item), value_shown(old.as_ref()), "{key}");
        let data = self.rng.u64(..).to_string().into_bytes();
        let said = format!("cas {key} 4 0 {} {cas}\r\n", data.len()).into_bytes();
        let said = [said, data.clone(), b"\r\n".to_vec()].concat();
        let (reply, left) = match old {
            None => ("NOT_FOUND", None),
            Some(_) if is_right => ("STORED", Some((4, data))),
            old => ("EXISTS", old),
        };
        Ok(vec![Step { said, reply: Some(reply.into()), shows: false, key, left }])
    }

    /// Whether the next commands are one `cas`.
    pub(crate) fn wants_cas(&mut self) -> bool {
        self.rng.u8(..4) == 0
    }

    fn step(&mut self, values: &Values) -> Step {
        let key = format!("c{}k{}", self.client, self.rng.u64(..KEYS));
        let old = values.get(&key).cloned();
        let (flags, length) = (self.rng.u32(..9), self.rng.usize(..300));
        let data = match self.rng.bool() {
            true => self.rng.u64(..).to_string().into_bytes(),
            // It does not start as a number does.
            false => std::iter::once(b'b').chain((0..length).map(|_| self.rng.u8(..))).collect(),
        };
        let kind = self.rng.u8(..12);
        let is_quiet = kind < 10 && self.rng.u8(..5) == 0;
        let tail = if is_quiet { " noreply" } else { "" };
        let stores =
            |how: &str, time: i32| with_data(&format!("{how} {key} {flags} {time}"), &data, tail);
        let new = Some((flags, data.clone()));
        let (said, reply, left) = match (kind, old.clone()) {
            (0..3, _) => (stores("set", 0), "STORED".into(), new),
            (3, _) => (stores("set", -1), "STORED".into(), None),
            (4, None) => (stores("add", 0), "STORED".into(), new),
            (4, old) => (stores("add", 0), "NOT_STORED".into(), old),
            (5, None) => (stores("replace", 0), "NOT_STORED".into(), None),
            (5, Some(_)) => (stores("replace", LONG), "STORED".into(), new),
            (6, None) => (stores("append", 0), "NOT_STORED".into(), None),
            (6, Some((flags, old))) => {
                (stores("append", 0), "STORED".into(), Some((flags, [old, data.clone()].concat())))
            }
            (7, None) => (stores("prepend", 0), "NOT_STORED".into(), None),
            (7, Some((flags, old))) => {
                (stores("prepend", 0), "STORED".into(), Some((flags, [data.clone(), old].concat())))
            }
            (8, old) => {
                let reply = if old.is_some() { "DELETED" } else { "NOT_FOUND" };
                (format!("delete {key}{tail}\r\n").into_bytes(), reply.into(), None)
            }
            (9, old) => self.arithmetic(&key, old, tail),
            (10, old) => {
                let reply = if old.is_some() { "TOUCHED" } else { "NOT_FOUND" };
                let (time, left) = if self.rng.bool() { (LONG, old) } else { (-1, None) };
                (format!("touch {key} {time}\r\n").into_bytes(), reply.into(), left)
            }
            (_, old) => return gat(&key, old),
        };
        Step { said, reply: (!is_quiet).then_some(reply), shows: false, key, left }
    }

    fn arithmetic(
        &mut self,
        key: &str,
        old: Option<Value>,
        tail: &str,
    ) -> (Vec<u8>, String, Option<Value>) {
        let (delta, is_less) = (self.rng.u64(..), self.rng.bool());
        let name = if is_less { "decr" } else { "incr" };
        let said = format!("{name} {key} {delta}{tail}\r\n").into_bytes();
        let Some((flags, data)) = old else { return (said, "NOT_FOUND".into(), None) };
        // The number ends at a blank: one that became shorter is padded with blanks.
        let word = data.split(|&byte| byte == b' ').next().unwrap_or_default();
        let is_number = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
        let text = String::from_utf8_lossy(word).into_owned();
        match text.parse::<u64>().ok().filter(|_| is_number) {
            Some(old) => {
                let number =
                    if is_less { old.saturating_sub(delta) } else { old.wrapping_add(delta) };
                let (text, length) = (number.to_string(), data.len());
                let padded = format!("{text:<length$}");
                (said, text, Some((flags, padded.into_bytes())))
            }
            None => {
                let refused = "CLIENT_ERROR cannot increment or decrement non-numeric value";
                (said, refused.into(), Some((flags, data)))
            }
        }
    }
}

fn value_shown(value: Option<&Value>) -> String {
    shown(value.map(|(flags, data)| (String::new(), *flags, 0, data.clone())))
}

fn get(key: &str, value: Option<&Value>) -> Step {
    let (said, reply) = (format!("get {key}\r\n").into_bytes(), Some(value_shown(value)));
    Step { said, reply, shows: true, key: key.into(), left: value.cloned() }
}

fn gat(key: &str, value: Option<Value>) -> Step {
    let said = format!("gat {LONG} {key}\r\n").into_bytes();
    let reply = Some(value_shown(value.as_ref()));
    Step { said, reply, shows: true, key: key.into(), left: value }
}

fn apply(values: &mut Values, step: &Step) {
    match &step.left {
        Some(value) => values.insert(step.key.clone(), value.clone()),
        None => values.remove(&step.key),
    };
}
