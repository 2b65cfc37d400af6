//! Per-thread buffers for bytes that must be contiguous for a moment.

use std::cell::RefCell;

use endura_engine::tree::Bytes;

/// A buffer with a larger capacity, in bytes, is freed instead of kept.
const KEPT: usize = 64 << 10;
/// Up to this length in bytes, the copy is on the stack.
const SMALL: usize = 128;

thread_local! {
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer. Any number may be in use at once, because closures nest.
pub(crate) fn take() -> Vec<u8> {
    // A thread that is about to end may have destroyed its buffers.
    BUFFERS.try_with(|all| all.borrow_mut().pop()).ok().flatten().unwrap_or_default()
}

/// Keeps a buffer for the next caller of [`take`].
pub(crate) fn give(mut buffer: Vec<u8>) {
    if buffer.capacity() <= KEPT {
        buffer.clear();
        let _ = BUFFERS.try_with(|all| all.borrow_mut().push(buffer));
    }
}

/// Passes bytes of the pool to `read` as a slice. The slice is a copy, on the stack or in a reused buffer, so that
/// usually nothing is allocated.
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
