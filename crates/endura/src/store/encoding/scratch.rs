//! Buffers of a thread, for what has to be contiguous for a moment.

use std::cell::RefCell;

use crate::tree::Bytes;

/// Larger buffers are given back to the heap.
const KEPT: usize = 64 << 10;
/// What fits here never leaves the stack.
const SMALL: usize = 128;

thread_local! {
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer. Any number may be in use at once, for closures nest.
pub(crate) fn take() -> Vec<u8> {
    // A thread that is about to end may have none any more.
    BUFFERS.try_with(|all| all.borrow_mut().pop()).ok().flatten().unwrap_or_default()
}

/// Keeps a buffer for the next one who takes one.
pub(crate) fn give(mut buffer: Vec<u8>) {
    if buffer.capacity() <= KEPT {
        buffer.clear();
        let _ = BUFFERS.try_with(|all| all.borrow_mut().push(buffer));
    }
}

/// Bytes of the pool as a slice: a copy, for which nothing is allocated.
#[inline]
pub(crate) fn contiguous<R>(bytes: Bytes<'_>, read: impl FnOnce(&[u8]) -> R) -> R {
    match bytes.len() {
        len @ 0..=32 => on_stack(bytes, &mut [0; 32][..len], read),
        len @ 33..=SMALL => on_stack(bytes, &mut [0; SMALL][..len], read),
        _ => {
            let mut buffer = take();
            bytes.append_to(&mut buffer);
            let result = read(&buffer);
            give(buffer);
            result
        }
    }
}

#[inline(always)]
fn on_stack<R>(bytes: Bytes<'_>, buffer: &mut [u8], read: impl FnOnce(&[u8]) -> R) -> R {
    bytes.copy_to(0, buffer);
    read(buffer)
}
