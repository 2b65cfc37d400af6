//! What Redis does to keys, followed in the catalogue.
//!
//! Redis says when it has taken a key out of a database (`unlink`), when it has done something to one (notifications), and
//! when a value is not needed any more (`free`). RENAME and MOVE also unlink: the value then comes back under another name.
//! So an unlinked number is kept aside until the command says what it did, by a notification, which it does before its
//! reply leaves. `rename_to` and `move_to` write the record with its new name, which is the moment at which the key has
//! moved, and take the number out of those kept aside; the others are removed from the catalogue.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::session::{Session, Unlinked, session};
use crate::redis::api::{self, Event, RawContext, RawString, TwoNumbers, events, flags};
use crate::redis::{Context, Level, OwnText, Text, subscribe};

/// Subscribes; whether all went well.
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
}

impl Session {
    /// Redis has taken the key of this number out of a database.
    pub(super) fn unlink(&self, id: u64) {
        if id != 0 {
            self.unlinked().push(Unlinked { id, is_freed: false });
        }
    }

    /// The keys that were taken out are gone for good.
    pub(crate) fn commit_unlinked(&self) {
        let gone = std::mem::take(&mut *self.unlinked());
        for Unlinked { id, is_freed } in gone {
            if let Err(error) = self.store.catalogue.remove(id) {
                let text = format!("a deleted key could not be removed from the pool: {error}");
                crate::redis::log(Level::Warning, text);
            }
            if is_freed {
                self.store.sweeper.one(id);
            }
        }
    }

    /// What Redis has of this key now is what the catalogue says; in a full pool, once there is room.
    fn follow(&self, context: &Context<'_>, name: &[u8]) {
        if let Err(error) = self.record(context, name) {
            let text = format!("what became of a key could not be written: {error}");
            context.log(Level::Warning, text);
            self.unwritten().insert((context.database(), name.to_vec()));
        }
    }

    fn record(&self, context: &Context<'_>, name: &[u8]) -> endura::Result<()> {
        // The name in the event of a loaded key lies on Redis' stack, and may not be kept: opening a key keeps it.
        let own = OwnText::new(name);
        let key = context.peek(&own);
        let Ok(Some(value)) = key.value() else { return Ok(()) };
        let (database, expires) = (context.database(), key.expires());
        if value.id == 0 {
            // One that is left out, under another name now.
            if !self.is_attached() {
                self.ghost(database, name.to_vec());
            }
            return Ok(());
        }
        // Also if the record cannot be written: the one with the old name is better than none.
        self.unlinked().retain(|unlinked| unlinked.id != value.id);
        self.store.catalogue.write(value.id, value.form, database, expires, name)
    }

    /// Writes records for which there was no room.
    fn write_the_rest(&self, context: &Context<'_>) {
        // What fails is tried again at the next turn.
        let _ = self.store.catalogue.catch_up();
        if self.says_partial.load(Ordering::Relaxed)
            && self.store.catalogue.set_partial(false).is_ok()
        {
            self.says_partial.store(false, Ordering::Relaxed);
        }
        loop {
            let Some((database, name)) = self.unwritten().pop_first() else { return };
            let written = context.in_database(database, || self.record(context, &name));
            if !written.is_ok_and(|written| written.is_ok()) {
                self.unwritten().insert((database, name));
                return;
            }
        }
    }

    /// Whether this is the second event of a SET with a time. Nobody may look at that string now: the time may be over, and
    /// then a look deletes it, which replicas would be told before the SET.
    fn is_of_string(&self, database: i32, class: c_int, event: &[u8], name: &Text) -> bool {
        let mut last = self.last_string.lock().unwrap_or_else(PoisonError::into_inner);
        if class == api::NOTIFY_STRING {
            *last = Some((database, name.bytes().to_vec()));
            return true;
        }
        let last = last.take();
        event == b"expire" && last.is_some_and(|last| last == (database, name.bytes().to_vec()))
    }

    /// The string of the last event may be another key from now on.
    fn forget_last_string(&self) {
        *self.last_string.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn notified(&self, context: &Context<'_>, class: c_int, event: &[u8], name: &Text) {
        let is_of_string = self.is_of_string(context.database(), class, event, name);
        self.tell_file(context, class, event, name);
        match event {
            _ if is_of_string => {}
            // The other half follows.
            b"rename_from" | b"move_from" => return,
            // Also while a file is loaded: an append-only file has such commands.
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

    /// A replica gets all keys anew; or it has got them, or will get no more of them: then what it has is what there is.
    fn resyncing(&self, is_partial: bool) {
        let set = self.store.catalogue.set_partial(is_partial);
        self.says_partial.store(!is_partial && set.is_err(), Ordering::Relaxed);
        if let Err(error) = set {
            let text = format!("that a replica gets its keys could not be written: {error}");
            crate::redis::log(Level::Warning, text);
        }
    }

    fn spaces_changed(&self) {
        if let Err(error) = self.store.catalogue.put_spaces() {
            let text = format!("which database a key is in could not be written: {error}");
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
    session.attach_once(&context);
    session.forget_last_string();
    session.write_the_rest(&context);
    if !session.unlinked().is_empty() {
        session.commit_unlinked();
    }
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

/// A replica that is made a master has what it has, also if the last resync did not come to its end.
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

/// A database is emptied, or all: from here on no key of it is in the pool. Their values are freed behind that.
unsafe extern "C" fn on_flush(raw: *mut RawContext, _event: Event, which: u64, data: *mut c_void) {
    let session = session();
    if which != events::FLUSH_STARTS {
        // Without the keys that were in the way, if there were some; a replica's master sends its own behind this.
        if session.is_refused() {
            // SAFETY: see above.
            session.attach(&unsafe { Context::new(raw) }, false);
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
        context.log(Level::Warning, format!("the pool {what}: {error}"));
    }
}
