//! Many entries of a map of any types in one call.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::failure::{Failure, call};
use crate::handles::{MapHandle, hold};
use crate::map::OpenMap;
use crate::memory::{Slice, array, give};
use crate::status::{OK, STOPPED, Status};

/// `endura_found`: gets the number of a key, and its value or NULL, lent until it returns; 0 to go on.
pub type Found =
    unsafe extern "C" fn(context: *mut c_void, index: usize, value: *const Slice) -> c_int;

/// Keys that are looked up before their values are passed on.
const AT_ONCE: usize = 256;

/// Looks up keys, with their cache misses side by side.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_get_many(
    map: MapHandle,
    keys: *const Slice,
    n: usize,
    found: Option<Found>,
    context: *mut c_void,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let found = found.ok_or_else(|| Failure::argument("`found` is NULL"))?;
        for (part, keys) in array(keys, n, "keys")?.chunks(AT_ONCE).enumerate() {
            let keys = keys.iter().map(|key| key.bytes("keys")).collect::<Result<Vec<_>, _>>()?;
            for (at, value) in own.map.get_many(&keys)?.iter().enumerate() {
                let value = value.as_deref().map(Slice::of);
                let value = value.as_ref().map_or(ptr::null(), ptr::from_ref);
                // SAFETY: the program promises that the function can be called with the context during the call.
                if unsafe { found(context, part * AT_ONCE + at, value) } != 0 {
                    return Ok(STOPPED);
                }
            }
        }
        Ok(OK)
    })
}

/// Puts entries, in their order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_put_many(
    map: MapHandle,
    keys: *const Slice,
    values: *const Slice,
    n: usize,
    done: *mut usize,
) -> Status {
    call(|| {
        give(done, 0);
        let own = hold::<OpenMap>(map.id)?;
        let (keys, values) = (array(keys, n, "keys")?, array(values, n, "values")?);
        let (mut taken, mut failed) = (0, None);
        let put = own.map.extend(keys.iter().zip(values).map_while(|(key, value)| {
            let entry = key.bytes("keys").and_then(|key| Ok((key, value.bytes("values")?)));
            taken += 1;
            entry.map_err(|failure| failed = Some(failure)).ok()
        }));
        // An entry is put before the next one is taken: all but the last are there, and that one if nothing failed.
        let all_put = put.is_ok() && failed.is_none();
        give(done, if all_put { taken } else { taken.saturating_sub(1) });
        put?;
        failed.map_or(Ok(OK), Err)
    })
}
