//! Children that save get the entries from their parent.
//!
//! BGSAVE, a full resync and the rewrite of the append-only file fork. A child must not read the pool: it shares that
//! memory with its parent, so the pool does not stay as it was at the fork. Instead each fork makes a pair of sockets, and
//! a thread of the parent answers the requests of the child from the pool as it is.
//!
//! The file of a child has the keys as of the fork, and for each key the entries of some moment between the fork and the
//! end of the save. A replica is right in the end: after the file it gets all commands since the fork, in order, and each
//! of them says what a field is afterwards, not how it changes. The entries of keys that are deleted meanwhile stay until
//! the child has ended.
//!
//! If either process dies, the other one sees the end of the socket. A child then exits without completing its file, and
//! Redis keeps the older one.

use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
use std::io::{self, BufReader, Read, Write};
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::os::fd::{FromRawFd, IntoRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::kept::Kept;
use super::session::session;
use crate::redis::api::flags;
use crate::redis::{Context, Level, log};
use crate::store::{Count, Form, Order, Outcome, Span, Value, sentence};

/// The two sockets of the fork that is in progress; -1 if there is none.
static OF_PARENT: AtomicI32 = AtomicI32::new(-1);
static OF_CHILD: AtomicI32 = AtomicI32::new(-1);
static IS_CHILD: AtomicBool = AtomicBool::new(false);
/// The number of files that were saved from the pool, including the file of the child, into which the child writes this
/// number.
static SAVES: AtomicU64 = AtomicU64::new(0);
static SERVING: AtomicU64 = AtomicU64::new(0);

/// What COPY keeps for the child of the fork that is in progress.
static KEPT: Mutex<Option<Arc<Kept>>> = Mutex::new(None);

/// In a child: its socket, read through a buffer.
static ASKING: Mutex<Option<BufReader<UnixStream>>> = Mutex::new(None);

/// In the parent: the socket of the child that is being served, so that it can be shut down.
static ANSWERING: Mutex<Weak<UnixStream>> = Mutex::new(Weak::new());

/// The number of bytes that the serving thread gathers before it sends them. The thread holds no lock and no epoch
/// while it sends.
const PIECE: usize = 64 << 10;
/// Sent in place of a length: the end of the entries, or a failure.
const END: u64 = u64::MAX;
const FAILED: u64 = u64::MAX - 1;

/// The exit status of a child that was ended on purpose. After another failure status, a server that has to save refuses
/// writes, and a replica that gets a write from its master panics.
const NO_ERROR: i32 = 255;

/// Registers the handlers by which every later fork of this process prepares to serve its child.
pub(crate) fn prepare_for_forks() -> io::Result<()> {
    // SAFETY: the handlers stay valid, because the module is never unloaded. The library registered handlers of its own
    // when the pool was opened, so `before` runs before the library's, while the pool can be written, and the other two
    // run after the library's.
    let status = unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    if status == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(status)) }
}

/// Whether this process is a child of the server.
pub(crate) fn is_child() -> bool {
    // Relaxed: the fork handler stored it before anything else ran in this process.
    IS_CHILD.load(Ordering::Relaxed)
}

/// Whether a child may be requesting entries.
pub(crate) fn is_serving() -> bool {
    SERVING.load(Ordering::Relaxed) > 0
}

/// Counts a file that is being saved, and returns the count. A file that a child saves was counted before the fork.
pub(super) fn count_save() -> u64 {
    if is_child() {
        return SAVES.load(Ordering::Relaxed);
    }
    session().store.catalogue.count_save().unwrap_or_else(|error| {
        let text = format!("the number of saved files could not be written: {}", sentence(&error));
        log(Level::Warning, text);
        0
    })
}

extern "C" fn before() {
    if is_child() || !session().is_attached() {
        if session().is_refused() {
            log(
                Level::Warning,
                "a child ends at once: what it saved would lack the keys of the pool",
            );
        }
        return;
    }
    SAVES.store(count_save(), Ordering::Relaxed);
    match UnixStream::pair() {
        Ok((parent, child)) => {
            session().store.sweeper.hold();
            SERVING.fetch_add(1, Ordering::Relaxed);
            OF_PARENT.store(parent.into_raw_fd(), Ordering::Relaxed);
            OF_CHILD.store(child.into_raw_fd(), Ordering::Relaxed);
            *kept() = Some(Kept::begin());
        }
        Err(error) => log(Level::Warning, format!("no socket for a child: {error}")),
    }
}

extern "C" fn in_parent() {
    drop(taken(&OF_CHILD));
    let (Some(socket), Some(kept)) = (taken(&OF_PARENT), kept().take()) else { return };
    let socket = Arc::new(socket);
    let of_thread = Arc::clone(&socket);
    *answering() = Arc::downgrade(&socket);
    let thread = std::thread::Builder::new().name("endura-serve".into());
    let started = thread.spawn(move || {
        if let Err(error) = serve(&of_thread, &kept) {
            log(Level::Warning, format!("a child got no entries: {error}"));
        }
        served();
    });
    if let Err(error) = started {
        log(Level::Warning, format!("no thread for a child: {error}"));
        // The child shall exit with a failure status. If the failure cannot be sent, the end of the socket ends the
        // child.
        let _ = (&*socket).write_all([FAILED.to_le_bytes(); 2].as_flattened());
        served();
    }
}

