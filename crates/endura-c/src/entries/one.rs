//! One key of a map of any types. Keys and values are passed as they are stored.

use std::ffi::c_void;

use endura::dynamic::{Encoding, UntypedMap, word};

use crate::failure::{Failure, Outcome, call};
use crate::handles::{MapHandle, hold};
use crate::map::OpenMap;
use crate::memory::{Buf, Slice, bytes_or_none, give, out, overlap};
use crate::status::{ABSENT, CUT, DIFFERENT, OK, PRESENT, Status};

/// `endura_look`: gets a value, which is lent to it until it returns.
pub type Look = unsafe extern "C" fn(context: *mut c_void, value: *const c_void, len: usize);

/// Copies the value of a key to where `take` says, once: `take` gets its length, and a function that copies.
#[inline]
fn read(
    own: &OpenMap,
    key: &[u8],
    take: impl FnOnce(usize, &mut dyn FnMut(&mut [u8])) -> Outcome,
) -> Outcome {
    let taken = match own.map.map() {
        UntypedMap::Bytes(_) => {
            own.map.read_with(key, |value| take(value.len(), &mut |room| value.copy_to(0, room)))?
        }
        UntypedMap::Words(_) => own.map.get_with(key, |value| {
            take(value.len(), &mut |room| room.copy_from_slice(&value[..room.len()]))
        })?,
    };
    taken.unwrap_or(Ok(ABSENT))
}

/// Gets a value into a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_get(map: MapHandle, key: Slice, value: *mut Buf) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let (key, buf) = (key.bytes("key")?, out(value, "value")?);
        let copy = buf.holds(key).then(|| key.to_vec());
        let key = copy.as_deref().unwrap_or(key);
        read(&own, key, |len, write| buf.fill(len, write).map(|()| OK))
    })
}

/// Gets as much of a value as there is room for, and its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_get_into(
    map: MapHandle,
    key: Slice,
    to: *mut c_void,
    room: usize,
    len: *mut usize,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let (key, all) = (key.bytes("key")?, out(len, "len")?);
        if room > 0 && to.is_null() {
            return Err(Failure::argument("`to` is NULL, but has room: give 0 as its room"));
        }
        let copy = overlap(to, room, key).then(|| key.to_vec());
        read(&own, copy.as_deref().unwrap_or(key), |len, write| {
            *all = len;
            let fits = len.min(room).min(isize::MAX as usize);
            if fits > 0 {
                // SAFETY: the program promises that `room` bytes can be written during the call; the key is not in them.
                write(unsafe { std::slice::from_raw_parts_mut(to.cast(), fits) });
            }
            Ok(if fits < len { CUT } else { OK })
        })
    })
}

/// Passes a value to a function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_get_with(
    map: MapHandle,
    key: Slice,
    look: Option<Look>,
    context: *mut c_void,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let look = look.ok_or_else(|| Failure::argument("`look` is NULL"))?;
        let shown = own.map.get_with(key.bytes("key")?, |value| {
            // SAFETY: the program promises that the function can be called with the context during the call.
            unsafe { look(context, value.as_ptr().cast(), value.len()) };
        })?;
        Ok(if shown.is_some() { OK } else { ABSENT })
    })
}

/// Whether a key is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_has(map: MapHandle, key: Slice) -> Status {
    call(|| {
        let found = hold::<OpenMap>(map.id)?.map.contains_key(key.bytes("key")?)?;
        Ok(if found { OK } else { ABSENT })
    })
}

/// Gives a key a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_put(map: MapHandle, key: Slice, value: Slice) -> Status {
    call(|| {
        hold::<OpenMap>(map.id)?.map.put(key.bytes("key")?, value.bytes("value")?)?;
        Ok(OK)
    })
}

/// Gives a key a value if it has none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_add(map: MapHandle, key: Slice, value: Slice) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let added = own.map.insert_if_absent(key.bytes("key")?, value.bytes("value")?)?;
        Ok(if added { OK } else { PRESENT })
    })
}

/// Writes what a call found to a buffer, if one is given.
pub(super) fn give_found(found: Option<Encoding>, buf: *mut Buf) -> Outcome {
    let Some(found) = found else { return Ok(ABSENT) };
    if !buf.is_null() {
        out(buf, "the buffer")?.set(&found)?;
    }
    Ok(OK)
}

/// Gives a key another value if it has one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_replace(
    map: MapHandle,
    key: Slice,
    value: Slice,
    old: *mut Buf,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        give_found(own.map.replace(key.bytes("key")?, value.bytes("value")?)?, old)
    })
}

/// Removes a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_remove(map: MapHandle, key: Slice, old: *mut Buf) -> Status {
    call(|| {
        let (own, key) = (hold::<OpenMap>(map.id)?, key.bytes("key")?);
        if old.is_null() {
            return Ok(if own.map.delete(key)? { OK } else { ABSENT });
        }
        give_found(own.map.remove(key)?, old)
    })
}

/// Sets a value if it is the expected one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_cas(
    map: MapHandle,
    key: Slice,
    expected: *const Slice,
    desired: *const Slice,
    found: *mut Buf,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let expected = bytes_or_none(expected, "expected")?;
        let desired = bytes_or_none(desired, "desired")?;
        match own.map.compare_exchange(key.bytes("key")?, expected, desired)? {
            Ok(()) => Ok(OK),
            Err(None) => Ok(ABSENT),
            Err(other) => give_found(other, found).map(|_| DIFFERENT),
        }
    })
}

/// Adds to a value that is an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_incr(
    map: MapHandle,
    key: Slice,
    delta: i64,
    initial: u64,
    now: *mut u64,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let values = own.value_numbers()?;
        let (initial, mut made) = (values.word(initial)?, Ok(0));
        own.map.alter(key.bytes("key")?, |old| {
            made = values.moved(old.map_or(initial, word), delta);
            match &made {
                Ok(new) => Some(values.encoded(*new).to_vec()),
                Err(_) => old.map(<[u8]>::to_vec),
            }
        })?;
        give(now, values.number(made?));
        Ok(OK)
    })
}
