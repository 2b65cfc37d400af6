//! Copies of whole pools, and restores.

use std::ffi::{c_char, c_int};
use std::ops::ControlFlow;

use endura::{Error, Pool};

use super::opened::OpenPool;
use crate::failure::call;
use crate::handles::{PoolHandle, hold};
use crate::memory::{path, path_or_none};
use crate::status::{OK, Status};

/// Copies the pool as it is now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_backup(pool: PoolHandle, to: *const c_char) -> Status {
    call(|| {
        hold::<OpenPool>(pool.id)?.pool.backup(path(to, "to")?)?;
        Ok(OK)
    })
}

/// Copies the last checkpoint of a pool that any process may have open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_backup_of_checkpoint(
    path: *const c_char,
    from: *const c_char,
    to: *const c_char,
) -> Status {
    call(|| {
        let (path, from) = (self::path(path, "path")?, path_or_none(from, "from")?);
        let to = self::path(to, "to")?;
        Pool::backup_of_checkpoint(path, from, to, |_, _| ControlFlow::Continue(()))?;
        Ok(OK)
    })
}

/// Copies all maps into a new pool, without free space between their entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_compact(pool: PoolHandle, to: *const c_char) -> Status {
    call(|| {
        let own = hold::<OpenPool>(pool.id)?;
        Pool::options().create_from(&own.pool, path(to, "to")?, |new| {
            for map in own.pool.maps()? {
                own.pool.copy_map(&map.name, new)?;
            }
            Ok::<_, Error>(())
        })?;
        Ok(OK)
    })
}

/// Takes a pool back to a checkpoint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_restore(
    path: *const c_char,
    from: *const c_char,
    keep_torn: c_int,
) -> Status {
    call(|| {
        let (path, from) = (self::path(path, "path")?, path_or_none(from, "from")?);
        Pool::restore(path, from, keep_torn != 0)?;
        Ok(OK)
    })
}
