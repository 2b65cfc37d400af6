//! Whether a COPY or RESTORE that has failed on a replica was its master's.
//!
//! A replica ends if it cannot do what its master has done. A writable replica has clients of its own, which only get an
//! error. The callbacks of COPY and RESTORE are not told whose command it is, but the server counts the errors that it
//! would send to its master. So the replica compares that number before and after the command. It does so between two
//! commands, before it sends anything, so its master does not hear that the replica has applied what it has not.

use std::sync::{Mutex, PoisonError};

use super::session::Session;
use crate::redis::{Level, end_replica, info, log};

/// A failure that may be of a command of the master.
#[derive(Debug)]
struct Doubt {
    /// The number of errors for the master before the command ended.
    errors: Option<String>,
    why: String,
}

/// The first failure since the last turn.
static DOUBT: Mutex<Option<Doubt>> = Mutex::new(None);

/// The number of errors that this server would have sent to its master; `None` if INFO does not have it.
fn errors_for_master() -> Option<String> {
    let [errors] = info(c"stats", [c"unexpected_error_replies"]);
    errors
}

/// Notes that a COPY or RESTORE has failed. If this server is a replica, [`Session::decide`] ends it if the command was
/// its master's.
pub(super) fn has_failed(is_replica: bool, why: &str) {
    log(Level::Warning, why);
    if !is_replica {
        return;
    }
    let mut doubt = DOUBT.lock().unwrap_or_else(PoisonError::into_inner);
    if doubt.is_none() {
        *doubt = Some(Doubt { errors: errors_for_master(), why: why.to_owned() });
    }
}

impl Session {
    /// Ends this replica if a command of its master has failed since the last turn.
    pub(super) fn decide(&self) {
        let doubt = DOUBT.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Doubt { errors, why }) = doubt else { return };
        let is_of_client = errors.is_some() && errors_for_master() == errors;
        if !is_of_client {
            end_replica(&why);
        }
    }
}
