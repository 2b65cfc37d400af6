//! Changes fields of a key, creates the key with its first fields, and deletes it with its last one: each is one step, in
//! the pool as well.

use std::ffi::CStr;

use crate::keys::session;
use crate::redis::api::flags;
use crate::redis::{Context, Key, Text};
use crate::store::{Failure, Form, Outcome, Pair, Place, Span};

/// Gives fields of a key their values, all at once; returns how many were absent. If there is no such key, it is created
/// in this form, together with its fields.
pub(super) fn put_all(
    context: &Context<'_>,
    mut key: Key<'_>,
    name: &Text,
    form: Form,
    pairs: &[Pair<'_>],
) -> Outcome<i64> {
    let session = session();
    if let Some(value) = key.value()? {
        return session.store.entries.put_all(value, pairs);
    }
    // If Redis has just deleted an expired key of this name, the record of the expired key has to be removed first.
    session.commit_unlinked();
    session.write_waiting(context)?;
    let value = session.store.make(form)?;
    let id = value.id;
    let place = Place { database: context.database(), name: name.bytes(), expires: -1 };
    let created = session.store.create(&value, place, pairs);
    let created = created.and_then(|added| key.set(value).map(|()| added).map_err(Failure::from));
    if created.is_err() {
        session.store.sweeper.one(id);
    }
    created
}

/// Removes fields of a key, all at once: each of them is there, and occurs once. Replicas get EN.DEL.
///
/// If the key has no others, it goes: its record is removed, and a thread sweeps its entries. A key with a map of its own
/// stays. So does a key if the command is from the master, or from the node that a slot is imported from: the entries here
/// may be newer than the command that is applied, and that node sends the deletion itself.
pub(super) fn remove_all(
    context: &Context<'_>,
    mut key: Key<'_>,
    name: &Text,
    fields: &[&[u8]],
    event: &CStr,
) -> Outcome {
    let store = &session().store;
    let Some(value) = key.value()? else { return Ok(()) };
    let goes = value.form == Form::Shared
        && !context.has(flags::REPLICATED)
        && !session().is_imported(name.bytes())
        && !store.entries.has_more_than(value, &Span::ALL, fields.len())?;
    if goes {
        store.catalogue.remove(value.id)?;
        key.delete()?;
    } else {
        store.entries.remove_all(value, fields)?;
    }
    drop(key);
    context.replicate_bytes(c"EN.DEL", name, fields);
    context.changed(name, event);
    if goes {
        context.replicate_deletion(name);
        context.deleted(name);
    }
    Ok(())
}
