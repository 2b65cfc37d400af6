//! Sentences for the operator about checkpoints that fail, and that succeed again.

use std::sync::{Arc, OnceLock, Weak};

use endura::Event;

use crate::store::Store;
use crate::wording::in_words;

/// The store, once it is open: it knows why a checkpoint failed.
#[derive(Debug, Clone, Default)]
pub(super) struct Known(Arc<OnceLock<Weak<Store>>>);

impl Known {
    pub(super) fn set(&self, store: &Arc<Store>) {
        // The store is set once, so this does not fail.
        let _ = self.0.set(Arc::downgrade(store));
    }

    /// A sentence for the first failure, and for the first success after it.
    pub(super) fn sentence(&self, event: &Event) -> Option<String> {
        match *event {
            Event::CheckpointFailed { code, in_a_row: 1 } => {
                let store = self.0.get().and_then(Weak::upgrade);
                let stats = store.and_then(|store| store.pool().stats().ok());
                let checkpoints = stats.and_then(|stats| stats.checkpoints);
                let is_there = checkpoints.as_ref().is_some_and(|found| found.newest.is_some());
                let failure = checkpoints.and_then(|found| found.last_failure);
                let reason =
                    failure.map_or_else(|| code.to_owned(), |failure| in_words(&failure.reason));
                let loss = if is_there {
                    "a power loss takes the pool back to an earlier one"
                } else {
                    "there is none, so a power loss may cost the pool"
                };
                Some(format!(
                    "no checkpoint can be made: {reason}. It is tried again; until then {loss}"
                ))
            }
            Event::CheckpointEnded { failed_before: before @ 1.., .. } => {
                Some(format!("checkpoints can be made again, after {before} that could not"))
            }
            _ => None,
        }
    }
}
