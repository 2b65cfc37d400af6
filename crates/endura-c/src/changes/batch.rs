//! Batches.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use endura::{Batch, Error};

use crate::failure::{Failure, Outcome, call};
use crate::handles::{BatchHandle, MapHandle, Object, PoolHandle, add, hold, release};
use crate::map::OpenMap;
use crate::memory::{Slice, bytes_or_none, give, given, out};
use crate::pool::OpenPool;
use crate::status::{E_BUSY, E_CLOSED, OK, Status, UNMET};

/// The parts of a batch, which one thread at a time may use.
struct Parts(Mutex<Batch>);

impl Object for Parts {
    const KIND: u64 = 4;
    const NAME: &'static str = "batch";
}

impl Parts {
    fn lock(&self) -> Outcome<MutexGuard<'_, Batch>> {
        match self.0.try_lock() {
            Ok(batch) => Ok(batch),
            // A panic of the library has poisoned the pool, which tells.
            Err(TryLockError::Poisoned(batch)) => Ok(batch.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(Failure::new(E_BUSY, "another thread uses this batch: use one in each thread"))
            }
        }
    }
}

/// Begins a batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_batch_begin(pool: PoolHandle, batch: *mut BatchHandle) -> Status {
    call(|| {
        let handle = out(batch, "batch")?;
        *handle = BatchHandle::NONE;
        let own = hold::<OpenPool>(pool.id)?;
        handle.id = add(Arc::new(Parts(Mutex::new(own.pool.batch()))), pool.id)?;
        Ok(OK)
    })
}

/// Adds: a key gets a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_batch_put(
    batch: BatchHandle,
    map: MapHandle,
    key: Slice,
    value: Slice,
) -> Status {
    call(|| {
        let (parts, own) = (hold::<Parts>(batch.id)?, hold::<OpenMap>(map.id)?);
        parts.lock()?.put_encoded(&own.map, key.bytes("key")?, value.bytes("value")?)?;
        Ok(OK)
    })
}

/// As `endura_batch_put`, for integers.
#[unsafe(no_mangle)]
pub extern "C" fn endura_batch_put_u64(
    batch: BatchHandle,
    map: MapHandle,
    key: u64,
    value: u64,
) -> Status {
    call(|| {
        let (parts, own) = (hold::<Parts>(batch.id)?, hold::<OpenMap>(map.id)?);
        let (key, value) = (own.number_key(key)?, own.number_value(value)?);
        parts.lock()?.put_encoded(&own.map, &key, &value)?;
        Ok(OK)
    })
}

/// Adds: a key is removed, if it is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_batch_delete(
    batch: BatchHandle,
    map: MapHandle,
    key: Slice,
) -> Status {
    call(|| {
        let (parts, own) = (hold::<Parts>(batch.id)?, hold::<OpenMap>(map.id)?);
        parts.lock()?.delete_encoded(&own.map, key.bytes("key")?)?;
        Ok(OK)
    })
}

/// As `endura_batch_delete`, for an integer.
#[unsafe(no_mangle)]
pub extern "C" fn endura_batch_delete_u64(batch: BatchHandle, map: MapHandle, key: u64) -> Status {
    call(|| {
        let (parts, own) = (hold::<Parts>(batch.id)?, hold::<OpenMap>(map.id)?);
        parts.lock()?.delete_encoded(&own.map, &own.number_key(key)?)?;
        Ok(OK)
    })
}

/// Adds a condition: a key has this value, or is absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_batch_expect(
    batch: BatchHandle,
    map: MapHandle,
    key: Slice,
    value: *const Slice,
) -> Status {
    call(|| {
        let (parts, own) = (hold::<Parts>(batch.id)?, hold::<OpenMap>(map.id)?);
        let (key, value) = (key.bytes("key")?, bytes_or_none(value, "value")?);
        parts.lock()?.expect_encoded(&own.map, key, value)?;
        Ok(OK)
    })
}

/// As `endura_batch_expect`, for integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_batch_expect_u64(
    batch: BatchHandle,
    map: MapHandle,
    key: u64,
    value: *const u64,
) -> Status {
    call(|| {
        let (parts, own) = (hold::<Parts>(batch.id)?, hold::<OpenMap>(map.id)?);
        let value = given(value).map(|value| own.number_value(value)).transpose()?;
        parts.lock()?.expect_encoded(&own.map, &own.number_key(key)?, value.as_deref())?;
        Ok(OK)
    })
}

/// The number of parts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_batch_len(batch: BatchHandle, len: *mut usize) -> Status {
    call(|| {
        let parts = hold::<Parts>(batch.id)?;
        *out(len, "len")? = parts.lock()?.len();
        Ok(OK)
    })
}

/// Removes all parts.
#[unsafe(no_mangle)]
pub extern "C" fn endura_batch_clear(batch: BatchHandle) -> Status {
    call(|| {
        hold::<Parts>(batch.id)?.lock()?.clear();
        Ok(OK)
    })
}

/// Makes all changes at once, or none. The batch is empty then, if it was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_batch_commit(batch: BatchHandle, unmet: *mut usize) -> Status {
    call(|| {
        let parts = hold::<Parts>(batch.id)?;
        let committed = parts.lock()?.commit();
        match committed {
            Err(Error::Unmet { index }) => {
                give(unmet, index);
                Ok(UNMET)
            }
            other => Ok(other.map(|()| OK)?),
        }
    })
}

/// Releases a batch. What was not committed is not made.
#[unsafe(no_mangle)]
pub extern "C" fn endura_batch_release(batch: BatchHandle) -> Status {
    call(|| {
        if batch != BatchHandle::NONE {
            drop(hold::<Parts>(batch.id)?);
            if !release(batch.id) {
                return Err(Failure::new(E_CLOSED, "another thread has released the batch"));
            }
        }
        Ok(OK)
    })
}
