//! Keeps the catalogue in step with what Redis does to keys.
//!
//! Redis reports when it has taken a key out of a database (`unlink`), when it has done something to a key
//! (notifications), and when it no longer needs a value (`free`). RENAME and MOVE also unlink a key: its value then comes
//! back under another name. So the number of an unlinked key is kept aside until the command has reported what it did, by
//! a notification, which comes before the reply is sent. `rename_to` and `move_to` write the record with the new name,
//! and the number of the key is no longer kept aside. The same batch removes the records of the others that were kept
//! aside, which are of the key that had this name. So a kill leaves all of the command or nothing, and if the pool has no
//! room for the batch, it has the state before the command until there is room.

use std::collections::HashSet;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::session::{Session, Unlinked, session};
use super::slots;
use crate::redis::api::{self, Event, RawContext, RawString, TwoNumbers, events, flags};
use crate::redis::{Context, Level, OwnText, SlotMigration, Text, slots_are_handled, subscribe};
use crate::store::{Place, Value, sentence};

/// Subscribes to all events that are needed. Returns `false` if the server refuses one.
pub(crate) fn subscribe_to_all(context: &Context<'_>) -> bool {
    let of_server: [(Event, api::EventFn); 6] = [
        (events::EVENT_LOOP, on_event_loop),
        (events::LOADING, on_loading),
        (events::ROLE_CHANGED, on_role_change),
        (events::FLUSH, on_flush),
        (events::SWAP, on_swap),
        (events::SHUTDOWN, on_shutdown),
    ];
    context.subscribe_to_keys(on_notification)
        && of_server.into_iter().all(|(event, call)| subscribe(context, event, call))
        && (!slots_are_handled() || subscribe(context, events::SLOT_MIGRATION, on_migration))
}

impl Session {
    /// Keeps aside the number of a key that Redis has taken out of a database.
    pub(super) fn unlink(&self, id: u64) {
        if id != 0 {
            self.unlinked().push(Unlinked { id, is_freed: false, replaced_by: None });
        }
    }

    /// Removes the records of the keys that are kept aside: they are gone for good.
    pub(crate) fn commit_unlinked(&self) {
        let gone = self.gone(None);
        for id in &gone {
            if let Err(error) = self.store.catalogue.remove(*id) {
                let text = format!(
                    "a deleted key could not be removed from the pool: {}",
                    sentence(&error)
                );
                crate::redis::log(Level::Warning, text);
            }
        }
        self.forget(gone);
    }

    /// The numbers kept aside whose records go with the record of a key, in the order in which they were unlinked: of the
    /// keys that it has replaced, and of those that these had replaced. For `None`, those that go by themselves.
    fn gone(&self, with: Option<u64>) -> Vec<u64> {
        let mut gone = Vec::new();
        for Unlinked { id, replaced_by, .. } in self.unlinked().iter().rev() {
            if *replaced_by == with || replaced_by.is_some_and(|by| gone.contains(&by)) {
                gone.push(*id);
            }
        }
        gone.reverse();
        gone
    }

    /// Numbers whose records are removed are no longer kept aside.
    fn forget(&self, gone: Vec<u64>) {
        let gone = HashSet::<u64>::from_iter(gone);
        for unlinked in self.unlinked().extract_if(.., |unlinked| gone.contains(&unlinked.id)) {
            if unlinked.is_freed {
                self.store.sweeper.one(unlinked.id);
            }
        }
    }

    /// Writes the record of a key as Redis has the key now. If the write fails, as in a full pool, it is tried again
    /// later.
    fn follow(&self, context: &Context<'_>, name: &[u8]) {
        // The name is copied because opening a key keeps a reference to its name, and the name in the event of a loaded key
        // is on Redis' stack.
        let own = OwnText::new(name);
        let key = context.peek(&own);
        let Ok(Some(value)) = key.value() else { return };
        if value.id == 0 {
            // This key stands in for a map of a file that is left out, and has another name now.
            if !self.is_attached() {
                self.ghost(context.database(), name.to_vec());
            }
            return;
        }
        let mut unlinked = self.unlinked();
        // The key has moved, and is not gone.
        unlinked.retain(|unlinked| unlinked.id != value.id);
        let replaced = unlinked.iter_mut().filter(|unlinked| unlinked.replaced_by.is_none());
        replaced.for_each(|unlinked| unlinked.replaced_by = Some(value.id));
        drop(unlinked);
        // Inside EXEC, Valkey 9.1 reports the database of the client as that of the context.
        let database = key.database().unwrap_or_else(|| context.database());
        self.unwritten().push_back((database, name.to_vec()));
        if let Err(error) = self.write_waiting(context) {
            let text = format!(
                "a change of a key could not be written, and is tried again: {}",
                sentence(&error)
            );
            context.log(Level::Warning, text);
        }
    }

