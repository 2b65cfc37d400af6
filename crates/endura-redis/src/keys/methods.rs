//! The methods of the data type: what Redis calls to save, load, copy, measure and free a value.

use std::ffi::{c_int, c_void};
use std::ops::ControlFlow;
use std::ptr;
use std::time::{Duration, Instant};

use super::pieces::Writer;
use super::session::session;
use super::{fork, kept, master, pieces};
use crate::redis::api::{AUX_BEFORE, RawDigest, RawIo, RawOptions, RawString, TypeMethods, flags};
use crate::redis::{
    Aof, Context, Digest, Level, NoDatabase, Rdb, Text, end, from_raw, into_raw, lent, log,
    register_type,
};
use crate::store::{Count, Failure, Form, Order, Outcome, Span, Value};

/// The version of the encoding in an RDB: the form of the map, then what [`pieces`] writes. Version 0 had no pieces.
const VERSION: c_int = 1;

/// Registers the data type. Returns `false` if the server refuses it.
pub(crate) fn register_methods(context: &Context<'_>) -> bool {
    let mut methods = TypeMethods {
        version: 4,
        rdb_load: Some(rdb_load),
        rdb_save: Some(rdb_save),
        aof_rewrite: Some(aof_rewrite),
        mem_usage: None,
        digest: Some(digest),
        free: Some(free),
        aux_load: Some(aux_load),
        aux_save: Some(aux_save),
        aux_save_triggers: AUX_BEFORE,
        free_effort: None,
        unlink: None,
        copy: None,
        defrag: None,
        mem_usage2: Some(mem_usage),
        free_effort2: Some(free_effort),
        unlink2: Some(unlink),
        copy2: Some(copy),
    };
    register_type(context, c"endura-om", VERSION, &mut methods)
}

/// Passes all entries of a value to `take`. They come from the pool or, in a child, from its parent.
fn all_entries(of: &Value, mut take: impl FnMut(&[u8], &[u8])) {
    if of.id == 0 {
        return;
    }
    if fork::is_child() {
        fork::ask(of, take);
        return;
    }
    let visited =
        session().store.entries.visit(of, &Span::ALL, Order::Ascending, |field, value| {
            take(field, value);
            ControlFlow::Continue(())
        });
    if let Err(failure) = visited {
        log(Level::Warning, format!("entries could not be read: {}", failure.text()));
    }
}

// SAFETY of the blocks below: Redis calls these functions with the arguments of such a callback, and all values that it
// passes are from `into_raw`.

unsafe extern "C" fn rdb_save(raw: *mut RawIo, value: *mut c_void) {
    // SAFETY: see above.
    let (file, value) = unsafe { (Rdb::new(raw), lent(value)) };
    file.save_number(value.form.number().into());
    let mut writer = Writer::new(&file);
    all_entries(value, |field, value| writer.add(field, value));
    writer.finish();
}

unsafe extern "C" fn rdb_load(raw: *mut RawIo, version: c_int) -> *mut c_void {
    // SAFETY: see above.
    let file = unsafe { Rdb::new(raw) };
    if version > VERSION {
        log(Level::Warning, "the file was written by a newer version of this module");
        return ptr::null_mut();
    }
    load(&file).map_or(ptr::null_mut(), into_raw)
}

fn load(file: &Rdb) -> Option<Value> {
    let session = session();
    let form = Form::numbered(file.load_number()?)?;
    if let Some(why) = session.refused() {
        not_taken_over(&Failure::Unattached(why));
        return None;
    }
    let takes_over = session.takes_over(None);
    let value = if takes_over {
        let made = session.store.make(form);
        made.map_err(|failure| not_taken_over(&failure)).ok()?
    } else {
        // An empty key stands in for the map. Its name is needed to delete it when the keys of the pool are attached.
        let (database, name) = file.key()?;
        session.ghost(database, name);
        Value { id: 0, form, own: None, count: Count::of(0) }
    };
    let put = |field: &[u8], data: &[u8]| put_of_file(&value, field, data);
    match pieces::read(file, takes_over.then_some(put)) {
        Some(Ok(())) => Some(value),
        Some(Err(failure)) => {
            session.freed(&value);
            not_taken_over(&failure);
            None
        }
        None => {
            session.freed(&value);
            None
        }
    }
}

/// Reports that a key of a file, or of RESTORE, could not be written to the pool. While a file is loaded, the server is
/// ended here, with the reason in the log: Redis itself would take the file for damaged, find that it is not, and end
/// without a reason. A replica is ended if its master has sent the command.
fn not_taken_over(failure: &Failure) {
    let text = format!("a key could not be taken over: {}", failure.text());
    // SAFETY: `GetContextFlags` takes a null context.
    let context = unsafe { Context::new(ptr::null_mut()) };
    if context.has(flags::LOADING) {
        end("the file cannot be loaded", &text);
    }
    master::has_failed(context.has(flags::REPLICA), &text);
}

/// The longest time that an entry of a file waits for the sweeper to free space.
const PATIENCE: Duration = Duration::from_secs(10);

