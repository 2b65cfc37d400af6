//! Which thread of the simulated program the calling one stands for.

use std::cell::Cell;

thread_local! {
    static ACTOR: Cell<u32> = const { Cell::new(0) };
}

/// Says which thread of the simulated program the calling one now stands for, and gives back which it
/// was. (Explorers run many of those on one of the operating system's.)
pub fn act_as(thread: u32) -> u32 {
    ACTOR.replace(thread)
}

/// Which thread of the simulated program the calling one stands for.
#[inline(always)]
pub fn actor() -> u32 {
    ACTOR.get()
}
