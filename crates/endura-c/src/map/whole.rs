//! Maps as wholes.

use super::open::OpenMap;
use crate::failure::call;
use crate::handles::{MapHandle, hold};
use crate::memory::out;
use crate::status::{OK, Status};

/// The number of entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_len(map: MapHandle, len: *mut u64) -> Status {
    call(|| {
        *out(len, "len")? = hold::<OpenMap>(map.id)?.map.len()? as u64;
        Ok(OK)
    })
}

/// The number of entries, except those that are coming or going.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_approximate_len(map: MapHandle, len: *mut u64) -> Status {
    call(|| {
        *out(len, "len")? = hold::<OpenMap>(map.id)?.map.approximate_len()? as u64;
        Ok(OK)
    })
}

/// Removes all entries.
#[unsafe(no_mangle)]
pub extern "C" fn endura_clear(map: MapHandle) -> Status {
    call(|| {
        hold::<OpenMap>(map.id)?.map.clear()?;
        Ok(OK)
    })
}
