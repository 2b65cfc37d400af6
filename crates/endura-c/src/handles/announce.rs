//! What each thread announces that it uses.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::barrier;

/// Announcements of a thread: how deep callbacks may call back in before a use takes the lock.
const DEEPEST: usize = 6;

/// The announcements of one thread. The record of a thread that ends serves a later one.
#[repr(align(128))]
pub(super) struct Record {
    announced: [AtomicU64; DEEPEST],
    /// How many of them are in use, which only the thread itself reads and writes.
    depth: Cell<usize>,
    needs_fence: Cell<bool>,
    is_taken: AtomicBool,
}

// SAFETY: other threads use the atomic fields alone, until they have taken the record of a thread that has ended.
unsafe impl Sync for Record {}

impl Record {
    /// Announces a handle, and returns the place of the announcement; `None` if there is no place left.
    #[inline(always)]
    pub(super) fn announce(&self, id: u64) -> Option<usize> {
        let depth = self.depth.get();
        self.announced.get(depth)?.store(id, Ordering::Relaxed);
        self.depth.set(depth + 1);
        barrier::light(self.needs_fence.get());
        Some(depth)
    }

    /// Takes back the announcement at a place. A thread does that in the reverse order of its announcements.
    #[inline(always)]
    pub(super) fn withdraw(&self, depth: usize) {
        if let Some(announced) = self.announced.get(depth) {
            // Release: what the thread did with the object precedes what follows a release that finds it unannounced.
            announced.store(0, Ordering::Release);
        }
        self.depth.set(depth);
    }
}

/// All records. They are never freed.
static RECORDS: Mutex<Vec<&'static Record>> = Mutex::new(Vec::new());

pub(super) fn records() -> MutexGuard<'static, Vec<&'static Record>> {
    RECORDS.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    static OWN: Cell<*const Record> = const { Cell::new(ptr::null()) };
    static LEASE: Lease = const { Lease };
}

/// Gives the record back when its thread ends.
struct Lease;

impl Drop for Lease {
    fn drop(&mut self) {
        let own = OWN.replace(ptr::null());
        // SAFETY: records are never freed.
        if let Some(own) = unsafe { own.as_ref() } {
            own.is_taken.store(false, Ordering::Release);
        }
    }
}

/// The record of this thread; `None` while the thread ends.
#[inline(always)]
pub(super) fn own() -> Option<&'static Record> {
    // SAFETY: records are never freed.
    match unsafe { OWN.get().as_ref() } {
        None => take(),
        own => own,
    }
}

#[cold]
#[inline(never)]
fn take() -> Option<&'static Record> {
    LEASE.try_with(|_| ()).ok()?;
    let needs_fence = !barrier::is_asymmetric();
    let mut records = records();
    let is_vacant = |record: &&Record| {
        let taken = &record.is_taken;
        taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    };
    let record = records.iter().copied().find(is_vacant).unwrap_or_else(|| {
        let new: &'static Record = Box::leak(Box::new(Record {
            announced: [const { AtomicU64::new(0) }; DEEPEST],
            depth: Cell::new(0),
            needs_fence: Cell::new(needs_fence),
            is_taken: AtomicBool::new(true),
        }));
        records.push(new);
        new
    });
    record.depth.set(0);
    OWN.set(record);
    Some(record)
}

/// All handles that some thread has announced.
pub(super) fn announced() -> Vec<u64> {
    let records = records();
    let all = records.iter().flat_map(|record| &record.announced);
    all.map(|id| id.load(Ordering::Acquire)).filter(|&id| id != 0).collect()
}

/// Called in the child of a fork, where of all threads only this one goes on.
pub(super) fn forget_other_threads(records: &[&'static Record]) {
    for record in records.iter().filter(|record| !ptr::eq(**record, OWN.get())) {
        record.announced.iter().for_each(|id| id.store(0, Ordering::Relaxed));
        record.is_taken.store(false, Ordering::Relaxed);
    }
}
