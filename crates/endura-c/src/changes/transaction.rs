//! Transactions.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use endura::{Error, Transaction};

use crate::failure::{Failure, Outcome, call};
use crate::handles::{MapHandle, Object, PoolHandle, TransactionHandle, add, hold, release};
use crate::map::OpenMap;
use crate::memory::{Buf, Slice, give, out};
use crate::pool::OpenPool;
use crate::status::{ABSENT, E_CLOSED, OK, STOPPED, Status};

/// `endura_run`: one run of a transaction; 0 to commit it.
pub type Run = unsafe extern "C" fn(context: *mut c_void, transaction: TransactionHandle) -> c_int;

/// A run. The transaction goes back to the library when the run ends.
struct Running(Mutex<Option<Transaction<'static>>>);

impl Object for Running {
    const KIND: u64 = 5;
    const NAME: &'static str = "transaction";
}

impl Running {
    fn with<R>(
        &self,
        run: impl FnOnce(&mut Transaction<'static>) -> endura::Result<R>,
    ) -> Outcome<R> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(transaction) => Ok(run(transaction)?),
            None => Err(Failure::new(
                E_CLOSED,
                "the function of this transaction has returned: use the transaction there only",
            )),
        }
    }

    fn end(&self) -> Option<Transaction<'static>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Why a transaction is not made.
enum Stop {
    /// The function of the program has said so.
    Said,
    Failed(Failure),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Runs a function until its changes are made at once, upon the values that it has read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_transact(
    pool: PoolHandle,
    run: Option<Run>,
    context: *mut c_void,
) -> Status {
    call(|| {
        let own = hold::<OpenPool>(pool.id)?;
        let run = run.ok_or_else(|| Failure::argument("`run` is NULL"))?;
        let made = own.pool.transact_moved(|transaction| {
            let running = Arc::new(Running(Mutex::new(Some(transaction))));
            let handle = add(Arc::clone(&running), pool.id).map(|id| TransactionHandle { id });
            // SAFETY: the program promises that the function can be called with the context during the call.
            let answer = handle.map(|handle| (handle, unsafe { run(context, handle) }));
            if let Ok((handle, _)) = answer {
                release(handle.id);
            }
            let Some(transaction) = running.end() else {
                unreachable!("a run is ended once");
            };
            let outcome = match answer {
                Ok((_, 0)) => Ok(()),
                Ok(_) => Err(Stop::Said),
                Err(failure) => Err(Stop::Failed(failure)),
            };
            (transaction, outcome)
        });
        match made {
            Ok(()) => Ok(OK),
            Err(Stop::Said) => Ok(STOPPED),
            Err(Stop::Failed(failure)) => Err(failure),
        }
    })
}

/// Gets a value, with the changes of this run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_transaction_get(
    transaction: TransactionHandle,
    map: MapHandle,
    key: Slice,
    value: *mut Buf,
) -> Status {
    call(|| {
        let (running, own) = (hold::<Running>(transaction.id)?, hold::<OpenMap>(map.id)?);
        let (key, value) = (key.bytes("key")?, out(value, "value")?);
        let found = running.with(|transaction| transaction.get_encoded(&own.map, key))?;
        let Some(found) = found else { return Ok(ABSENT) };
        value.set(&found)?;
        Ok(OK)
    })
}

/// As `endura_transaction_get`, for integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_transaction_get_u64(
    transaction: TransactionHandle,
    map: MapHandle,
    key: u64,
    value: *mut u64,
) -> Status {
    call(|| {
        let (running, own) = (hold::<Running>(transaction.id)?, hold::<OpenMap>(map.id)?);
        let (key, values) = (own.number_key(key)?, own.value_numbers()?);
        let found = running.with(|transaction| transaction.get_encoded(&own.map, &key))?;
        let Some(found) = found else { return Ok(ABSENT) };
        give(value, values.number(endura::dynamic::word(&found)));
        Ok(OK)
    })
}

/// Gives a key a value, when the transaction is made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_transaction_put(
    transaction: TransactionHandle,
    map: MapHandle,
    key: Slice,
    value: Slice,
) -> Status {
    call(|| {
        let (running, own) = (hold::<Running>(transaction.id)?, hold::<OpenMap>(map.id)?);
        let (key, value) = (key.bytes("key")?, value.bytes("value")?);
        running.with(|transaction| transaction.put_encoded(&own.map, key, value))?;
        Ok(OK)
    })
}

/// As `endura_transaction_put`, for integers.
#[unsafe(no_mangle)]
pub extern "C" fn endura_transaction_put_u64(
    transaction: TransactionHandle,
    map: MapHandle,
    key: u64,
    value: u64,
) -> Status {
    call(|| {
        let (running, own) = (hold::<Running>(transaction.id)?, hold::<OpenMap>(map.id)?);
        let (key, value) = (own.number_key(key)?, own.number_value(value)?);
        running.with(|transaction| transaction.put_encoded(&own.map, &key, &value))?;
        Ok(OK)
    })
}

/// Removes a key, when the transaction is made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_transaction_delete(
    transaction: TransactionHandle,
    map: MapHandle,
    key: Slice,
) -> Status {
    call(|| {
        let (running, own) = (hold::<Running>(transaction.id)?, hold::<OpenMap>(map.id)?);
        let key = key.bytes("key")?;
        running.with(|transaction| transaction.delete_encoded(&own.map, key))?;
        Ok(OK)
    })
}

/// As `endura_transaction_delete`, for an integer.
#[unsafe(no_mangle)]
pub extern "C" fn endura_transaction_delete_u64(
    transaction: TransactionHandle,
    map: MapHandle,
    key: u64,
) -> Status {
    call(|| {
        let (running, own) = (hold::<Running>(transaction.id)?, hold::<OpenMap>(map.id)?);
        let key = own.number_key(key)?;
        running.with(|transaction| transaction.delete_encoded(&own.map, &key))?;
        Ok(OK)
    })
}
