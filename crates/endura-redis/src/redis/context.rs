//! The context of a command: its replies, keys and databases, and the log.

use std::ffi::{CStr, CString, c_char, c_int, c_long};
use std::marker::PhantomData;
use std::ptr;

use super::api::{self, RawContext, RawOptions, RawString, api};
use super::key::Key;
use super::text::Text;
use crate::store::{Failure, Outcome};

/// The context of a call by Redis, or of a thread that answers a blocked client.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(super) raw: *mut RawContext,
    _call: PhantomData<&'a ()>,
}

/// The server has no database of this number.
#[derive(Debug)]
pub(crate) struct NoDatabase;

impl Context<'_> {
    /// # Safety
    ///
    /// `raw` is a context that only this thread uses while the result is in use. It may be null if only
    /// [`has`](Self::has) is called.
    pub(crate) unsafe fn new(raw: *mut RawContext) -> Self {
        Self { raw, _call: PhantomData }
    }

    // SAFETY of the blocks below: the context is alive, as the caller of `new` promised. Buffers have the length that is
    // passed, names end with a zero, and Redis keeps no pointer to either.

    pub(crate) fn integer(&self, number: i64) {
        // SAFETY: see above.
        unsafe { (api().ReplyWithLongLong)(self.raw, number) };
    }

    pub(crate) fn bulk(&self, bytes: &[u8]) {
        // SAFETY: see above.
        unsafe { (api().ReplyWithStringBuffer)(self.raw, bytes.as_ptr().cast(), bytes.len()) };
    }

    pub(crate) fn nil(&self) {
        // SAFETY: see above.
        unsafe { (api().ReplyWithNull)(self.raw) };
    }

    pub(crate) fn ok(&self) {
        // SAFETY: see above.
        unsafe { (api().ReplyWithSimpleString)(self.raw, c"OK".as_ptr()) };
    }

    pub(crate) fn array(&self, len: usize) {
        // SAFETY: see above.
        unsafe { (api().ReplyWithArray)(self.raw, len as c_long) };
    }

    pub(crate) fn map(&self, len: usize) {
        // SAFETY: see above.
        unsafe { (api().ReplyWithMap)(self.raw, len as c_long) };
    }

    /// Starts an array whose length is set after its elements, by [`end_of_array`](Self::end_of_array).
    pub(crate) fn array_of_unknown(&self) {
        // SAFETY: see above.
        unsafe { (api().ReplyWithArray)(self.raw, api::POSTPONED) };
    }

    pub(crate) fn end_of_array(&self, len: usize) {
        // SAFETY: see above.
        unsafe { (api().ReplySetArrayLength)(self.raw, len as c_long) };
    }

    pub(crate) fn failure(&self, failure: &Failure) {
        if let Failure::Arity = failure {
            // SAFETY: see above.
            unsafe { (api().WrongArity)(self.raw) };
            return;
        }
        let text = c_string(failure.text());
        // SAFETY: see above.
        unsafe { (api().ReplyWithError)(self.raw, text.as_ptr()) };
    }

    pub(crate) fn has(&self, flags: c_int) -> bool {
        // SAFETY: see above.
        unsafe { (api().GetContextFlags)(self.raw) & flags != 0 }
    }

    /// Whether this is a replica that executes a command of its master.
    fn is_of_master(&self) -> bool {
        let has = |flag| self.has(flag);
        has(api::flags::REPLICATED) && has(api::flags::REPLICA) && !has(api::flags::LOADING)
    }

    pub(crate) fn database(&self) -> i32 {
        // SAFETY: see above.
        unsafe { (api().GetSelectedDb)(self.raw) }
    }

    /// Runs `run` with another database selected.
    pub(crate) fn in_database<R>(
        &self,
        database: i32,
        run: impl FnOnce() -> R,
    ) -> Result<R, NoDatabase> {
        let before = self.database();
        if database == before {
            return Ok(run());
        }
        self.select(database)?;
        let result = run();
        self.select(before)?;
        Ok(result)
    }

    /// Runs `run` with the database and the name that COPY gives its copy, and with a context in that database. The
    /// callback for COPY gets no context. Inside EXEC the context of Valkey 9.1 stays in the database of the client.
    ///
    /// # Safety
    ///
    /// `options` is what Redis passed to the callback that is running.
    pub(crate) unsafe fn of_copy<R>(
        options: *mut RawOptions,
        run: impl FnOnce(&Self, i32, &Text) -> R,
    ) -> Result<R, NoDatabase> {
        // SAFETY: the caller's promise; Redis keeps the name as long as the callback lasts. The context is freed once, after
        // its use.
        unsafe {
            let name = (api().GetToKeyNameFromOptCtx)(options).cast_mut();
            let context = Self::new((api().GetThreadSafeContext)(ptr::null_mut()));
            let database = (api().GetToDbIdFromOptCtx)(options);
            let selected = context.select(database);
            let result = selected.map(|()| run(&context, database, Text::borrowed(&name)));
            (api().FreeThreadSafeContext)(context.raw);
            result
        }
    }

    fn select(&self, database: i32) -> Result<(), NoDatabase> {
        // SAFETY: see above.
        let selected = unsafe { (api().SelectDb)(self.raw, database) };
        if selected.is_ok() { Ok(()) } else { Err(NoDatabase) }
    }

    pub(crate) fn read(&self, name: &Text) -> Key<'_> {
        self.open(name, api::READ)
    }

    pub(crate) fn write(&self, name: &Text) -> Key<'_> {
        self.open(name, api::READ | api::WRITE)
    }

    /// Like [`read`](Self::read), but does not count as an access.
    pub(crate) fn peek(&self, name: &Text) -> Key<'_> {
        self.open(name, api::READ | api::PEEK)
    }

    fn open(&self, name: &Text, mode: c_int) -> Key<'_> {
        // SAFETY: see above; the key is closed before the context ends.
        Key::new(unsafe { (api().OpenKey)(self.raw, name.raw(), mode) })
    }

    /// Notifies the clients that watch or cache this key, and those that listen to events.
    pub(crate) fn changed(&self, name: &Text, event: &CStr) {
        self.tell(name, api::NOTIFY_MODULE, event);
    }

    /// Notifies the clients that watch or cache this key, and those that listen to events, that the key was deleted.
    pub(crate) fn deleted(&self, name: &Text) {
        self.tell(name, api::NOTIFY_GENERIC, c"del");
    }

    fn tell(&self, name: &Text, class: c_int, event: &CStr) {
        // SAFETY: see above.
        let told = unsafe {
            (api().SignalModifiedKey)(self.raw, name.raw());
            (api().NotifyKeyspaceEvent)(self.raw, class, event.as_ptr(), name.raw())
        };
        if !told.is_ok() {
            self.log(Level::Warning, format!("no client was told of the event {event:?}"));
        }
    }

    /// Whether the server is a replica, or will be one as soon as it has joined its cluster.
    pub(crate) fn is_replica(&self) -> bool {
        if !self.has(api::flags::CLUSTER) {
            return self.has(api::flags::REPLICA);
        }
        let (mut ip, mut master, mut port, mut flags) = ([0; 64], [0 as c_char; 64], 0, 0);
        let mut id = [0 as c_char; api::NODE_ID + 1];
        // SAFETY: an id has 40 bytes, and no zero after them. Redis writes at most 46 bytes of an address and 40 of a name.
        let status = unsafe {
            let own = (api().GetMyClusterID)();
            if own.is_null() {
                return self.has(api::flags::REPLICA);
            }
            ptr::copy_nonoverlapping(own, id.as_mut_ptr(), api::NODE_ID);
            let (id, ip, master) = (id.as_ptr(), ip.as_mut_ptr(), master.as_mut_ptr());
            (api().GetClusterNodeInfo)(self.raw, id, ip, master, &raw mut port, &raw mut flags)
        };
        if !status.is_ok() {
            // The node does not know itself yet.
            return self.has(api::flags::REPLICA);
        }
        flags & api::NODE_REPLICA != 0
    }

    pub(crate) fn log(&self, level: Level, text: impl Into<String>) {
        log_in(self.raw, level, text.into());
    }
}