    /// Writes the records that wait. As long as one of them waits, no later one may be written, nor that of a new key: the
    /// pool still has their keys under old names, which new keys may have by now.
    pub(crate) fn write_waiting(&self, context: &Context<'_>) -> endura::Result<()> {
        loop {
            let Some((database, name)) = self.unwritten().front().cloned() else { return Ok(()) };
            let written = context.in_database(database, || self.write(context, &name));
            written.unwrap_or(Ok(()))?;
            self.unwritten().pop_front();
        }
    }

    /// Writes the record of a key, and removes those of the keys that it has replaced, all at once.
    fn write(&self, context: &Context<'_>, name: &[u8]) -> endura::Result<()> {
        let own = OwnText::new(name);
        let key = context.peek(&own);
        // If there is no such map any more, its next event has come or will come.
        let Ok(Some(value)) = key.value() else { return Ok(()) };
        let database = key.database().unwrap_or_else(|| context.database());
        let place = Place { database, name, expires: key.expires() };
        let gone = self.gone(Some(value.id));
        self.store.catalogue.write(value.id, value.form, place, &gone)?;
        self.forget(gone);
        Ok(())
    }

    /// Writes the record of a copy, and removes that of the key which it replaces, all at once.
    pub(super) fn record_copy(
        &self,
        context: &Context<'_>,
        from: &Value,
        to: &Value,
        database: i32,
        name: &Text,
    ) -> endura::Result<()> {
        self.write_waiting(context)?;
        let key = context.peek(name);
        let replaced = key.value().ok().flatten().map(|value| value.id);
        let expires = self.store.catalogue.record(from.id)?.map_or(-1, |record| record.expires);
        let place = Place { database, name: name.bytes(), expires };
        self.store.catalogue.write(to.id, to.form, place, replaced.as_slice())
    }

    /// Writes what could not be written before, for example because the pool was full. What fails is tried again at the
    /// next turn.
    fn write_the_rest(&self, context: &Context<'_>) {
        let _ = self.store.catalogue.catch_up();
        if self.says_partial.load(Ordering::Relaxed)
            && self.store.catalogue.set_partial(false).is_ok()
        {
            self.says_partial.store(false, Ordering::Relaxed);
        }
        let _ = self.write_waiting(context);
    }

    /// Whether this is an event of a string, or the `expire` that follows the event of a SET with an expiry. Such a key
    /// must not be opened now: if it has already expired, opening it would delete it, and replicas would get the
    /// deletion before the SET.
    fn is_of_string(&self, database: i32, class: c_int, event: &[u8], name: &Text) -> bool {
        let mut last = self.last_string.lock().unwrap_or_else(PoisonError::into_inner);
        if class == api::NOTIFY_STRING {
            *last = Some((database, name.bytes().to_vec()));
            return true;
        }
        let last = last.take();
        event == b"expire" && last.is_some_and(|last| last == (database, name.bytes().to_vec()))
    }

