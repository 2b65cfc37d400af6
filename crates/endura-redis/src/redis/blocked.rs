//! Clients that wait for a thread.

use super::api::{self, RawBlocked, api};
use super::context::{Context, Level, answered, log};
use crate::store::Outcome;

/// A client that waits. It is answered once, by [`answer`](Self::answer).
#[derive(Debug)]
pub(crate) struct Blocked(*mut RawBlocked);

// SAFETY: Redis' handle of a blocked client is made to be answered by another thread.
unsafe impl Send for Blocked {}

impl Context<'_> {
    /// Whether the client can wait: not in a transaction or a script.
    pub(crate) fn can_block(&self) -> bool {
        !self.has(api::flags::DENY_BLOCKING)
    }

    /// Lets the client wait; other clients are served. `None` where that cannot be.
    pub(crate) fn block(&self) -> Option<Blocked> {
        if !self.can_block() {
            return None;
        }
        // SAFETY: the context is that of a command; no callback: the reply is written by the thread. No limit of time.
        let raw = unsafe { (api().BlockClient)(self.raw, None, None, None, 0) };
        (!raw.is_null()).then_some(Blocked(raw))
    }
}

impl Blocked {
    /// Writes the answer, from any thread, and lets the client go on, also if `run` panics.
    pub(crate) fn answer(self, run: impl FnOnce(&Context<'_>) -> Outcome) {
        // SAFETY: the handle is alive until `UnblockClient`, which is called once. Replies of a context of its own are
        // kept apart until then, so that no lock is needed.
        unsafe {
            let raw = (api().GetThreadSafeContext)(self.0);
            let context = Context::new(raw);
            answered(&context, || run(&context));
            (api().FreeThreadSafeContext)(raw);
            if !(api().UnblockClient)(self.0, std::ptr::null_mut()).is_ok() {
                log(Level::Warning, "a client was answered, and waits on");
            }
        }
    }
}