/// How important a line of the log is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Level {
    Notice,
    Warning,
}

/// Writes a line to the server's log, from any thread.
pub(crate) fn log(level: Level, text: impl Into<String>) {
    log_in(ptr::null_mut(), level, text.into());
}

fn log_in(context: *mut RawContext, level: Level, text: String) {
    let level = match level {
        Level::Notice => c"notice",
        Level::Warning => c"warning",
    };
    let text = c_string(text);
    // With a context the server writes the name of the module in front of the line.
    let form = if context.is_null() { c"endura: %s" } else { c"%s" };
    // SAFETY: `Log` takes a null context. The format has one string, which follows.
    unsafe { (api().Log)(context, level.as_ptr(), form.as_ptr(), text.as_ptr()) };
}

pub(super) fn c_string(text: String) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// A command: it writes its reply, or fails.
pub(crate) type Run = fn(&Context<'_>, &[Text]) -> Outcome;

/// Runs a command as Redis calls it. A panic becomes an error of this command.
///
/// # Safety
///
/// The arguments are those of a call by Redis.
pub(crate) unsafe fn enter(
    raw: *mut RawContext,
    arguments: *mut *mut RawString,
    count: c_int,
    run: Run,
) -> c_int {
    // SAFETY: the caller's promise.
    let (context, arguments) =
        unsafe { (Context::new(raw), Text::all(arguments, usize::try_from(count).unwrap_or(0))) };
    answered(&context, || run(&context, arguments));
    0
}

/// Ends a replica that cannot apply a command of its master. Otherwise the replica would stay connected, with the
/// offset of its master, but with other data. Redis itself ends a replica if a command cannot be written to the disk.
pub(crate) fn end_replica(text: &str) -> ! {
    end("this replica cannot do what its master has done", text)
}

/// Ends the server, with a line in its log.
pub(crate) fn end(what: &str, text: &str) -> ! {
    log(Level::Warning, format!("{what}, and the server ends: {text}"));
    // SAFETY: this is like a kill, which the pool and Redis' files survive. No exit handler of the server runs beside its
    // threads.
    unsafe { libc::_exit(1) }
}

/// Runs `run`, and replies with its failure if it fails. A panic is a failure too: it must not unwind through Redis, nor
/// leave a client waiting. If the pool fails a command of the master, the replica is ended.
pub(super) fn answered(context: &Context<'_>, run: impl FnOnce() -> Outcome) {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => {
            let is_of_pool = matches!(failure, Failure::Pool(_) | Failure::Unattached(_));
            if is_of_pool && context.is_of_master() {
                end_replica(&failure.text());
            }
            context.failure(&failure);
        }
        Err(_) => {
            context.failure(&Failure::Says("ERR endura: the command panicked; see the log"));
        }
    }
}
