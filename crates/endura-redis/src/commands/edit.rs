//! Finds or creates the key that a command writes, and deletes the key once it is empty.

use crate::keys::session;
use crate::redis::{Context, Level, Text};
use crate::store::{Failure, Form, Outcome, Value};

/// Runs `change` on the value of a key. If there is no such key, `change` runs on a new value and gets `true`; the
/// first part of its result then decides whether the key is created. The record of a new key is written after its first
/// entries, and entries without a record are swept. So a kill leaves either the key with these entries or no key.
pub(super) fn edit<R>(
    context: &Context<'_>,
    name: &Text,
    form: Form,
    change: impl FnOnce(&Value, bool) -> (bool, R),
) -> Outcome<R> {
    let session = session();
    let mut key = context.write(name);
    if let Some(value) = key.value()? {
        return Ok(change(value, false).1);
    }
    // If Redis has just deleted an expired key of this name, the record of the expired key has to be removed first.
    session.commit_unlinked();
    let value = session.store.make(form)?;
    let (is_there, result) = change(&value, true);
    if is_there {
        let (id, database) = (value.id, context.database());
        let written = session.store.catalogue.write(id, form, database, -1, name.bytes());
        if let Err(error) = written {
            session.store.sweeper.one(id);
            return Err(Failure::Pool(error));
        }
        if let Err(refused) = key.set(value) {
            session.store.sweeper.one(id);
            return Err(refused.into());
        }
    } else if form != Form::Shared || value.count.known() != Some(0) {
        session.store.sweeper.one(value.id);
    }
    Ok(result)
}

/// Deletes a key that has no entries left. A failure is only logged, because the command itself has succeeded: the empty
/// key then stays until the next start.
pub(super) fn delete_if_empty(context: &Context<'_>, name: &Text) {
    if let Err(failure) = try_to_delete(context, name) {
        let text = format!("a key without entries could not be deleted: {}", failure.text());
        context.log(Level::Warning, text);
    }
}

/// Deletes the key if it is empty, unless it has a map of its own or the command is from the master. The entries of a
/// replica may be newer than the command that the replica applies, and the master sends the deletion itself.
fn try_to_delete(context: &Context<'_>, name: &Text) -> Outcome {
    let session = session();
    let mut key = context.write(name);
    let Some(value) = key.value()? else { return Ok(()) };
    let is_replicated = context.has(crate::redis::api::flags::REPLICATED);
    if value.form != Form::Shared || is_replicated || !session.store.entries.is_empty(value)? {
        return Ok(());
    }
    session.store.catalogue.remove(value.id)?;
    key.delete()?;
    drop(key);
    context.replicate_deletion(name);
    context.deleted(name);
    Ok(())
}
