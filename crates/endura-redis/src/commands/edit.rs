//! A key that a command writes: found, or made.

use crate::keys::session;
use crate::redis::{Context, Level, Text};
use crate::store::{Failure, Form, Outcome, Value};

/// Runs `change` on the value of a key; if there is none, on a new one (`true`), which becomes the key's if `change` says
/// so. Then its record is written, behind its first entries: a kill leaves both or neither.
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
    // What Redis has just deleted of this name, by its expiry, must not be found beside the new key.
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

/// Deletes a key that has no entries left. What fails here fails no command, for its fields are gone: an empty key stays,
/// until the next start.
pub(super) fn delete_if_empty(context: &Context<'_>, name: &Text) {
    if let Err(failure) = try_to_delete(context, name) {
        let text = format!("a key without entries could not be deleted: {}", failure.text());
        context.log(Level::Warning, text);
    }
}

/// On a replica its master says when: what it got of a key may be of a later moment than the commands it is carrying out.
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
