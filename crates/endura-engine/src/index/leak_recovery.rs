//! Leak recovery after an unclean end: its walks over all maps, and the threads that run them.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::table;
use crate::Result;
use crate::media::Media;
use crate::runtime::threads;
use crate::space::{LeakRecoverer, Space};
use crate::sync::Mutex;

/// The leak recovery of a pool, without the type of its medium.
trait Recovering: Send + Sync {
    fn run(&self);
    fn finish(&self) -> Result<bool>;
}

impl<M: Media> Recovering for LeakRecoverer<M> {
    fn run(&self) {
        Self::run(self);
    }

    fn finish(&self) -> Result<bool> {
        Self::finish(self)
    }
}

/// A leak recovery and its threads. Both are absent if there is nothing to recover.
#[derive(Default)]
pub(crate) struct Background {
    recoverer: Option<Arc<dyn Recovering>>,
    /// Dropped only by `join`. A forked child does not have these threads, and dropping their handles there could
    /// detach other threads at the same addresses.
    threads: Mutex<ManuallyDrop<Vec<JoinHandle<()>>>>,
}

impl Background {
    /// Starts the leak recovery, if the session needs one, in `threads` threads. If this build cannot walk a map, the
    /// recovery does not start, because then no chunk is known to be free.
    pub(crate) fn begin<M: Media>(space: &Arc<Space<M>>, threads: usize) -> Self {
        let Ok(recoverer) = space.told(Self::recoverer(space)) else {
            space.give_up_leak_recovery();
            return Self::default();
        };
        let mut background = Self { recoverer, ..Self::default() };
        let Some(recoverer) = &background.recoverer else { return background };
        let start = |recoverer: Arc<dyn Recovering>| {
            threads::start("endura-recover", Box::new(move || recoverer.run())).ok()
        };
        let threads = (0..threads).map_while(|_| start(Arc::clone(recoverer))).collect();
        background.threads = Mutex::new(ManuallyDrop::new(threads));
        background
    }

    fn recoverer<M: Media>(space: &Arc<Space<M>>) -> Result<Option<Arc<dyn Recovering>>> {
        if space.leak_recovery().is_done() {
            return Ok(None);
        }
        let mut all = Vec::new();
        for map in space.maps()? {
            all.extend(table::of(&map)?.walks(space, map)?);
        }
        let recoverer: Arc<dyn Recovering> =
            LeakRecoverer::new(space, all, LeakRecoverer::<M>::BITE);
        Ok(Some(recoverer))
    }

    /// Finishes the leak recovery now; returns whether it is done.
    pub(crate) fn finish(&self) -> Result<bool> {
        self.recoverer.as_ref().map_or(Ok(false), |recoverer| recoverer.finish())
    }

    /// Waits for the threads, which end by themselves once the pool is closed.
    pub(crate) fn join(&self) {
        // The guard is dropped at the end of the statement, so that no wait holds the lock.
        let threads = ManuallyDrop::into_inner(std::mem::take(&mut *self.threads.lock()));
        for thread in threads {
            // The panic was already reported, and has poisoned the pool where necessary.
            let _ = thread.join();
        }
    }
}
