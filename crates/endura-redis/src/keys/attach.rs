//! Attaching: before the first command, the keys of the pool become keys of Redis.
//!
//! Attaching does not happen when the module is loaded, because Redis loads its RDB after that, and would find keys in
//! the way.
//! All keys are attached at once, and not each on its first access, because KEYS, SCAN, TTL and the slots of a cluster
//! know only the keys in Redis' dictionary.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::evictions::evicts_maps;
use super::session::{Refusal, Session};
use crate::redis::api::flags;
use crate::redis::{Context, Level, NotWritten, OwnText, end};
use crate::store::{Count, Failure, Form, Outcome, Record, Span, Value};

/// A key of the pool: its number, its database, its record.
type LiveRecord = (u64, i32, Record);

/// Like [`LiveRecord`], but with the value that Redis will hold in place of the number.
type Opened = (Value, i32, Record);

/// The time after a refused attach from which on a command tries again. The cause of the refusal, such as a full disk
/// or a lack of memory, may have passed by then. A try takes as long as an attach, so not every command may make one.
const AGAIN: Duration = Duration::from_secs(1);

const PARTIAL: &str = "a full resync was cut short, and there is no file: the keys that had come by then are attached";

impl Session {
    /// Whether a command is to be executed. A command from an append-only file is not executed if the pool is newer
    /// than the file. The first command of a client attaches the keys of the pool. If they cannot be attached, that
    /// command fails, because a key that it creates could take the place of a key in the pool.
    pub(crate) fn is_ready(&self, context: &Context<'_>) -> Outcome<bool> {
        if self.is_attached() {
            return Ok(true);
        }
        if context.has(flags::LOADING) {
            return Ok(self.takes_over(None));
        }
        let is_fresh = self.refusal().as_ref().is_some_and(|refusal| refusal.at.elapsed() < AGAIN);
        if !is_fresh {
            self.attach(context, false);
        }
        self.refused().map_or(Ok(true), |why| Err(Failure::Unattached(why)))
    }

    /// Called between two commands: attaches the keys before the first command. After a refusal this does nothing,
    /// because commands try again. Only an attach that has to be made between two commands is tried again here.
    pub(super) fn attach_once(&self, context: &Context<'_>) {
        if !self.is_refused() || self.waits_for_turn.swap(false, Ordering::Relaxed) {
            self.attach(context, true);
        }
    }

    /// Attaches the keys, unless they are attached, or the server is still loading a file. `is_turn` says that the
    /// server is between two commands.
    pub(super) fn attach(&self, context: &Context<'_>, is_turn: bool) {
        if !self.is_attached() && !context.has(flags::LOADING) {
            self.attach_in_place(context, is_turn);
        }
    }

    /// Like [`attach`](Self::attach), also while a file is loaded. A refusal comes only after the server has loaded its own
    /// file, so after one this is the file of a full resync.
    pub(super) fn attach_in_place(&self, context: &Context<'_>, is_turn: bool) {
        let begin = Instant::now();
        let took_over = self.took_over();
        let attached = self.attach_all(context, took_over, is_turn);
        let took = begin.elapsed();
        match attached {
            Ok(keys) => {
                // Release: pairs with `is_attached`.
                self.attached.store(true, Ordering::Release);
                *self.refusal() = None;
                self.attach_micros.store(took.as_micros() as u64, Ordering::Relaxed);
                self.attached_keys.store(keys, Ordering::Relaxed);
                let noun = if keys == 1 { "key" } else { "keys" };
                let from = if took_over { "taken over from a file" } else { "attached" };
                context.log(Level::Notice, format!("{keys} {noun} {from} in {took:?}"));
                if let Some(warning) = evicts_maps() {
                    context.log(Level::Warning, warning);
                }
            }
            Err(failure) => {
                self.refuse(context, &failure);
                if is_turn && !took_over && self.start().has_loaded && context.is_replica() {
                    // The maps of the file were dropped, so this replica must not continue from the file. If it cannot
                    // part now, it parts when keys are attached.
                    let _ = self.part(context, is_turn);
                }
            }
        }
    }

