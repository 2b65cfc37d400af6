//! Leak recovery after an unclean end: its walks over all maps, and the threads that run them.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::table;
use crate::Result;
use crate::media::Media;
use crate::space::{Collector, Space};
use crate::sync::Mutex;

/// The collector of a pool, without the type of its medium.
trait Collecting: Send + Sync {
    fn run(&self);
    fn finish(&self) -> Result<bool>;
}

impl<M: Media> Collecting for Collector<M> {
    fn run(&self) {
        Self::run(self);
    }

    fn finish(&self) -> Result<bool> {
        Self::finish(self)
    }
}

/// A collection and its threads. Both are absent if there is nothing to collect.
#[derive(Default)]
pub(crate) struct Background {
    collector: Option<Arc<dyn Collecting>>,
    /// Dropped only by `join`. A forked child does not have these threads, and dropping their handles there could
    /// detach other threads at the same addresses.
    threads: Mutex<ManuallyDrop<Vec<JoinHandle<()>>>>,
}

impl Background {
    /// Starts the collection, if the session needs one, in `threads` threads. If this build cannot walk a map, the
    /// collection does not start, because then no chunk is known to be free.
    pub(crate) fn begin<M: Media>(space: &Arc<Space<M>>, threads: usize) -> Self {
        let Ok(collector) = space.told(Self::collector(space)) else {
            space.give_up_collection();
            return Self::default();
        };
        let mut background = Self { collector, ..Self::default() };
        let Some(collector) = &background.collector else { return background };
        let start = |collector: Arc<dyn Collecting>| {
            let thread = std::thread::Builder::new().name("endura-recover".to_owned());
            thread.spawn(move || collector.run()).ok()
        };
        let threads = (0..threads).map_while(|_| start(Arc::clone(collector))).collect();
        background.threads = Mutex::new(ManuallyDrop::new(threads));
        background
    }

    fn collector<M: Media>(space: &Arc<Space<M>>) -> Result<Option<Arc<dyn Collecting>>> {
        if space.collection().is_done() {
            return Ok(None);
        }
        let mut all = Vec::new();
        for map in space.maps()? {
            all.extend(table::of(&map)?.walks(space, map)?);
        }
        let collector: Arc<dyn Collecting> = Collector::new(space, all, Collector::<M>::BITE);
        Ok(Some(collector))
    }

    /// Finishes the collection now; returns whether it is done.
    pub(crate) fn finish(&self) -> Result<bool> {
        self.collector.as_ref().map_or(Ok(false), |collector| collector.finish())
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
