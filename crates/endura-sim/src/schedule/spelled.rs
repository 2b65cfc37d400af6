//! ROART trees under several threads.

use std::collections::BTreeMap;

use endura::lab::tree::roart::Techniques;
use endura::lab::tree::{Index, Len};

use super::map::{OrderedMap, Way, scribble};
use crate::subject::Finding;
use crate::subjects::{Collection, OpenSpelled, Spelled, Spellings};

fn told<T>(result: endura::Result<T>) -> Result<T, Finding> {
    result.map_err(|error| format!("{error:?}"))
}

impl<T: Techniques> OrderedMap for Spellings<T> {
    type Index = Spelled<T>;

    const NOTES_AHEAD: bool = true;

    fn show(
        open: &OpenSpelled<T>,
        way: Way,
        from: u64,
        see: impl FnMut(u64, u64),
    ) -> Option<Result<(), Finding>> {
        Some(told(open.index.show(way == Way::Up, from, see)))
    }

    fn index(open: &OpenSpelled<T>) -> &Self::Index {
        &open.index
    }

    fn keys(&self) -> &[u64] {
        &self.keys
    }

    fn count(open: &OpenSpelled<T>) -> Result<(), Finding> {
        told(open.index.0.count_all())
    }

    /// What is taken is of the size of records and of the smallest nodes and arrays.
    fn scribble(open: &OpenSpelled<T>) -> Result<(), Finding> {
        scribble(&open.space, 32)?;
        scribble(&open.space, 64)
    }

    fn collection(open: &OpenSpelled<T>) -> &Collection {
        &open.collection
    }

    fn account(
        open: &OpenSpelled<T>,
        found: &BTreeMap<u64, u64>,
        is_whole: bool,
    ) -> Result<(), Finding> {
        Self::count(open)?;
        told(open.space.relieve())?;
        let mut chunks = Vec::new();
        told(open.index.0.survey(&mut |at, bytes| chunks.push((at, bytes))))?;
        let shares = open.collection.finish(&open.space, &chunks)?;
        if is_whole && shares.leaked + shares.limbo > 0 {
            return Err(format!("chunks are lost, or wait for nobody: {shares:?}"));
        }
        match told(open.index.len())? {
            Len::Exact(counted) if counted == found.len() as u64 => Ok(()),
            counted => Err(format!("{counted:?} entries were counted, there are {}", found.len())),
        }
    }

    fn steps(&self) -> &'static [&'static str] {
        &[
            "array.replaced",
            "array.shrunk",
            "find.step",
            "lock.array",
            "lock.node",
            "node.grown",
            "node.shrunk",
            "prefix.split",
            "prune",
            "publish.dirty",
            "publish.durable",
            "publish.word",
            "put.exact",
            "ready.array",
            "ready.node",
            "settle",
            "split",
            "unlink.word",
            "write.found",
            // Behind the others, which tables call by number.
            "lookup.step",
        ]
    }
}
