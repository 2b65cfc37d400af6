//! The collection of a pool that was not closed: what has to be walked, and the threads that do it.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::Result;
use crate::media::Media;
use crate::pool::{Collector, Space};
use crate::store::index::table;
use crate::sync::Mutex;

/// What the background threads of a pool need to know.
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

/// A collection and its threads; none if there is nothing to collect.
#[derive(Default)]
pub(super) struct Background {
    collector: Option<Arc<dyn Collecting>>,
    /// Never dropped but by `join`: a forked child does not have them, and would detach whatever threads of
    /// its own are at those addresses.
    threads: Mutex<ManuallyDrop<Vec<JoinHandle<()>>>>,
}

impl Background {
    /// Begins the collection that the session needs, in so many threads. A map that this build cannot
    /// walk keeps it from beginning: nothing is known to be free then.
    pub(super) fn begin<M: Media>(space: &Arc<Space<M>>, threads: usize) -> Self {
        let Ok(collector) = Self::collector(space) else {
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

    /// Finishes the collection now; whether it is done.
    pub(super) fn finish(&self) -> Result<bool> {
        self.collector.as_ref().map_or(Ok(false), |collector| collector.finish())
    }

    /// Waits for the threads; they end by themselves when the pool is closed.
    pub(super) fn join(&self) {
        // The lock is free again before anything waits.
        let threads = ManuallyDrop::into_inner(std::mem::take(&mut *self.threads.lock()));
        for thread in threads {
            // What it panicked with was said already, and has poisoned what it had to.
            let _ = thread.join();
        }
    }
}