fn kept() -> MutexGuard<'static, Option<Arc<Kept>>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answering() -> MutexGuard<'static, Weak<UnixStream>> {
    ANSWERING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shuts down the socket of the child that is being served. At its next request the child then exits with the status of
/// a child that was ended on purpose.
pub(super) fn end_serving() {
    if let Some(socket) = answering().upgrade() {
        // This fails only if the child has already ended.
        let _ = socket.shutdown(Shutdown::Both);
    }
}

fn served() {
    SERVING.fetch_sub(1, Ordering::Relaxed);
    session().store.sweeper.let_go();
}

extern "C" fn in_child() {
    if IS_CHILD.swap(true, Ordering::Relaxed) {
        return;
    }
    if session().is_refused() {
        // A file that this child saved would lack the keys of the pool: it would replace a file that has them, or be
        // all that a replica gets. If this server is a replica itself, the child exits with a status that is not a
        // failure, because a replica whose save failed panics at the next command of its master.
        // SAFETY: `GetContextFlags` takes a null context, and a child of Redis ends by `_exit`.
        unsafe {
            let is_replica = Context::new(std::ptr::null_mut()).has(flags::REPLICA);
            libc::_exit(if is_replica { NO_ERROR } else { 1 })
        }
    }
    drop(taken(&OF_PARENT));
    *ASKING.lock().unwrap_or_else(PoisonError::into_inner) =
        taken(&OF_CHILD).map(|socket| BufReader::with_capacity(PIECE, socket));
}

fn taken(end: &AtomicI32) -> Option<UnixStream> {
    let descriptor: RawFd = end.swap(-1, Ordering::Relaxed);
    // SAFETY: `before` stored the descriptor and gave up the stream that owned it; the swap takes it once.
    (descriptor >= 0).then(|| unsafe { UnixStream::from_raw_fd(descriptor) })
}

/// In a child: passes the entries of a value to `save`, as the parent has them. Ends the child if the parent cannot
/// send them.
pub(super) fn ask(of: &Value, save: impl FnMut(&[u8], &[u8])) {
    let mut socket = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    let asked = match socket.as_mut() {
        Some(socket) => ask_over(socket, of, save),
        None => Err(io::ErrorKind::NotConnected.into()),
    };
    if let Err(error) = asked {
        // The socket ends if the parent ends this child on purpose, or if the parent is dead.
        let is_ended = [UnexpectedEof, BrokenPipe, ConnectionReset].contains(&error.kind());
        // SAFETY: a child of Redis ends by `_exit` after a failure, and the parent reads the status.
        unsafe { libc::_exit(if is_ended { NO_ERROR } else { 1 }) }
    }
}

fn ask_over(
    socket: &mut BufReader<UnixStream>,
    of: &Value,
    mut save: impl FnMut(&[u8], &[u8]),
) -> io::Result<()> {
    let mut question = [of.form.number(); 9];
    question[..8].copy_from_slice(&of.id.to_le_bytes());
    socket.get_mut().write_all(&question)?;
    let (mut field, mut value) = (Vec::new(), Vec::new());
    loop {
        let mut lens = [[0; 8]; 2];
        socket.read_exact(lens.as_flattened_mut())?;
        let [field_len, value_len] = lens.map(u64::from_le_bytes);
        match field_len {
            END => return Ok(()),
            FAILED => return Err(io::ErrorKind::Other.into()),
            _ => {}
        }
        field.resize(field_len as usize, 0);
        value.resize(value_len as usize, 0);
        socket.read_exact(&mut field)?;
        socket.read_exact(&mut value)?;
        save(&field, &value);
    }
}

/// Answers a child until it ends.
fn serve(mut socket: &UnixStream, kept: &Kept) -> io::Result<()> {
    let mut question = [0; 9];
    loop {
        match socket.read_exact(&mut question) {
            Ok(()) => {}
            Err(error) if error.kind() == UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        let id = question.first_chunk().map_or(0, |id| u64::from_le_bytes(*id));
        let form = Form::numbered(question[8].into()).unwrap_or(Form::Shared);
        let end = if send_entries(socket, kept, id, form)? { END } else { FAILED };
        socket.write_all([end.to_le_bytes(); 2].as_flattened())?;
    }
}

/// Sends all entries of the key with this number. Returns `false` if they cannot be read.
fn send_entries(mut socket: &UnixStream, kept: &Kept, id: u64, form: Form) -> io::Result<bool> {
    let mut span = Span::ALL;
    loop {
        let mut piece = Vec::with_capacity(PIECE + 4096);
        let last = {
            let mut numbers = kept.numbers();
            let Ok(last) = gather(numbers.of(id), form, &span, &mut piece) else {
                return Ok(false);
            };
            if last.is_none() && span != Span::ALL {
                // A key of one piece is copied faster than it is noted here.
                numbers.is_saved(id);
            }
            last
        };
        socket.write_all(&piece)?;
        match last {
            Some(last) => span = Span::behind(&last),
            None => return Ok(true),
        }
    }
}

/// Gathers entries of a number until they fill a piece. Returns the last field if there may be more.
fn gather(id: u64, form: Form, span: &Span, piece: &mut Vec<u8>) -> Outcome<Option<Vec<u8>>> {
    let entries = &session().store.entries;
    let own = entries.own_that_is_there(id, form)?;
    if own.is_none() && form != Form::Shared {
        // A key whose own map has been dropped has no entries.
        return Ok(None);
    }
    let of = Value { id, form, own, count: Count::unknown() };
    let mut last = None;
    entries.visit(&of, span, Order::Ascending, |field, value| {
        for part in [field.len() as u64, value.len() as u64] {
            piece.extend(part.to_le_bytes());
        }
        piece.extend(field);
        piece.extend(value);
        if piece.len() < PIECE {
            return ControlFlow::Continue(());
        }
        last = Some(field.to_vec());
        ControlFlow::Break(())
    })?;
    Ok(last)
}
