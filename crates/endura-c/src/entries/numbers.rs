//! One key of a map of integers.

use super::bounds::{DESCENDING, check};
use crate::failure::call;
use crate::handles::{MapHandle, hold};
use crate::map::OpenMap;
use crate::memory::{give, given, out};
use crate::status::{ABSENT, DIFFERENT, OK, PRESENT, Status};

/// Gets a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_get_u64(map: MapHandle, key: u64, value: *mut u64) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let integers = own.integers()?;
        let Some(word) = integers.get(integers.keys.word(key)?)? else { return Ok(ABSENT) };
        give(value, integers.values.number(word));
        Ok(OK)
    })
}

/// Gives a key a value.
#[unsafe(no_mangle)]
pub extern "C" fn endura_put_u64(map: MapHandle, key: u64, value: u64) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let integers = own.integers()?;
        integers.put(integers.keys.word(key)?, integers.values.word(value)?)?;
        Ok(OK)
    })
}

/// Gives a key a value if it has none.
#[unsafe(no_mangle)]
pub extern "C" fn endura_add_u64(map: MapHandle, key: u64, value: u64) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let integers = own.integers()?;
        let added = integers.add(integers.keys.word(key)?, integers.values.word(value)?)?;
        Ok(if added { OK } else { PRESENT })
    })
}

/// Gives a key another value if it has one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_replace_u64(
    map: MapHandle,
    key: u64,
    value: u64,
    old: *mut u64,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let integers = own.integers()?;
        let replaced = integers.replace(integers.keys.word(key)?, integers.values.word(value)?)?;
        let Some(word) = replaced else { return Ok(ABSENT) };
        give(old, integers.values.number(word));
        Ok(OK)
    })
}

/// Removes a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_remove_u64(map: MapHandle, key: u64, old: *mut u64) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let integers = own.integers()?;
        let Some(word) = integers.remove(integers.keys.word(key)?)? else { return Ok(ABSENT) };
        give(old, integers.values.number(word));
        Ok(OK)
    })
}

/// Sets a value if it is the expected one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_cas_u64(
    map: MapHandle,
    key: u64,
    expected: *const u64,
    desired: *const u64,
    found: *mut u64,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let integers = own.integers()?;
        let (key, values) = (integers.keys.word(key)?, integers.values);
        let expected = given(expected).map(|number| values.word(number)).transpose()?;
        let desired = given(desired).map(|number| values.word(number)).transpose()?;
        match integers.compare_exchange(key, expected, desired)? {
            Ok(()) => Ok(OK),
            Err(None) => Ok(ABSENT),
            Err(Some(word)) => {
                give(found, values.number(word));
                Ok(DIFFERENT)
            }
        }
    })
}

/// Adds to a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_incr_u64(
    map: MapHandle,
    key: u64,
    delta: i64,
    initial: u64,
    now: *mut u64,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let integers = own.integers()?;
        let (key, values) = (integers.keys.word(key)?, integers.values);
        let (initial, mut made) = (values.word(initial)?, Ok(0));
        integers.alter(key, |old| {
            made = values.moved(old.unwrap_or(initial), delta);
            match &made {
                Ok(new) => Some(*new),
                Err(_) => old,
            }
        })?;
        give(now, values.number(made?));
        Ok(OK)
    })
}

/// Removes the first entry or the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_pop_u64(
    map: MapHandle,
    flags: u32,
    key: *mut u64,
    value: *mut u64,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let integers = own.integers()?;
        check(flags, DESCENDING)?;
        // Before anything is removed.
        let key = out(key, "key")?;
        let popped = integers.pop(flags & DESCENDING != 0)?;
        let Some((word, old)) = popped else { return Ok(ABSENT) };
        *key = integers.keys.number(word);
        give(value, integers.values.number(old));
        Ok(OK)
    })
}
