//! Reads of one moment.

use std::ffi::{c_int, c_void};

use crate::failure::{Failure, call};
use crate::handles::{PoolHandle, hold};
use crate::pool::OpenPool;
use crate::status::{OK, STOPPED, Status};

/// `endura_look_at`: reads maps; 0 to go on.
pub type LookAt = unsafe extern "C" fn(context: *mut c_void) -> c_int;

/// Runs a function until what it has read has each batch whole, or not at all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_read(
    pool: PoolHandle,
    look: Option<LookAt>,
    context: *mut c_void,
) -> Status {
    call(|| {
        let own = hold::<OpenPool>(pool.id)?;
        let look = look.ok_or_else(|| Failure::argument("`look` is NULL"))?;
        // SAFETY: the program promises that the function can be called with the context during the call.
        let answer = own.pool.read(|| Ok(unsafe { look(context) }))?;
        Ok(if answer == 0 { OK } else { STOPPED })
    })
}
