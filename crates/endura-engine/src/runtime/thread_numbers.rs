//! The table of thread numbers: which of them are taken, and by which threads of the operating system.
//!
//! The table has no lock, because a forked child could inherit a lock that is held by a thread which does not exist in
//! the child. One bit per number says whether the number is taken. The bits are in blocks that are never freed. A
//! forked child continues with the bits that it inherits.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

const WORDS: usize = 8;
const NUMBERS: usize = 64 * WORDS;

/// A block of numbers, and the pointer to the next block.
struct Block {
    taken: [AtomicU64; WORDS],
    /// The system's ids of the threads that have these numbers; 0 = not known.
    owners: [AtomicU32; NUMBERS],
    more: AtomicPtr<Block>,
}

impl Block {
    const fn new() -> Self {
        Self {
            taken: [const { AtomicU64::new(0) }; WORDS],
            owners: [const { AtomicU32::new(0) }; NUMBERS],
            more: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The next block, which is made if there is none.
    fn next(&self) -> &'static Self {
        // Acquire: pairs with the exchange below, which comes after the block was made.
        let known = self.more.load(Ordering::Acquire);
        let next = if known.is_null() { self.append() } else { known };
        // SAFETY: a block in the list is never freed.
        unsafe { &*next }
    }

    #[cold]
    fn append(&self) -> *mut Self {
        let fresh = Box::into_raw(Box::new(Self::new()));
        let null = ptr::null_mut();
        match self.more.compare_exchange(null, fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(theirs) => {
                // SAFETY: it was made just now, and no other thread has seen it.
                drop(unsafe { Box::from_raw(fresh) });
                theirs
            }
        }
    }

    /// The lowest free number of this block.
    fn take(&self) -> Option<usize> {
        self.taken.iter().enumerate().find_map(|(i, word)| {
            let with_one = |taken: u64| (taken != u64::MAX).then(|| taken | (taken + 1));
            // Acquire: pairs with the Release of `give_back`, so that everything the old owner of the number did comes
            // before everything the next owner does.
            let before = word.fetch_update(Ordering::Acquire, Ordering::Relaxed, with_one).ok()?;
            Some(64 * i + before.trailing_ones() as usize)
        })
    }
}

static FIRST: Block = Block::new();

/// The block of a number, and the number's index in that block.
fn place(number: usize) -> (&'static Block, usize) {
    let block = (0..number / NUMBERS).fold(&FIRST, |block, _| block.next());
    (block, number % NUMBERS)
}

/// Takes the lowest free number. Lock-free.
pub(super) fn take() -> usize {
    let (mut block, mut from) = (&FIRST, 0);
    loop {
        if let Some(number) = block.take() {
            return from + number;
        }
        (block, from) = (block.next(), from + NUMBERS);
    }
}

/// Returns a number, and with it the slots that it selects.
pub(super) fn give_back(number: usize) {
    let (block, i) = place(number);
    // Relaxed, as in `note_owner`.
    block.owners[i].store(0, Ordering::Relaxed);
    // Release: pairs with `take`.
    block.taken[i / 64].fetch_and(!(1 << (i % 64)), Ordering::Release);
}

/// Records that the calling thread has this number.
pub(super) fn note_owner(number: usize) {
    let (block, i) = place(number);
    // SAFETY: the call takes no argument and cannot fail.
    let thread = unsafe { libc::gettid() };
    // Relaxed: the ids are for messages only.
    block.owners[i].store(thread.cast_unsigned(), Ordering::Relaxed);
}

/// The system's id of the thread that has this number, if it is known.
pub(crate) fn system_id(number: usize) -> Option<u64> {
    let (block, i) = place(number);
    // Relaxed, as in `note_owner`.
    let thread = block.owners[i].load(Ordering::Relaxed);
    (thread != 0).then_some(u64::from(thread))
}

/// Locked by a test that takes very many numbers, and by tests that check how high a number is.
#[cfg(test)]
pub(crate) static MANY: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[cfg(test)]
mod tests {
    use std::sync::PoisonError;

    use super::*;

    #[test]
    fn numbers_do_not_run_out_and_are_used_again() {
        let _alone = MANY.lock().unwrap_or_else(PoisonError::into_inner);
        let many: Vec<usize> = (0..3 * NUMBERS).map(|_| take()).collect();
        let mut sorted = many.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), many.len(), "one number twice");
        many.into_iter().for_each(give_back);
        let again = take();
        // Other tests run beside this one.
        assert!(again < NUMBERS, "{again}");
        give_back(again);
    }
}
