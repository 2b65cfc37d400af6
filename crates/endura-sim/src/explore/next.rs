//! The process that comes after one that was killed.

use crate::aftermath::Aftermath;
use crate::cache::Cache;
use crate::event::Trace;
use crate::model::Model;

/// What the next process does.
#[derive(Debug, Clone)]
pub struct Next<Op> {
    /// Whether it reads everything first; what it read must be there ever after.
    pub looks: bool,
    /// What it does then.
    pub ops: Vec<Op>,
}

/// What the next process finds when one ended after so many events of a trace: all that was visible, and
/// open only what was open at the start.
pub fn visible(trace: &Trace, events: usize) -> Aftermath {
    let mut cache = Cache::new(Model::PAGE_CACHE, trace.start.clone());
    trace.events[..events].iter().for_each(|event| cache.apply(event));
    // One: the end of a process loses nothing.
    cache.aftermaths(None).swap_remove(0)
}