/// Puts an entry of a file. During a full resync the old entries of the replica are still being swept, so a full pool may
/// soon have space again.
fn put_of_file(to: &Value, field: &[u8], value: &[u8]) -> Outcome {
    let store = &session().store;
    let begin = Instant::now();
    loop {
        match store.entries.put(to, field, value) {
            Err(Failure::Pool(endura::Error::Full { .. }))
                if store.sweeper.pending() > 0 && begin.elapsed() < PATIENCE && is_loading() =>
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            put => return put.map(drop),
        }
    }
}

fn is_loading() -> bool {
    // SAFETY: `GetContextFlags` takes a null context.
    unsafe { Context::new(ptr::null_mut()) }.has(flags::LOADING)
}

unsafe extern "C" fn aux_save(raw: *mut RawIo, _when: c_int) {
    // SAFETY: see above.
    let file = unsafe { Rdb::new(raw) };
    file.save_bytes(&session().store.uuid);
    file.save_number(fork::count_save());
}

unsafe extern "C" fn aux_load(raw: *mut RawIo, _version: c_int, _when: c_int) -> c_int {
    // SAFETY: see above.
    let file = unsafe { Rdb::new(raw) };
    let uuid = file.load_bytes(|bytes| bytes.try_into().ok()).flatten();
    let (Some(uuid), Some(saves)) = (uuid, file.load_number()) else { return 1 };
    session().takes_over(Some((uuid, saves)));
    0
}

unsafe extern "C" fn aof_rewrite(raw: *mut RawIo, key: *mut RawString, value: *mut c_void) {
    // SAFETY: see above.
    let (file, value) = unsafe { (Aof::new(raw, key), lent(value)) };
    if value.form != Form::Shared {
        file.emit(c"EN.CREATE", b"KIND", value.form.name().as_bytes());
    }
    all_entries(value, |field, value| file.emit(c"EN.SET", field, value));
}

unsafe extern "C" fn digest(raw: *mut RawDigest, value: *mut c_void) {
    // SAFETY: see above.
    let (digest, value) = unsafe { (Digest::new(raw), lent(value)) };
    all_entries(value, |field, value| digest.add(field, value));
}

unsafe extern "C" fn free(value: *mut c_void) {
    // SAFETY: see above; Redis does not use the value again.
    let value = unsafe { from_raw(value) };
    if !fork::is_child() {
        session().freed(&value);
    }
}

unsafe extern "C" fn unlink(_options: *mut RawOptions, value: *const c_void) {
    // SAFETY: see above.
    let value = unsafe { lent(value) };
    session().unlink(value.id);
}

unsafe extern "C" fn mem_usage(
    _options: *mut RawOptions,
    value: *const c_void,
    samples: usize,
) -> usize {
    // SAFETY: see above.
    let value = unsafe { lent(value) };
    let is_here = value.id != 0 && !fork::is_child();
    size_of::<Value>() + if is_here { session().bytes_of(value, samples) } else { 0 }
}

/// Freeing is O(1), because a thread of this module sweeps the entries.
unsafe extern "C" fn free_effort(_options: *mut RawOptions, _value: *const c_void) -> usize {
    1
}

/// COPY: makes a value with a new number and the same entries, and writes its record, because COPY can be refused here, and
/// not when its event comes.
unsafe extern "C" fn copy(options: *mut RawOptions, value: *const c_void) -> *mut c_void {
    // SAFETY: see above.
    let value = unsafe { lent(value) };
    // SAFETY: see above.
    let copied = unsafe {
        Context::of_copy(options, |context, database, to| copied(context, value, database, to))
    };
    match copied.unwrap_or_else(|NoDatabase| Err(Failure::Says("ERR no such database"))) {
        Ok(copy) => into_raw(copy),
        Err(failure) => {
            // The text of the error may be about this command itself, which keeps what it frees.
            let why = if failure.is_full() {
                "the pool has no room for the copy: delete keys, or raise `max-size`".into()
            } else {
                failure.reason()
            };
            let text = format!("COPY failed: {why}");
            // SAFETY: as above.
            let is_replica = unsafe { Context::new(ptr::null_mut()) }.has(flags::REPLICA);
            master::has_failed(is_replica, &text);
            ptr::null_mut()
        }
    }
}

fn copied(context: &Context<'_>, from: &Value, database: i32, name: &Text) -> Outcome<Value> {
    let (session, store) = (session(), &session().store);
    if from.id == 0 {
        return Ok(Value { id: 0, form: from.form, own: None, count: Count::of(0) });
    }
    if let Err(failure) = kept::keep_for_children(from) {
        // SAFETY: `GetContextFlags` takes a null context.
        if !unsafe { Context::new(ptr::null_mut()) }.has(flags::REPLICA) {
            return Err(failure);
        }
        // A replica cannot refuse what its master has copied.
        log(
            Level::Notice,
            "a child that saves is ended, for the pool has no room for it beside a COPY of the master",
        );
        fork::end_serving();
    }
    let to = store.make(from.form)?;
    let recorded = || session.record_copy(context, from, &to, database, name);
    match kept::copy_entries(from, &to).and_then(|()| Ok(recorded()?)) {
        Ok(()) => Ok(to),
        Err(failure) => {
            session.freed(&to);
            Err(failure)
        }
    }
}
