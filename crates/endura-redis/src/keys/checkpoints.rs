//! Logs the first checkpoint that fails, the first one that succeeds again, and what a start completes.

use endura::Event;

use super::session::begun;
use crate::redis::{Level, log};
use crate::store::in_words;

/// Receives the events of the pool, on a thread of the library.
pub(crate) fn log_checkpoints(event: &Event) {
    match *event {
        Event::CheckpointFailed { code, in_a_row: 1 } => {
            let stats = begun().and_then(|session| session.store.pool.stats().ok());
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
            let text = format!(
                "no checkpoint can be made: {reason}. It is tried again; until then {loss}"
            );
            log(Level::Warning, text);
        }
        Event::BatchReplayed { operations, took } => {
            log(
                Level::Notice,
                format!(
                    "a command that a kill had cut was completed: {operations} changes in {took:?}"
                ),
            );
        }
        Event::CheckpointEnded { failed_before: before @ 1.., .. } => {
            log(
                Level::Notice,
                format!("checkpoints can be made again, after {before} that could not"),
            );
        }
        _ => {}
    }
}
