//! Many entries of a map of integers in one call.

use std::ops::{Bound, ControlFlow};

use super::bounds::{DESCENDING, FROM_AFTER, check};
use crate::failure::call;
use crate::handles::{MapHandle, hold};
use crate::map::OpenMap;
use crate::memory::{array, array_out, give, out};
use crate::status::{ABSENT, END, OK, Status};

/// `endura_pair_u64`
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The key.
    pub key: u64,
    /// Its value.
    pub value: u64,
}

/// Keys that are looked up before their values are copied.
const AT_ONCE: usize = 4096;

/// Looks up keys, with their cache misses side by side.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_get_many_u64(
    map: MapHandle,
    keys: *const u64,
    n: usize,
    values: *mut u64,
    found: *mut u8,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let integers = own.integers()?;
        let keys = array(keys, n, "keys")?;
        let (values, found) = (array_out(values, n, "values")?, array_out(found, n, "found")?);
        let places = values.chunks_mut(AT_ONCE).zip(found.chunks_mut(AT_ONCE));
        let mut all = true;
        for (keys, (values, found)) in keys.chunks(AT_ONCE).zip(places) {
            let words = keys.iter().map(|&key| integers.keys.word(key));
            let words = words.collect::<Result<Vec<_>, _>>()?;
            for (at, word) in integers.get_many(&words)?.into_iter().enumerate() {
                found[at] = word.is_some().into();
                values[at] = word.map_or(0, |word| integers.values.number(word));
                all &= word.is_some();
            }
        }
        Ok(if all { OK } else { ABSENT })
    })
}

/// Puts entries, in their order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_put_many_u64(
    map: MapHandle,
    keys: *const u64,
    values: *const u64,
    n: usize,
    done: *mut usize,
) -> Status {
    call(|| {
        give(done, 0);
        let own = hold::<OpenMap>(map.id)?;
        let integers = own.integers()?;
        let (keys, values) = (array(keys, n, "keys")?, array(values, n, "values")?);
        let (mut taken, mut failed) = (0, None);
        let put = integers.extend(keys.iter().zip(values).map_while(|(&key, &value)| {
            let key = integers.keys.word(key);
            let entry = key.and_then(|key| Ok((key, integers.values.word(value)?)));
            taken += 1;
            entry.map_err(|failure| failed = Some(failure)).ok()
        }));
        // An entry is put before the next one is taken: all but the last are there, and that one if nothing failed.
        let all_put = put.is_ok() && failed.is_none();
        give(done, if all_put { taken } else { taken.saturating_sub(1) });
        put?;
        failed.map_or(Ok(OK), Err)
    })
}

/// Copies entries from a key on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_scan_u64(
    map: MapHandle,
    from: u64,
    flags: u32,
    pairs: *mut Pair,
    max: usize,
    n: *mut usize,
) -> Status {
    call(|| {
        let own = hold::<OpenMap>(map.id)?;
        let integers = own.integers()?;
        check(flags, DESCENDING | FROM_AFTER)?;
        let (pairs, n) = (array_out(pairs, max, "pairs")?, out(n, "n")?);
        *n = 0;
        let from = integers.keys.word(from)?;
        let from =
            if flags & FROM_AFTER == 0 { Bound::Included(from) } else { Bound::Excluded(from) };
        let mut places = pairs.iter_mut();
        let Some(mut place) = places.next() else { return Ok(OK) };
        let mut count = 0;
        let ended = integers.visit(from, flags & DESCENDING != 0, |key, value| {
            let (key, value) = (integers.keys.number(key), integers.values.number(value));
            *place = Pair { key, value };
            count += 1;
            match places.next() {
                Some(next) => {
                    place = next;
                    ControlFlow::Continue(())
                }
                None => ControlFlow::Break(()),
            }
        })?;
        *n = count;
        Ok(if ended.is_break() { OK } else { END })
    })
}
