//! Full fences that directly follow an exchange.

use super::{Ordering, compiler_fence, fence};

/// A full fence directly after an exchange or a `SeqCst` store: it orders later loads after that store.
///
/// On x86-64 both are locked instructions, which are full fences themselves. An additional `mfence` would cost as much
/// as the rest of an insert. On other processors they are not (on AArch64 later plain loads may overtake `stlr` and the
/// store of `ldaxr`/`stlxr`), so the function issues a fence there (`dmb ish`).
#[inline(always)]
pub(crate) fn fence_behind_exchange() {
    if cfg!(all(target_arch = "x86_64", not(all(test, loom)))) {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}
