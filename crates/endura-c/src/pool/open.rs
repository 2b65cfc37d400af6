//! Opening and closing.

use std::ffi::c_char;
use std::sync::Arc;

use endura::{Error, Pool};

use super::at_exit;
use super::opened::OpenPool;
use super::options::{Existence, Options, read};
use crate::failure::{call, note};
use crate::handles::{PoolHandle, add, hold, release_all_of};
use crate::memory::{out, path};
use crate::status::{NO_CHECKPOINT, OK, Status};

/// Opens a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_open(
    path: *const c_char,
    options: *const Options,
    pool: *mut PoolHandle,
) -> Status {
    call(|| {
        let handle = out(pool, "pool")?;
        *handle = PoolHandle::NONE;
        let (path, given) = (self::path(path, "path")?, read(options)?);
        let (existence, (options, listener)) = (given.existence()?, given.of_library()?);
        let pool = match existence {
            Existence::Either => options.open(path),
            Existence::Must => options.open_existing(path),
            Existence::MustNot => options.create_new(path),
        }?;
        at_exit::prepare();
        let process = std::process::id();
        handle.id = add(Arc::new(OpenPool { pool, listener, process }), 0)?;
        Ok(OK)
    })
}

/// Whether a close has closed the pool, or could not begin.
fn is_closed(pool: &Pool) -> bool {
    matches!(pool.maps(), Err(Error::Closed { .. }))
}

/// Closes a pool, and releases all handles that belong to it.
#[unsafe(no_mangle)]
pub extern "C" fn endura_close(pool: PoolHandle) -> Status {
    call(|| {
        if pool == PoolHandle::NONE {
            return Ok(OK);
        }
        // The handle is released below, so that this call must not be a use of it.
        let (own, listener) = {
            let held = hold::<OpenPool>(pool.id)?;
            (held.pool.clone(), held.listener.clone())
        };
        let closed = own.close();
        if closed.is_ok() || is_closed(&own) {
            if let Some(listener) = listener {
                listener.end();
            }
            drop(own);
            release_all_of(pool.id);
        }
        match closed?.checkpoint_error {
            None => Ok(OK),
            Some(error) => {
                note(&error);
                Ok(NO_CHECKPOINT)
            }
        }
    })
}

/// The version of the library: `major << 16 | minor << 8 | patch`.
#[unsafe(no_mangle)]
pub extern "C" fn endura_version() -> u32 {
    let part = |text: &str| text.parse().unwrap_or(0_u32);
    part(env!("CARGO_PKG_VERSION_MAJOR")) << 16
        | part(env!("CARGO_PKG_VERSION_MINOR")) << 8
        | part(env!("CARGO_PKG_VERSION_PATCH"))
}

/// The version of the files.
#[unsafe(no_mangle)]
pub extern "C" fn endura_format() -> u32 {
    endura::FORMAT
}
