//! The slots of handles, in chunks that are allocated when they are needed and never freed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::number::{SLOTS, slot_of};

const CHUNK: usize = 1024;
const CHUNKS: usize = SLOTS as usize / CHUNK;

/// A place for one object.
#[repr(align(32))]
#[derive(Default)]
pub(super) struct Slot {
    /// The handle; 0 while there is none.
    id: AtomicU64,
    /// The object of that handle.
    object: AtomicPtr<()>,
    /// The last handle that the slot had.
    last: AtomicU64,
}

impl Slot {
    /// The object, if the slot has this handle. It can be used while the handle is announced.
    #[inline(always)]
    pub(super) fn object_of(&self, id: u64) -> Option<*const ()> {
        // Acquire pairs with `set`: the object is that of this handle. It is replaced only once the handle is neither
        // here nor announced.
        let has = self.id.load(Ordering::Acquire) == id;
        has.then(|| self.object.load(Ordering::Relaxed).cast_const())
    }

    /// Under the lock of the table: gives an empty slot a handle.
    pub(super) fn set(&self, id: u64, object: *const ()) {
        self.last.store(id, Ordering::Relaxed);
        self.object.store(object.cast_mut(), Ordering::Relaxed);
        self.id.store(id, Ordering::Release);
    }

    /// Under the lock of the table: takes the handle out.
    pub(super) fn clear(&self) {
        self.id.store(0, Ordering::SeqCst);
    }

    /// Under the lock of the table: the last handle that the slot had; 0 if it had none.
    pub(super) fn last(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }
}

static SLOTS_IN_CHUNKS: [OnceLock<Box<[Slot]>>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];

/// The slot of a handle, if its chunk was ever used.
#[inline(always)]
pub(super) fn slot(id: u64) -> Option<&'static Slot> {
    let at = slot_of(id);
    SLOTS_IN_CHUNKS[at / CHUNK].get()?.get(at % CHUNK)
}

/// The slot of a handle, whose chunk is allocated if it was not.
pub(super) fn slot_or_new(id: u64) -> &'static Slot {
    let at = slot_of(id);
    let new = || (0..CHUNK).map(|_| Slot::default()).collect();
    &SLOTS_IN_CHUNKS[at / CHUNK].get_or_init(new)[at % CHUNK]
}