    /// Forgets which string the last event was about: from now on another key may have the name of that string.
    fn forget_last_string(&self) {
        *self.last_string.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn notified(&self, context: &Context<'_>, class: c_int, event: &[u8], name: &Text) {
        let is_of_string = self.is_of_string(context.database(), class, event, name);
        self.tell_file(context, class, event, name);
        match event {
            _ if is_of_string => {}
            // The second event of the command follows.
            b"rename_from" | b"move_from" => return,
            // These events also come while an append-only file with such commands is loaded.
            b"rename_to" | b"move_to" | b"copy_to" | b"restore" | b"expire" | b"persist" => {
                self.follow(context, name.bytes());
            }
            b"loaded" if self.takes_over(None) => self.follow(context, name.bytes()),
            _ => {}
        }
        if !self.unlinked().is_empty() {
            self.commit_unlinked();
        }
    }

    /// Records in the pool whether a full resync is running. While it is, the pool has only some of the keys.
    fn resyncing(&self, is_partial: bool) {
        let set = self.store.catalogue.set_partial(is_partial);
        self.says_partial.store(!is_partial && set.is_err(), Ordering::Relaxed);
        if let Err(error) = set {
            let text =
                format!("the state of a full resync could not be written: {}", sentence(&error));
            crate::redis::log(Level::Warning, text);
        }
    }

    fn spaces_changed(&self) {
        if let Err(error) = self.store.catalogue.put_spaces() {
            let text =
                format!("a change of whole databases could not be written: {}", sentence(&error));
            crate::redis::log(Level::Warning, text);
        }
    }
}

// SAFETY of the blocks below: the arguments are what Redis passes to such a callback.

unsafe extern "C" fn on_notification(
    raw: *mut RawContext,
    class: c_int,
    event: *const c_char,
    name: *mut RawString,
) -> c_int {
    // SAFETY: see above.
    let (context, event, name) =
        unsafe { (Context::new(raw), CStr::from_ptr(event), Text::borrowed(&name)) };
    session().notified(&context, class, event.to_bytes(), name);
    0
}

unsafe extern "C" fn on_event_loop(
    raw: *mut RawContext,
    _event: Event,
    which: u64,
    _data: *mut c_void,
) {
    if which != events::BEFORE_SLEEP {
        return;
    }
    let session = session();
    // SAFETY: see above.
    let context = unsafe { Context::new(raw) };
    session.decide();
    session.attach_once(&context);
    session.forget_last_string();
    session.write_the_rest(&context);
    if !session.unlinked().is_empty() {
        session.commit_unlinked();
    }
    session.follow_imports();
}

unsafe extern "C" fn on_loading(
    _raw: *mut RawContext,
    _event: Event,
    which: u64,
    _data: *mut c_void,
) {
    let session = session();
    match which {
        events::LOADING_RDB | events::LOADING_AOF => session.loading(),
        events::LOADING_RESYNC if session.is_attached() => session.resyncing(true),
        events::LOADING_ENDS | events::LOADING_FAILS if session.is_attached() => {
            session.resyncing(false);
        }
        _ => {}
    }
}

/// A replica that becomes a master keeps the keys that it has, even if its last resync did not complete.
unsafe extern "C" fn on_role_change(
    _raw: *mut RawContext,
    _event: Event,
    _which: u64,
    _data: *mut c_void,
) {
    if session().is_attached() {
        session().resyncing(false);
    }
}

/// Redis has emptied one database, or all of them: from here on the pool has none of their keys. Redis frees the values
/// later.
unsafe extern "C" fn on_flush(raw: *mut RawContext, _event: Event, which: u64, data: *mut c_void) {
    let session = session();
    if which != events::FLUSH_STARTS {
        // Keys that were in the way of keys of the pool may be gone now. (In a resync the master sends its keys after
        // this.)
        if session.is_refused() {
            // SAFETY: see above.
            let context = unsafe { Context::new(raw) };
            session.attach_in_place(&context, false);
            // Redis 8 and Valkey 9 flush when they have begun to load what the master sends.
            if context.has(flags::LOADING) && session.is_attached() {
                session.resyncing(true);
            }
        }
        return;
    }
    // SAFETY: see above: `RedisModuleFlushInfo`.
    let database = unsafe { (*data.cast::<TwoNumbers>()).second };
    session.left_out().retain(|(other, _)| database >= 0 && *other != database);
    if !session.reaches_spaces() {
        return;
    }
    session.forget_last_string();
    session.store.catalogue.spaces().renew(database);
    session.spaces_changed();
}

unsafe extern "C" fn on_swap(_raw: *mut RawContext, _event: Event, _which: u64, data: *mut c_void) {
    let session = session();
    // SAFETY: see above: `RedisModuleSwapDbInfo`.
    let swapped = unsafe { &*data.cast::<TwoNumbers>() };
    session.forget_last_string();
    session.swap_names(swapped.first, swapped.second);
    if !session.reaches_spaces() {
        return;
    }
    session.store.catalogue.spaces().swap(swapped.first, swapped.second);
    session.spaces_changed();
}

unsafe extern "C" fn on_migration(
    _raw: *mut RawContext,
    _event: Event,
    which: u64,
    data: *mut c_void,
) {
    // SAFETY: see above: the structure of such an event, which lasts as long as the call.
    let (name, ranges) = unsafe { SlotMigration::read(data) };
    slots::follow(which, name, ranges);
}

unsafe extern "C" fn on_shutdown(
    raw: *mut RawContext,
    _event: Event,
    _which: u64,
    _data: *mut c_void,
) {
    // SAFETY: see above.
    let context = unsafe { Context::new(raw) };
    if context.has(flags::LOADING) {
        return;
    }
    session().commit_unlinked();
    session().write_the_rest(&context);
    let lost = match session().store.pool.close() {
        Ok(closed) => closed.checkpoint_error.map(|error| ("has no checkpoint of its end", error)),
        Err(error) => Some(("was not closed as it should be", error)),
    };
    if let Some((what, error)) = lost {
        context.log(Level::Warning, format!("the pool {what}: {}", sentence(&error)));
    }
}
