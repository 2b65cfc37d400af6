//! The objects of all handles, under one lock. Uses of handles do not take it.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An object of any kind.
pub(super) type AnyObject = Arc<dyn Any + Send + Sync>;

/// What the table keeps of a handle.
pub(super) struct Kept {
    pub(super) object: AnyObject,
    /// The handle of the pool that the object belongs to; its own if it is a pool.
    pub(super) pool: u64,
}

/// What the lock protects.
pub(super) struct State {
    /// The objects by their handles.
    pub(super) live: BTreeMap<u64, Kept>,
    /// The handles by those of their pools.
    pub(super) of_pools: BTreeSet<(u64, u64)>,
    /// What was released, and may still be in use.
    pub(super) retired: Vec<(u64, AnyObject)>,
    /// Slots that can be used again. The one that has been free for longest is used first.
    pub(super) free: VecDeque<u32>,
    /// The first slot that was never used. Slot 0 never is.
    pub(super) next: u32,
}

static STATE: Mutex<State> = Mutex::new(State {
    live: BTreeMap::new(),
    of_pools: BTreeSet::new(),
    retired: Vec::new(),
    free: VecDeque::new(),
    next: 1,
});

pub(super) fn state() -> MutexGuard<'static, State> {
    // Under the lock only memory is allocated, and no object is dropped.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}
