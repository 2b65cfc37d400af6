//! The keys of the pool become keys of Redis, before the first command.
//!
//! Not when the module is loaded: an RDB is loaded behind that, and would find keys there. All of them, not each on its
//! first access: KEYS, SCAN, TTL and the slots of a cluster know only what is in Redis' dictionary.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::session::Session;
use crate::redis::api::flags;
use crate::redis::{Context, Level, OwnText};
use crate::store::{Count, Form, Outcome, Record, Value};

/// A key of the pool: its number, its database, its record.
type Found = (u64, i32, Record);

impl Session {
    /// Whether a command is carried out now: not one of an append-only file that is older than the pool. The first
    /// command of a client finds the pool's keys.
    pub(crate) fn is_ready(&self, context: &Context<'_>) -> bool {
        if self.is_attached() {
            return true;
        }
        if context.has(flags::LOADING) {
            return self.takes_over(None);
        }
        self.attach(context);
        true
    }

    /// Attaches, unless that was done, or the server still loads a file.
    pub(crate) fn attach(&self, context: &Context<'_>) {
        if self.is_attached() || context.has(flags::LOADING) {
            return;
        }
        let begin = Instant::now();
        let took_over = self.took_over();
        let attached = self.attach_all(context, took_over);
        // Release: pairs with `is_attached`.
        self.attached.store(true, Ordering::Release);
        let took = begin.elapsed();
        self.attach_micros.store(took.as_micros() as u64, Ordering::Relaxed);
        match attached {
            Ok(keys) => {
                self.attached_keys.store(keys, Ordering::Relaxed);
                let from = if took_over { "taken over from a file" } else { "attached" };
                context.log(Level::Notice, format!("{keys} keys {from} in {took:?}"));
            }
            Err(failure) => context.log(Level::Warning, failure.text()),
        }
    }

    fn attach_all(&self, context: &Context<'_>, took_over: bool) -> Outcome<u64> {
        let first = self.store.first_of_session();
        // From here on what was taken over is what the pool has.
        self.store.catalogue.settle()?;
        self.store.catalogue.set_partial(false)?;
        let (alive, gone) = self.sort_out()?;
        let mut keys = 0;
        for (id, database, record) in &alive {
            keys += u64::from(took_over || self.attach_one(context, *id, *database, record)?);
        }
        for id in gone {
            self.store.sweeper.one(id);
        }
        let mut numbers: Vec<u64> = alive.iter().map(|(id, ..)| *id).collect();
        numbers.sort_unstable();
        self.store.sweeper.strays(numbers, first);
        self.drop_ghosts(context);
        if self.start().loads_rdb && !took_over && !context.is_replica() {
            part_from_file(context);
        }
        Ok(keys)
    }

    /// The records that are keys, each with its database, and the numbers of those that are not.
    fn sort_out(&self) -> Outcome<(Vec<Found>, Vec<u64>)> {
        let records = self.store.catalogue.read()?;
        let (mut newest, mut gone) = (HashMap::new(), Vec::new());
        for (id, record) in records {
            let Some(database) = self.store.catalogue.spaces().database(record.space) else {
                gone.push(id);
                continue;
            };
            let name = (database, record.name.clone());
            let found: Option<&(u64, Record)> = newest.get(&name);
            if found.is_some_and(|(_, other)| other.sequence > record.sequence) {
                gone.push(id);
            } else {
                gone.extend(newest.insert(name, (id, record)).map(|(id, _)| id));
            }
        }
        let alive = newest.into_iter().map(|((database, _), (id, record))| (id, database, record));
        Ok((alive.collect(), gone))
    }

    /// Makes one key; `false` if it has no entries, for a kill came between its last entry and its record.
    fn attach_one(
        &self,
        context: &Context<'_>,
        id: u64,
        database: i32,
        record: &Record,
    ) -> Outcome<bool> {
        let own = self.store.entries.own(id, record.form)?;
        let value = Value { id, form: record.form, own, count: Count::unknown() };
        if record.form == Form::Shared && self.store.entries.is_empty(&value)? {
            self.store.sweeper.one(id);
            return Ok(false);
        }
        let name = OwnText::new(&record.name);
        context.in_database(database, || {
            let mut key = context.write(&name);
            key.set(value);
            if record.expires >= 0 {
                key.set_expires(record.expires);
            }
        });
        Ok(true)
    }

    fn drop_ghosts(&self, context: &Context<'_>) {
        let ghosts = std::mem::take(&mut self.start().ghosts);
        for (database, name) in ghosts {
            let name = OwnText::new(&name);
            context.in_database(database, || {
                let mut key = context.write(&name);
                if key.value().is_ok_and(|value| value.is_some_and(|value| value.id == 0)) {
                    key.delete();
                }
            });
        }
    }
}

/// Replicas may not go on from the state of the file: the pool is ahead of it.
fn part_from_file(context: &Context<'_>) {
    if !context.call(c"DEBUG", c"CHANGE-REPL-ID") {
        let text = "the server has no DEBUG, which makes a new replication id: a replica that goes on from a file misses \
                    what the pool has and this server's file has not";
        context.log(Level::Warning, text);
    }
}
