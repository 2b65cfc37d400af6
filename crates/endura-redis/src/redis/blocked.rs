//! Clients that wait for the reply of a worker thread.

use super::api::{self, RawBlocked, api};
use super::context::{Context, Level, answered, log};
use crate::store::Outcome;

/// A client that waits. It is answered once, by [`answer`](Self::answer).
#[derive(Debug)]
pub(crate) struct Blocked(*mut RawBlocked);

// SAFETY: Redis' handle of a blocked client is made to be answered by another thread.
unsafe impl Send for Blocked {}

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
        (!raw.is_null()).then_some(Blocked(raw))
    }
}

impl Blocked {
    /// Writes the reply, from any thread, and unblocks the client, even if `run` panics.
    pub(crate) fn answer(self, run: impl FnOnce(&Context<'_>) -> Outcome) {
        // SAFETY: the handle is alive until `UnblockClient`, which is called once. Until then the replies of this context are
        // kept apart from those of others, so no lock is needed.
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