    /// Records why the keys are not attached. Until an attach succeeds, no key of the pool is served or changed.
    fn refuse(&self, context: &Context<'_>, failure: &Failure) {
        let why = failure.reason();
        let is_new = self.refused().as_ref() != Some(&why);
        *self.refusal() = Some(Refusal { why: why.clone(), at: Instant::now() });
        // The empty keys that stand in for maps of the file are deleted, because DUMP and MIGRATE would copy them as
        // empty maps.
        self.drop_ghosts(context);
        if is_new {
            let way_out =
                "To keep what files of this server have of them, end it by SHUTDOWN NOSAVE";
            let text = Failure::Unattached(why).text();
            context.log(Level::Warning, format!("{text}. {way_out}"));
        }
    }

    /// Attaches all keys or none: everything that can fail comes before the first change that clients can see.
    fn attach_all(&self, context: &Context<'_>, took_over: bool, is_turn: bool) -> Outcome<u64> {
        let first = self.store.first_of_session();
        let (mut alive, mut gone) = self.sort_out()?;
        let mut cut_off = Vec::new();
        if !took_over {
            let is_cut_off = self.slots_cut_off(context)?;
            let found = alive.extract_if(.., |(.., record)| is_cut_off(&record.name));
            cut_off.extend(found.map(|(id, ..)| id));
        }
        let mut numbers: Vec<u64> = alive.iter().map(|(id, ..)| *id).collect();
        numbers.sort_unstable();
        let keys = numbers.len();
        // Maps that were taken over from a file are keys of Redis already.
        let opened = if took_over { Vec::new() } else { self.open_all(alive, &mut gone)? };
        have_databases(context, &opened)?;
        if self.is_refused() {
            are_free(context, &opened)?;
        }
        // From here on the maps that were taken over have replaced those of the pool.
        self.store.catalogue.settle()?;
        let is_partial = !took_over && self.store.catalogue.is_partial()?;
        let keys = if took_over { keys } else { opened.len() };
        if !took_over && (keys > 0 || self.start().has_loaded) {
            self.waits_for_turn.store(!is_turn, Ordering::Relaxed);
            self.part(context, is_turn)?;
        }
        if is_partial {
            // The keys that the pool lacks are in no file either. The master will send all keys again.
            context.log(Level::Warning, PARTIAL);
        }
        self.store.catalogue.set_partial(false)?;
        self.drop_cut_off(&cut_off)?;
        let made = opened.into_iter().filter_map(|opened| make(context, opened)).collect();
        super::sizes::count_all(made);
        for id in gone.into_iter().chain(cut_off) {
            self.store.sweeper.one(id);
        }
        self.store.sweeper.strays(numbers, first);
        self.drop_ghosts(context);
        Ok(keys as u64)
    }

    /// Two kinds of records: those that stand for keys, each with its database, and the numbers of the others, whose database
    /// is gone.
    fn sort_out(&self) -> Outcome<(Vec<LiveRecord>, Vec<u64>)> {
        let (mut alive, mut gone) = (Vec::new(), Vec::new());
        for (id, record) in self.store.catalogue.read()? {
            match self.store.catalogue.spaces().database(record.space) {
                Some(database) => alive.push((id, database, record)),
                None => gone.push(id),
            }
        }
        Ok((alive, gone))
    }

    /// The values that Redis will hold for the keys. If a record says that its entries are in the shared map, but there
    /// are none, it stands for no key: a replica was killed between the commands of its master that remove the last
    /// entries and the key.
    fn open_all(&self, alive: Vec<LiveRecord>, gone: &mut Vec<u64>) -> Outcome<Vec<Opened>> {
        let entries = &self.store.entries;
        let mut opened = Vec::with_capacity(alive.len());
        for (id, database, record) in alive {
            let open = || {
                let own = entries.own(id, record.form)?;
                let value = Value { id, form: record.form, own, count: Count::unknown() };
                let is_there =
                    record.form != Form::Shared || entries.has_more_than(&value, &Span::ALL, 0)?;
                Ok(is_there.then_some(value))
            };
            match open() {
                Ok(Some(value)) => opened.push((value, database, record)),
                Ok(None) => gone.push(id),
                Err(failure) => return Err(of_key(&record.name, &failure)),
            }
        }
        Ok(opened)
    }

