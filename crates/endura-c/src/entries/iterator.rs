//! Iterators.

use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use endura::dynamic::{DynamicKeys, DynamicMap, DynamicRange, Encoding, behind};

use super::bounds::{Bounds, DESCENDING, FROM_AFTER, KEYS_ONLY, TO_INCLUDED, bounds, check};
use crate::failure::{Failure, Outcome, call};
use crate::handles::{IterHandle, MapHandle, Object, add, hold, release};
use crate::map::OpenMap;
use crate::memory::{Slice, give, out};
use crate::status::{E_BUSY, E_CLOSED, END, OK, Status};

/// An iterator, which one thread at a time may step.
struct Iterator {
    map: DynamicMap,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    flags: u32,
    state: Mutex<State>,
}

struct State {
    left: Left,
    /// The entry that is lent until the next step.
    lent: Option<(Encoding, Option<Encoding>)>,
}

/// What the iterator has not returned yet.
enum Left {
    Entries(DynamicRange),
    Keys(DynamicKeys),
}

impl Object for Iterator {
    const KIND: u64 = 3;
    const NAME: &'static str = "iterator";
}

fn left(map: &DynamicMap, (from, to): Bounds<'_>, flags: u32) -> Left {
    let range = map.range(from, to);
    match flags & KEYS_ONLY {
        0 => Left::Entries(range),
        _ => Left::Keys(range.keys()),
    }
}

fn lent(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

impl Iterator {
    fn open(own: &OpenMap, (from, to): Bounds<'_>, flags: u32) -> Outcome<u64> {
        let map = own.map.clone();
        let state = Mutex::new(State { left: left(&map, (from, to), flags), lent: None });
        let [from, to] = [from, to].map(|bound| bound.map(<[u8]>::to_vec));
        add(Arc::new(Self { map, from, to, flags, state }), own.pool)
    }

    fn state(&self) -> Outcome<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            // A panic of the library has poisoned the pool, which tells.
            Err(TryLockError::Poisoned(state)) => Ok(state.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Failure::new(
                E_BUSY,
                "another thread is inside a step of this iterator: open one for each thread",
            )),
        }
    }

    fn step(&self, key: *mut Slice, value: *mut Slice, is_back: bool) -> Outcome {
        let key = out(key, "key")?;
        let mut state = self.state()?;
        let upwards = (self.flags & DESCENDING == 0) != is_back;
        state.lent = match &mut state.left {
            Left::Entries(left) => {
                let entry = if upwards { left.next() } else { left.next_back() };
                entry.transpose()?.map(|(key, value)| (key, Some(value)))
            }
            Left::Keys(left) => {
                let key = if upwards { left.next() } else { left.next_back() };
                key.transpose()?.map(|key| (key, None))
            }
        };
        let Some((found, of_found)) = &state.lent else { return Ok(END) };
        *key = Slice::of(found);
        give(value, Slice::of(of_found.as_deref().unwrap_or(&[])));
        Ok(OK)
    }

    /// Starts again at a key, inside of the bounds that the iterator was opened with.
    fn seek(&self, key: &[u8]) -> Outcome {
        let mut state = self.state()?;
        let (mut from, mut to) = (lent(&self.from), lent(&self.to));
        if self.flags & DESCENDING == 0 {
            if matches!(from, Bound::Unbounded)
                || matches!(from, Bound::Included(first) | Bound::Excluded(first) if key > first)
            {
                from = Bound::Included(key);
            }
        } else if matches!(to, Bound::Unbounded)
            || matches!(to, Bound::Included(last) | Bound::Excluded(last) if key < last)
        {
            to = Bound::Included(key);
        }
        *state = State { left: left(&self.map, (from, to), self.flags), lent: None };
        Ok(OK)
    }
}

/// Opens an iterator over a range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_range(
    map: MapHandle,
    from: *const Slice,
    to: *const Slice,
    flags: u32,
    iter: *mut IterHandle,
) -> Status {
    call(|| {
        let handle = out(iter, "iter")?;
        *handle = IterHandle::NONE;
        let own = hold::<OpenMap>(map.id)?;
        check(flags, DESCENDING | FROM_AFTER | TO_INCLUDED | KEYS_ONLY)?;
        handle.id = Iterator::open(&own, bounds(from, to, flags)?, flags)?;
        Ok(OK)
    })
}

/// Opens an iterator over the keys that begin with a prefix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_prefix(
    map: MapHandle,
    prefix: Slice,
    flags: u32,
    iter: *mut IterHandle,
) -> Status {
    call(|| {
        let handle = out(iter, "iter")?;
        *handle = IterHandle::NONE;
        let own = hold::<OpenMap>(map.id)?;
        check(flags, DESCENDING | KEYS_ONLY)?;
        let prefix = prefix.bytes("prefix")?;
        let end = behind(prefix);
        let to = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        handle.id = Iterator::open(&own, (Bound::Included(prefix), to), flags)?;
        Ok(OK)
    })
}

/// The next entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_next(
    iter: IterHandle,
    key: *mut Slice,
    value: *mut Slice,
) -> Status {
    call(|| hold::<Iterator>(iter.id)?.step(key, value, false))
}

/// The next entry from the other end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_next_back(
    iter: IterHandle,
    key: *mut Slice,
    value: *mut Slice,
) -> Status {
    call(|| hold::<Iterator>(iter.id)?.step(key, value, true))
}

/// Moves an iterator to a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_seek(iter: IterHandle, key: Slice) -> Status {
    call(|| hold::<Iterator>(iter.id)?.seek(key.bytes("key")?))
}

/// Releases an iterator.
#[unsafe(no_mangle)]
pub extern "C" fn endura_iter_release(iter: IterHandle) -> Status {
    call(|| {
        if iter != IterHandle::NONE {
            drop(hold::<Iterator>(iter.id)?);
            if !release(iter.id) {
                return Err(Failure::new(E_CLOSED, "another thread has released the iterator"));
            }
        }
        Ok(OK)
    })
}
