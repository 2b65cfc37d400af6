//! The methods of the data type: what Redis calls to save, load, copy, measure and free a value.

use std::ffi::{c_int, c_void};
use std::ops::ControlFlow;
use std::ptr;
use std::time::{Duration, Instant};

use super::fork;
use super::session::session;
use crate::redis::api::{AUX_BEFORE, RawDigest, RawIo, RawOptions, RawString, TypeMethods, flags};
use crate::redis::{
    Aof, Context, Digest, Level, NoDatabase, Rdb, Text, end, end_replica, from_raw, into_raw, lent,
    log, register_type,
};
use crate::store::{Count, Failure, Form, Order, Outcome, Span, Value};

/// The version of the encoding in an RDB: the form of the map, then 1, the field and the value of each entry, then 0.
const VERSION: c_int = 0;

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
    all_entries(value, |field, value| {
        file.save_number(1);
        file.save_bytes(field);
        file.save_bytes(value);
    });
    file.save_number(0);
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
    let loaded = load_entries(file, takes_over.then_some(&value));
    match loaded {
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
/// without a reason. A replica is ended too.
fn not_taken_over(failure: &Failure) {
    let text = format!("a key could not be taken over: {}", failure.text());
    // SAFETY: `GetContextFlags` takes a null context.
    let context = unsafe { Context::new(ptr::null_mut()) };
    if context.has(flags::LOADING) {
        end("the file cannot be loaded", &text);
    }
    if context.has(flags::REPLICA) {
        end_replica(&text);
    }
    log(Level::Warning, text);
}

/// Reads the entries of a map from the file. Puts them into `to` if the map is taken over; `to` is `None` if it is left
/// out. Returns `None` if the file ends or is damaged.
fn load_entries(file: &Rdb, to: Option<&Value>) -> Option<Outcome> {
    loop {
        match file.load_number()? {
            0 => return Some(Ok(())),
            1 => {}
            _ => return None,
        }
        let field = file.load_bytes(<[u8]>::to_vec)?;
        let put = file.load_bytes(|value| match to {
            Some(to) => put_of_file(to, &field, value),
            None => Ok(()),
        })?;
        if put.is_err() {
            return Some(put);
        }
    }
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

/// The bytes of a key in the pool, estimated from its first `samples` entries, or summed over all if `samples` is 0. If
/// the number of entries is unknown, only the entries that were visited count.
unsafe extern "C" fn mem_usage(
    _options: *mut RawOptions,
    value: *const c_void,
    samples: usize,
) -> usize {
    // SAFETY: see above.
    let value = unsafe { lent(value) };
    if value.id == 0 || fork::is_child() {
        return size_of::<Value>();
    }
    let samples = if samples == 0 { usize::MAX } else { samples };
    let (mut seen, mut bytes) = (0, 0);
    let visited =
        session().store.entries.visit(value, &Span::ALL, Order::Ascending, |field, data| {
            seen += 1;
            bytes += ENTRY + field.len() + data.len();
            if seen < samples { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    let entries = value.count.known().and_then(|entries| usize::try_from(entries).ok());
    match (visited, entries) {
        (Ok(()), Some(entries)) if seen > 0 => size_of::<Value>() + bytes / seen * entries,
        _ => size_of::<Value>() + bytes,
    }
}

/// The bytes that an entry takes besides its field and value: its number, a header, its share of nodes and of free space.
/// Measured by `.ci/redis --measure`: half of the bytes of both files, per entry, less the 118 of field and value.
const ENTRY: usize = 124;

/// Freeing is O(1), because a thread of this module sweeps the entries.
unsafe extern "C" fn free_effort(_options: *mut RawOptions, _value: *const c_void) -> usize {
    1
}

/// COPY: makes a value with a new number and the same entries, and writes its record, because COPY can be refused here, and
/// not when its event comes. A copy is refused while a child saves: the file of the
/// child may have entries of another moment than this copy, and a replica would copy the entries that it got from that
/// file. A replica cannot refuse what its master has copied, so there the child is ended, and Redis starts another one.
unsafe extern "C" fn copy(options: *mut RawOptions, value: *const c_void) -> *mut c_void {
    // SAFETY: see above.
    let value = unsafe { lent(value) };
    if fork::is_serving() {
        // SAFETY: `GetContextFlags` takes a null context.
        if !unsafe { Context::new(ptr::null_mut()) }.has(flags::REPLICA) {
            log(Level::Notice, "COPY is refused while a child saves: try again");
            return ptr::null_mut();
        }
        log(Level::Notice, "a child that saves is ended, for the master copies a key");
        fork::end_serving();
    }
    // SAFETY: see above.
    let copied = unsafe { Context::of_copy(options, |context, to| copied(context, value, to)) };
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
            if unsafe { Context::new(ptr::null_mut()) }.has(flags::REPLICA) {
                end_replica(&text);
            }
            log(Level::Warning, text);
            ptr::null_mut()
        }
    }
}

fn copied(context: &Context<'_>, from: &Value, name: &Text) -> Outcome<Value> {
    let (session, store) = (session(), &session().store);
    if from.id == 0 {
        return Ok(Value { id: 0, form: from.form, own: None, count: Count::of(0) });
    }
    let to = store.make(from.form)?;
    let mut put = Ok(false);
    let visited = store.entries.visit(from, &Span::ALL, Order::Ascending, |field, value| {
        put = store.entries.put(&to, field, value);
        if put.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let recorded = || session.record_copy(context, from, &to, name);
    match visited.and(put).and_then(|_| Ok(recorded()?)) {
        Ok(()) => Ok(to),
        Err(failure) => {
            session.freed(&to);
            Err(failure)
        }
    }
}