    fn drop_ghosts(&self, context: &Context<'_>) {
        let (ghosts, is_own_file) = {
            let mut start = self.start();
            (std::mem::take(&mut start.ghosts), start.is_own_file)
        };
        for (database, name) in ghosts {
            let name = OwnText::new(&name);
            let dropped = context.in_database(database, || {
                let mut key = context.write(&name);
                let is_ghost =
                    key.value().is_ok_and(|value| value.is_some_and(|value| value.id == 0));
                if !is_ghost {
                    return true;
                }
                let is_deleted = key.delete().is_ok();
                if is_own_file && !self.is_refused() {
                    context.delete_in_file(&name);
                } else {
                    self.left_out().insert((database, name.bytes().to_vec()));
                }
                is_deleted
            });
            if !dropped.unwrap_or(false) {
                context.log(Level::Warning, "an empty key of a file could not be deleted");
            }
        }
    }
}

/// Creates a key. The key replaces what a file had under its name, also in the append-only file. If the server refuses
/// the key, the server is ended: other keys have already been created, and the pool still has all of them. Returns the value that
/// the key now holds, unless the key has expired.
fn make(context: &Context<'_>, (value, database, record): Opened) -> Option<Arc<Value>> {
    let name = OwnText::new(&record.name);
    let made = context.in_database(database, || {
        let mut key = context.write(&name);
        if key.value().is_err() {
            context.delete_in_file(&name);
        }
        key.set(value)?;
        if record.expires >= 0 {
            key.set_expires(record.expires)?;
        }
        Ok::<_, NotWritten>(key.shared().ok().flatten())
    });
    match made {
        Ok(Ok(made)) => made,
        _ => end("a key of the pool cannot be attached", &record.name.escape_ascii().to_string()),
    }
}

/// Fails if a key of the pool is in a database that the server does not have. In another database it could take the place
/// of a key of the same name.
fn have_databases(context: &Context<'_>, opened: &[Opened]) -> Outcome {
    let last = opened.iter().map(|(_, database, _)| *database).max().unwrap_or(0);
    if context.has_database(last) {
        return Ok(());
    }
    let has = (0..last).take_while(|database| context.has_database(*database)).count();
    let way_out = if context.has(flags::CLUSTER) {
        "a node of a cluster has as many: start it without `cluster-enabled`, and MOVE or delete them"
            .into()
    } else {
        format!("set `databases` to {} or more", i64::from(last) + 1)
    };
    Err(Failure::Unattached(format!(
        "the pool has keys in database {last}, and the server has {has} databases, from 0 on: {way_out}"
    )))
}

/// Fails if, since an attach was refused, a key was created under the name of a key in the pool. Neither of them may
/// replace the other unless the user decides so.
fn are_free(context: &Context<'_>, opened: &[Opened]) -> Outcome {
    let taken = opened.iter().find(|(_, database, record)| {
        let name = OwnText::new(&record.name);
        // A name that cannot be looked up counts as taken.
        context.in_database(*database, || context.peek(&name).is_there()).unwrap_or(true)
    });
    taken.map_or(Ok(()), |(_, _, record)| {
        let text = "ERR endura: another key has its name now: DEL or RENAME that one";
        Err(of_key(&record.name, &Failure::Says(text)))
    })
}

/// The failure, with the name of the key that it concerns.
fn of_key(name: &[u8], failure: &Failure) -> Failure {
    Failure::Unattached(format!("key `{}`: {}", name.escape_ascii(), failure.reason()))
}
