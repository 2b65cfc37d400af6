//! Clients that wait for the reply of a worker thread.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::api::{self, RawBlocked, RawContext, api};
use super::context::{Context, Level, answered, log};
use crate::store::Outcome;

/// A client that waits. It is answered once, by [`begin`](Self::begin).
#[derive(Debug)]
pub(crate) struct Blocked(*mut RawBlocked);

// SAFETY: Redis' handle of a blocked client is made to be answered by another thread.
unsafe impl Send for Blocked {}

/// The handles of clients that have disconnected while they waited.
static GONE: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

fn gone() -> MutexGuard<'static, BTreeSet<usize>> {
    GONE.lock().unwrap_or_else(PoisonError::into_inner)
}

unsafe extern "C" fn on_disconnect(_raw: *mut RawContext, client: *mut RawBlocked) {
    gone().insert(client.addr());
}

impl Context<'_> {
    /// Whether the client can wait. In a transaction or a script it cannot.
    pub(crate) fn can_block(&self) -> bool {
        !self.has(api::flags::DENY_BLOCKING)
    }

    /// Makes the client wait, while other clients are served. Returns `None` if it cannot wait.
    pub(crate) fn block(&self) -> Option<Blocked> {
        if !self.can_block() {
            return None;
        }
        // SAFETY: the context is that of a command. There are no callbacks, because the thread writes the reply, and there is
        // no timeout.
        let raw = unsafe { (api().BlockClient)(self.raw, None, None, None, 0) };
        if raw.is_null() {
            return None;
        }
        // An earlier client, which disconnected when it had its answer, may have had this handle.
        gone().remove(&raw.addr());
        // SAFETY: the handle is alive, and nobody has answered it yet. The module is never unloaded.
        unsafe { (api().SetDisconnectCallback)(raw, on_disconnect) };
        Some(Blocked(raw))
    }
}

impl Blocked {
    /// Starts the reply.
    pub(crate) fn begin(self) -> Answering {
        // SAFETY: the handle is alive until `UnblockClient`, which is called once, after this context was freed.
        let raw = unsafe { (api().GetThreadSafeContext)(self.0) };
        Answering { raw, client: self.0, has_begun: false }
    }
}

/// A reply that is written in turns, from any threads, one at a time. When it is dropped, the client gets it.
#[derive(Debug)]
pub(crate) struct Answering {
    raw: *mut RawContext,
    client: *mut RawBlocked,
    has_begun: bool,
}

// SAFETY: Redis' handle of a blocked client is made to be answered by another thread, and until the client is unblocked
// its replies are kept apart from those of others, so no lock is needed. One thread at a time has the value.
unsafe impl Send for Answering {}

impl Answering {
    /// Writes a part of the reply. Returns whether there is more to write: not after a failure, nor if `run` panics. If the
    /// client is gone, only the first turn is made, which may do more than write a reply.
    pub(crate) fn turn(&mut self, run: impl FnOnce(&Context<'_>) -> Outcome<bool>) -> bool {
        if self.has_begun && gone().contains(&self.client.addr()) {
            return false;
        }
        self.has_begun = true;
        // SAFETY: the context is alive, and only this thread has it.
        let context = unsafe { Context::new(self.raw) };
        let mut has_more = false;
        answered(&context, || {
            has_more = run(&context)?;
            Ok(())
        });
        has_more
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        // SAFETY: both are alive, and are not used again.
        unsafe {
            (api().FreeThreadSafeContext)(self.raw);
            if !(api().UnblockClient)(self.client, std::ptr::null_mut()).is_ok() {
                log(Level::Warning, "a client was answered, and waits on");
            }
        }
    }
}
