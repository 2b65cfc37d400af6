//! Events of a pool, as calls of a function of the program.

use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use endura::{Event, LeakRecoveryState};
use serde_json::{Value, json};

/// `endura_listen`: gets the name of an event, and its facts as JSON.
pub type Listen =
    unsafe extern "C" fn(context: *mut c_void, event: *const c_char, json: *const c_char);

/// The listener of a pool.
pub(crate) struct Listener {
    listen: Listen,
    context: *mut c_void,
    /// Held while the function runs.
    running: Mutex<()>,
    is_over: AtomicBool,
}

// SAFETY: the header asks for a function and a context that can be used in another thread; one call runs at a time.
unsafe impl Send for Listener {}
// SAFETY: as above.
unsafe impl Sync for Listener {}

impl Listener {
    pub(super) fn new(listen: Listen, context: *mut c_void) -> Self {
        Self { listen, context, running: Mutex::new(()), is_over: AtomicBool::new(false) }
    }

    /// Passes on an event. It runs in the thread of the pool's events.
    pub(super) fn hear(&self, event: &Event) {
        let (name, facts) = told(event);
        let (Ok(name), Ok(facts)) = (CString::new(name), CString::new(facts.to_string())) else {
            return;
        };
        let _running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        // Acquire pairs with `end`.
        if !self.is_over.load(Ordering::Acquire) {
            // SAFETY: the program promises that the function can be called with the context until the close. Both texts
            // live longer than the call.
            unsafe { (self.listen)(self.context, name.as_ptr(), facts.as_ptr()) };
        }
    }

    /// After this no call begins. One that is running goes on: a close has waited for it, as long as it waits.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }
}

/// The name of an event, and its facts.
fn told(event: &Event) -> (&'static str, Value) {
    match *event {
        Event::OpenedUnclean { generation } => {
            ("opened_unclean", json!({ "generation": generation }))
        }
        Event::BatchReplayed { operations, took } => {
            ("batch_replayed", json!({ "operations": operations, "took": took.as_secs_f64() }))
        }
        Event::LeakRecoveryBegan => ("leak_recovery_began", json!({})),
        Event::LeakRecoveryEnded { state, freed_bytes } => {
            let failed = state == LeakRecoveryState::Failed;
            ("leak_recovery_ended", json!({ "failed": failed, "freed_bytes": freed_bytes }))
        }
        Event::Grew { file_bytes } => ("grew", json!({ "file_bytes": file_bytes })),
        Event::ReclaimStalled { waiting_bytes } => {
            ("reclaim_stalled", json!({ "waiting_bytes": waiting_bytes }))
        }
        Event::CheckpointEnded { held, written_bytes, failed_before } => {
            let held = held.as_secs_f64();
            let facts = json!({
                "held": held, "written_bytes": written_bytes, "failed_before": failed_before
            });
            ("checkpoint_ended", facts)
        }
        Event::CheckpointFailed { code, in_a_row } => {
            ("checkpoint_failed", json!({ "code": code, "in_a_row": in_a_row }))
        }
        Event::CloseFailed { code } => ("close_failed", json!({ "code": code })),
        Event::CheckpointSlow { took } => {
            ("checkpoint_slow", json!({ "took": took.as_secs_f64() }))
        }
        Event::WritersHeld { held } => ("writers_held", json!({ "held": held.as_secs_f64() })),
        Event::Restored { age, written_bytes } => {
            ("restored", json!({ "age": age.as_secs_f64(), "written_bytes": written_bytes }))
        }
        Event::Poisoned => ("poisoned", json!({})),
        // An event of a newer library.
        _ => ("other", json!({ "text": format!("{event:?}") })),
    }
}
