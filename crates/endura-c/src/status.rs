//! Statuses: what the functions return, each with a number and a name that never change.

use std::ffi::{CStr, c_char, c_int};

/// 0 for success, more than 0 if the call did not do what its name says and tells why, less than 0 if it failed.
pub type Status = c_int;

/// Success.
pub const OK: Status = 0;
/// There is no such key, or no entry.
pub const ABSENT: Status = 1;
/// The key has a value, which stays.
pub const PRESENT: Status = 2;
/// The key has another value than the expected one.
pub const DIFFERENT: Status = 3;
/// There is no further entry.
pub const END: Status = 4;
/// The value is longer than the room for it.
pub const CUT: Status = 5;
/// A callback asked to stop.
pub const STOPPED: Status = 6;
/// A condition of a batch does not hold.
pub const UNMET: Status = 7;
/// The pool is closed and whole, but no checkpoint could be made of its last writes.
pub const NO_CHECKPOINT: Status = 8;

/// The handle names nothing that this function could use.
pub const E_HANDLE: Status = -1;
/// An argument is wrong: NULL, an unknown flag, text that is not UTF-8.
pub const E_ARGUMENT: Status = -2;
/// The type of the map does not have this number, or the map has no numbers.
pub const E_TYPE: Status = -3;
/// Another thread is using the iterator, the batch or the transaction.
pub const E_BUSY: Status = -4;
/// There is no memory.
pub const E_MEMORY: Status = -5;
/// A panic, which is a bug of the library.
pub const E_PANIC: Status = -6;
/// The handle was closed or released, or its pool was.
pub const E_CLOSED: Status = -44;

/// Statuses of this face, with their names.
const OWN: [(Status, &CStr); 15] = [
    (OK, c"ok"),
    (ABSENT, c"absent"),
    (PRESENT, c"present"),
    (DIFFERENT, c"different"),
    (END, c"end"),
    (CUT, c"cut"),
    (STOPPED, c"stopped"),
    (UNMET, c"unmet"),
    (NO_CHECKPOINT, c"no_checkpoint"),
    (E_HANDLE, c"handle"),
    (E_ARGUMENT, c"argument"),
    (E_TYPE, c"type"),
    (E_BUSY, c"busy"),
    (E_MEMORY, c"memory"),
    (E_PANIC, c"panic"),
];

/// Statuses of errors of the library, with their codes. `unmet` is none of them: there the call did what it could.
const OF_CODES: [(Status, &CStr); 39] = [
    (-16, c"corrupt"),
    (-17, c"full"),
    (-18, c"locked"),
    (-19, c"forked"),
    (-20, c"needs_recovery"),
    (-21, c"needs_restore"),
    (-22, c"bad_checkpoint"),
    (-23, c"displaced"),
    (-24, c"version"),
    (-25, c"unknown_features"),
    (-26, c"not_a_pool"),
    (-27, c"truncated"),
    (-28, c"key_too_long"),
    (-29, c"value_too_long"),
    (-30, c"wrong_types"),
    (-31, c"wrong_kind"),
    (-32, c"other_nodes"),
    (-33, c"encode"),
    (-34, c"decode"),
    (-35, c"write"),
    (-36, c"short_value"),
    (-37, c"unknown_nodes"),
    (-38, c"bad_name"),
    (-39, c"bad_type_name"),
    (-40, c"no_such_map"),
    (-41, c"map_exists"),
    (-42, c"poisoned"),
    (-43, c"dropped"),
    (E_CLOSED, c"closed"),
    (-45, c"reclaim_stalled"),
    (-46, c"recursive_update"),
    (-47, c"batch_too_large"),
    (-48, c"other_pool"),
    (-49, c"contended"),
    (-50, c"inside_operation"),
    (-51, c"writers_stay"),
    (-52, c"read_only"),
    (-53, c"unsupported"),
    (-54, c"io"),
];

/// All statuses, with their names.
pub fn statuses() -> impl Iterator<Item = (Status, &'static CStr)> {
    OWN.into_iter().chain(OF_CODES)
}

/// The status of an error of the library. A code that has none is a bug, which a test excludes.
pub(crate) fn of_code(code: &str) -> Status {
    let found = statuses().find(|(_, name)| name.to_bytes() == code.as_bytes());
    found.map_or(E_PANIC, |(status, _)| status)
}

/// The name of a status.
#[unsafe(no_mangle)]
pub extern "C" fn endura_status_name(status: Status) -> *const c_char {
    let found = statuses().find(|&(known, _)| known == status);
    found.map_or(c"unknown", |(_, name)| name).as_ptr()
}
