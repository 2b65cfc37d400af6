//! Adding and releasing handles.

use std::any::Any;
use std::sync::Arc;

use super::announce::announced;
use super::number::{MOST_USES, SLOTS, id, kind_of, slot_of, uses_of};
use super::slots::{slot, slot_or_new};
use super::state::{Kept, State, state};
use super::{barrier, fork};
use crate::failure::{Failure, Outcome};
use crate::status::E_HANDLE;

/// The objects that handles name.
pub(crate) trait Object: Any + Send + Sync {
    /// The number of the kind, from 1 to 15.
    const KIND: u64;
    /// The kind in a sentence.
    const NAME: &'static str;
}

/// Released objects that may wait until the announcements are looked at. A look costs a system call.
const MOST_WAITING: usize = 16;

/// A handle for an object that belongs to a pool; to itself if `pool` is 0.
pub(crate) fn add<T: Object>(object: Arc<T>, pool: u64) -> Outcome<u64> {
    fork::prepare();
    let mut state = state();
    let index = match state.free.pop_front() {
        Some(index) => index,
        None if state.next < SLOTS => {
            state.next += 1;
            state.next - 1
        }
        None => {
            let text = format!("{} handles are open: release some", SLOTS - 1);
            return Err(Failure::new(E_HANDLE, text));
        }
    };
    let slot = slot_or_new(index.into());
    let id = id(index, T::KIND, uses_of(slot.last()) + 1);
    let pool = if pool == 0 { id } else { pool };
    slot.set(id, Arc::as_ptr(&object).cast());
    state.live.insert(id, Kept { object, pool });
    state.of_pools.insert((pool, id));
    Ok(id)
}

impl State {
    fn retire(&mut self, id: u64) -> bool {
        let Some(Kept { object, pool }) = self.live.remove(&id) else { return false };
        self.of_pools.remove(&(pool, id));
        if let Some(slot) = slot(id) {
            slot.clear();
        }
        self.retired.push((id, object));
        true
    }

    /// The retired objects that no thread uses, for the caller to drop when it has given back the lock.
    fn unused(&mut self) -> Vec<(u64, Arc<dyn Any + Send + Sync>)> {
        if self.retired.is_empty() || !barrier::heavy() {
            return Vec::new();
        }
        let announced = announced();
        let is_used = |id: u64| announced.contains(&id);
        let (used, unused): (Vec<_>, _) =
            std::mem::take(&mut self.retired).into_iter().partition(|&(id, _)| is_used(id));
        self.retired = used;
        let reusable = unused.iter().filter(|&&(id, _)| uses_of(id) < MOST_USES);
        self.free.extend(reusable.map(|&(id, _)| slot_of(id) as u32));
        unused
    }
}

/// Releases a handle; returns whether it was open.
pub(crate) fn release(id: u64) -> bool {
    let mut state = state();
    let was_open = state.retire(id);
    let unused = match state.retired.len() > MOST_WAITING {
        true => state.unused(),
        false => Vec::new(),
    };
    drop(state);
    // An object that goes with its last user may take its time.
    drop(unused);
    was_open
}

/// Releases a pool's handle, and all that belong to the pool; returns whether the pool's was open.
pub(crate) fn release_all_of(pool: u64) -> bool {
    let mut state = state();
    let of_pool = state.of_pools.range((pool, 0)..=(pool, u64::MAX));
    let ids: Vec<u64> = of_pool.map(|&(_, id)| id).collect();
    let mut was_open = false;
    for id in ids {
        was_open |= state.retire(id) && id == pool;
    }
    let unused = state.unused();
    drop(state);
    drop(unused);
    was_open
}

/// The objects of a kind, with their handles.
pub(crate) fn all<T: Object>() -> Vec<(u64, Arc<T>)> {
    let state = state();
    let of_kind = state.live.iter().filter(|&(&id, _)| kind_of(id) == T::KIND);
    let typed = |(&id, kept): (&u64, &Kept)| Some((id, Arc::clone(&kept.object).downcast().ok()?));
    of_kind.filter_map(typed).collect()
}
