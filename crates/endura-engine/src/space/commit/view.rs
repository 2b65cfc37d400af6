//! Reads of one moment: what a closure reads, in any number of maps, has each commit whole or not at all.
//!
//! | step | the thread that reads |
//! | --- | --- |
//! | V1 | sets BATCHES in the gate, so that its own operations take their cold path, where they consult this file |
//! | V2 | before the first look at a map: waits until no commit changes the map, and notes how many have begun |
//! | V3 | behind the closure: if no further commit has begun in a noted map, no look has seen a part of one; else the closure runs again |
//! | V4 | after some runs in vain: keeps new commits out meanwhile; they wait before they have marked anything |
//!
//! Each commit counts itself in all of its maps before the first change is visible (B8). So a closure that has seen a change of a
//! commit in one map, and none in another, finds the count of one of the two maps changed: either it noted the count before
//! that commit began, or it waited for its end.
//!
//! The views of a thread are in a list of its own, because operations of maps do not know who called them.

use std::cell::RefCell;
use std::sync::Arc;

use crate::media::Media;
use crate::runtime::thread;
use crate::space::commit::mode::InMode;
use crate::space::commit::quiet::KeptOut;
use crate::space::directory::map_state::MapState;
use crate::space::open_map::OpenMap;
use crate::space::space::Space;
use crate::{Error, Result};

/// After so many runs in vain new commits are kept out.
const POLITE: u32 = 8;
/// After so many runs in vain the read fails.
const MOST: u32 = 64;

/// A run of a closure.
struct View {
    /// The address of the pool.
    pool: usize,
    /// The number of the thread: several [workers](crate::space::Worker) may take turns on one thread of the system.
    thread: usize,
    /// The maps that were looked at, each with the number of commits that had begun.
    maps: Vec<(Arc<MapState>, u64)>,
}

impl View {
    fn is_own(&self) -> bool {
        self.thread == thread::current()
    }

    /// Whether it is one of the calling thread, in the pool at this address.
    fn is_of(&self, pool: usize) -> bool {
        self.pool == pool && self.is_own()
    }
}

thread_local! {
    /// The runs of the thread, the innermost last.
    static VIEWS: RefCell<Vec<View>> = const { RefCell::new(Vec::new()) };
}

/// The innermost run of the thread. It ends when this is dropped, also by a panic.
struct Running;

impl Running {
    fn begin(pool: usize) -> Self {
        let view = View { pool, thread: thread::current(), maps: Vec::new() };
        VIEWS.with_borrow_mut(|views| views.push(view));
        Self
    }

    /// Whether each commit was seen whole or not at all.
    fn is_whole(&self) -> bool {
        VIEWS.with_borrow(|views| {
            let view = views.iter().rfind(|view| view.is_own());
            let maps = view.map_or(&[][..], |view| &view.maps);
            maps.iter().all(|(map, begun)| map.commits_begun() == *begun)
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        VIEWS.with_borrow_mut(|views| {
            if let Some(own) = views.iter().rposition(View::is_own) {
                views.remove(own);
            }
        });
    }
}

impl<M: Media> Space<M> {
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Whether the calling thread is in a read of one moment of this pool.
    pub(crate) fn is_viewed(&self) -> bool {
        VIEWS.with_borrow(|views| views.iter().any(|view| view.is_of(self.address())))
    }

    /// Runs `look` until everything that it reads in maps of this pool has each commit whole or not at all. Its error is
    /// returned only if that is so.
    ///
    /// # Errors
    ///
    /// Those of `look`, and of [`pin`](Self::pin); [`Error::Contended`] after many runs.
    pub fn view(&self, look: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        // The pin refuses a pool that is closed, poisoned or another process's.
        drop(self.pin()?);
        // No other process commits while this one reads.
        if self.session().read_only {
            return look();
        }
        let _mode: InMode<'_, M> = self.show_mode()?;
        let mut kept_out = None;
        for runs in 1..=MOST {
            if runs > POLITE {
                kept_out.get_or_insert_with(|| KeptOut::begin(&self.batches().held));
            }
            let running = Running::begin(self.address());
            let seen = look();
            if self.is_elsewhere() {
                return Err(Error::Forked);
            }
            if running.is_whole() {
                return seen;
            }
        }
        Err(Error::Contended { runs: MOST })
    }
}

impl<M: Media> OpenMap<M> {
    /// V2, before a look at this map that finds the bit of the mode. Called outside of the pins of the look.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_in_view(&self) -> Result<()> {
        let pool = self.space().address();
        let is_new = VIEWS.with_borrow(|views| {
            let view = views.iter().rfind(|view| view.is_of(pool));
            view.is_some_and(|view| view.maps.iter().all(|(map, _)| !self.is_of(map)))
        });
        if !is_new {
            return Ok(());
        }
        let begun = self.quiet_commits()?;
        VIEWS.with_borrow_mut(|views| {
            for view in views.iter_mut().filter(|view| view.is_of(pool)) {
                if view.maps.iter().all(|(map, _)| !self.is_of(map)) {
                    view.maps.push((self.shared_map(), begun));
                }
            }
        });
        Ok(())
    }
}

/// Notes a scan that is about to begin, or a count, in a read of one moment.
#[inline(always)]
pub(crate) fn note_scan<M: Media>(open: &OpenMap<M>) {
    if open.has_batches() {
        // The scan fails for the same reason.
        let _ = open.note_in_view();
    }
}
