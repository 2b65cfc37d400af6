//! The ends of a map, and its ranges as wholes.

use std::ffi::{c_int, c_void};
use std::ops::ControlFlow;

use endura::dynamic::Encoding;

use super::bounds::{DESCENDING, FROM_AFTER, KEYS_ONLY, TO_INCLUDED, bounds, check};
use crate::failure::{Failure, Outcome, call};
use crate::handles::{MapHandle, hold};
use crate::map::OpenMap;
use crate::memory::{Buf, Slice, give, out};
use crate::status::{ABSENT, OK, STOPPED, Status};

/// `endura_visit_entry`: gets an entry, which is lent to it until it returns; 0 to go on.
pub type VisitEntry = unsafe extern "C" fn(context: *mut c_void, key: Slice, value: Slice) -> c_int;

fn end(own: &OpenMap, is_last: bool) -> endura::Result<Option<(Encoding, Encoding)>> {
    if is_last { own.map.last_key_value() } else { own.map.first_key_value() }
}

/// Copies an entry to the buffers of the program. The value may be left out.
fn show(entry: &(Encoding, Encoding), key: &mut Buf, value: *mut Buf) -> Outcome<()> {
    key.set(&entry.0)?;
    if !value.is_null() {
        out(value, "value")?.set(&entry.1)?;
    }
    Ok(())
}

/// The first entry or the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_end(
    map: MapHandle,
    flags: u32,
    key: *mut Buf,
    value: *mut Buf,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        check(flags, DESCENDING)?;
        let key = out(key, "key")?;
        let Some(entry) = end(&own, flags & DESCENDING != 0)? else { return Ok(ABSENT) };
        show(&entry, key, value)?;
        Ok(OK)
    })
}

/// Removes the first entry or the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_pop(
    map: MapHandle,
    flags: u32,
    key: *mut Buf,
    value: *mut Buf,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        check(flags, DESCENDING)?;
        let (key, is_last) = (out(key, "key")?, flags & DESCENDING != 0);
        // An entry is copied before it is removed, so that it stays where there is no memory for the copy. Each further
        // round is owed to a thread that has removed the entry first.
        while let Some(entry) = end(&own, is_last)? {
            show(&entry, key, value)?;
            let popped = match is_last {
                true => own.map.pop_last_if(&entry.0, &entry.1)?,
                false => own.map.pop_first_if(&entry.0, &entry.1)?,
            };
            if popped {
                return Ok(OK);
            }
        }
        Ok(ABSENT)
    })
}

/// Removes the entries of a range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_remove_range(
    map: MapHandle,
    from: *const Slice,
    to: *const Slice,
    flags: u32,
    count: *mut u64,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        check(flags, FROM_AFTER | TO_INCLUDED)?;
        let (from, to) = bounds(from, to, flags)?;
        give(count, own.map.remove_range(from, to)? as u64);
        Ok(OK)
    })
}

/// Passes the entries of a range to a function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_visit(
    map: MapHandle,
    from: *const Slice,
    to: *const Slice,
    flags: u32,
    visit: Option<VisitEntry>,
    context: *mut c_void,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        check(flags, DESCENDING | FROM_AFTER | TO_INCLUDED | KEYS_ONLY)?;
        let visit = visit.ok_or_else(|| Failure::argument("`visit` is NULL"))?;
        // SAFETY: the program promises that the function can be called with the context during the call.
        let shown = |key: &[u8], value: &[u8]| unsafe {
            visit(context, Slice::of(key), Slice::of(value)) != 0
        };
        let ((from, to), upwards) = (bounds(from, to, flags)?, flags & DESCENDING == 0);
        let range = own.map.range(from, to);
        let stopped = if flags & KEYS_ONLY == 0 {
            let ended = range.visit(upwards, |key, value| match shown(key, value) {
                false => ControlFlow::Continue(()),
                true => ControlFlow::Break(()),
            })?;
            ended.is_break()
        } else {
            let mut keys = range.keys();
            loop {
                let key = if upwards { keys.next() } else { keys.next_back() };
                let Some(key) = key.transpose()? else { break false };
                if shown(&key, &[]) {
                    break true;
                }
            }
        };
        Ok(if stopped { STOPPED } else { OK })
    })
}

/// Removes the entries that a function does not want to keep.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_retain(
    map: MapHandle,
    keep: Option<VisitEntry>,
    context: *mut c_void,
    count: *mut u64,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let keep = keep.ok_or_else(|| Failure::argument("`keep` is NULL"))?;
        let removed = own.map.retain(|key, value| {
            // SAFETY: the program promises that the function can be called with the context during the call.
            unsafe { keep(context, Slice::of(key), Slice::of(value)) != 0 }
        })?;
        give(count, removed as u64);
        Ok(OK)
    })
}
