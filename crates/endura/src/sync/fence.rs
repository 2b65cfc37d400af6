//! Full fences that directly follow a locked instruction.

use super::{Ordering, compiler_fence, fence};

/// A full fence right behind an exchange, or behind a `SeqCst` store: later loads come after it.
///
/// On x86-64 both are locked instructions, which are that fence themselves; `mfence` behind one would cost as
/// much as the rest of an insert. Elsewhere they are not (AArch64: `stlr`, and the store of `ldaxr`/`stlxr`, let
/// later plain loads overtake them), and it is a fence (`dmb ish`).
#[inline(always)]
pub(crate) fn fence_behind_exchange() {
    if cfg!(all(target_arch = "x86_64", not(all(test, loom)))) {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}
