//! An open pool, and what is done to its maps as wholes.

use std::ffi::c_char;
use std::sync::Arc;

use endura::Pool;

use super::events::Listener;
use crate::failure::call;
use crate::handles::{Object, PoolHandle, hold};
use crate::memory::text;
use crate::status::{ABSENT, OK, Status};

/// A pool that the program has opened.
pub(crate) struct OpenPool {
    pub(crate) pool: Pool,
    pub(super) listener: Option<Arc<Listener>>,
    /// The process that opened it. A forked child has its handles, and nothing to close.
    pub(super) process: u32,
}

impl Object for OpenPool {
    const KIND: u64 = 1;
    const NAME: &'static str = "pool";
}

/// Makes a checkpoint.
#[unsafe(no_mangle)]
pub extern "C" fn endura_checkpoint(pool: PoolHandle) -> Status {
    call(|| {
        hold::<OpenPool>(pool.id)?.pool.checkpoint()?;
        Ok(OK)
    })
}

/// Frees what an unclean end has stranded, and returns when that is done.
#[unsafe(no_mangle)]
pub extern "C" fn endura_recover_leaks(pool: PoolHandle) -> Status {
    call(|| {
        hold::<OpenPool>(pool.id)?.pool.recover_leaks()?;
        Ok(OK)
    })
}

/// Gives a map another name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_rename(
    pool: PoolHandle,
    from: *const c_char,
    to: *const c_char,
) -> Status {
    call(|| {
        let own = hold::<OpenPool>(pool.id)?;
        own.pool.rename(text(from, "from")?, text(to, "to")?)?;
        Ok(OK)
    })
}

/// Removes a map and all of its entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_drop(pool: PoolHandle, name: *const c_char) -> Status {
    call(|| {
        let dropped = hold::<OpenPool>(pool.id)?.pool.drop_map(text(name, "name")?)?;
        Ok(if dropped { OK } else { ABSENT })
    })
}
