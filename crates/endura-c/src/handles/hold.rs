//! Uses of handles.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use super::announce::{Record, own};
use super::number::{kind_of, uses_of};
use super::slots::slot;
use super::state::state;
use super::table::Object;
use crate::failure::{Failure, Outcome};
use crate::status::{E_CLOSED, E_HANDLE};

/// An object in use, by the thread that has resolved its handle. Uses end in the reverse order of their begins.
pub(crate) struct Held<T: Object> {
    object: *const T,
    /// Where the handle is announced; `None` if the use owns a count of the object instead.
    announced: Option<(&'static Record, usize)>,
    /// An announcement belongs to a thread.
    of_thread: PhantomData<*const ()>,
}

impl<T: Object> Deref for Held<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the handle is announced, or the object is counted.
        unsafe { &*self.object }
    }
}

impl<T: Object> Drop for Held<T> {
    #[inline(always)]
    fn drop(&mut self) {
        match self.announced {
            Some((record, depth)) => record.withdraw(depth),
            // SAFETY: `find` has made the pointer by `into_raw`.
            None => drop(unsafe { Arc::from_raw(self.object) }),
        }
    }
}

/// The object of a handle.
#[inline(always)]
pub(crate) fn hold<T: Object>(id: u64) -> Outcome<Held<T>> {
    if kind_of(id) == T::KIND
        && let Some(slot) = slot(id)
        && let Some(record) = own()
        && let Some(depth) = record.announce(id)
    {
        if let Some(object) = slot.object_of(id) {
            let announced = Some((record, depth));
            return Ok(Held { object: object.cast(), announced, of_thread: PhantomData });
        }
        record.withdraw(depth);
    }
    find(id)
}

/// As [`hold`], under the lock; or why there is no such object.
#[cold]
#[inline(never)]
fn find<T: Object>(id: u64) -> Outcome<Held<T>> {
    let state = state();
    if let Some(kept) = state.live.get(&id)
        && let Ok(object) = Arc::clone(&kept.object).downcast::<T>()
    {
        return Ok(Held { object: Arc::into_raw(object), announced: None, of_thread: PhantomData });
    }
    let last = slot(id).map_or(0, |slot| uses_of(slot.last()));
    let name = T::NAME;
    Err(match id {
        0 => Failure::new(E_HANDLE, format!("the handle of the {name} is 0: open one first")),
        _ if kind_of(id) != T::KIND || !(1..=last).contains(&uses_of(id)) => Failure::new(
            E_HANDLE,
            format!("this is no handle of a {name}: use one that a call gave"),
        ),
        _ => Failure::new(E_CLOSED, format!("the {name} was closed or released: open it again")),
    })
}
