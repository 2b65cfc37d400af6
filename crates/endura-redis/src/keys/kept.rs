//! What COPY keeps for a child that saves.
//!
//! The file of a child has the entries of a key as of some moment after the fork. A replica that loads the file then
//! gets all commands since the fork, and they make its entries right, unless one of them is a COPY: the replica would
//! copy entries that are newer than those that its master has copied. So COPY keeps the entries of its source as they
//! are, under a number of their own, and from then on the child gets these. They are swept when the child has ended.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::session::session;
use crate::store::{Order, Outcome, Span, Value};

/// What one child still gets.
#[derive(Debug)]
pub(super) struct Kept {
    /// Keys with this number or a higher one are younger than the fork, so they are not in the file of the child.
    first_younger: u64,
    numbers: Mutex<Numbers>,
}

#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// For each source of a COPY the number under which its entries are kept.
    kept: HashMap<u64, u64>,
    /// Large keys that the child has completely.
    saved: HashSet<u64>,
}

impl Numbers {
    /// The number under which the child gets the entries of this key.
    pub(super) fn of(&self, id: u64) -> u64 {
        self.kept.get(&id).copied().unwrap_or(id)
    }

    /// Notes that the child has all entries of this key.
    pub(super) fn is_saved(&mut self, id: u64) {
        self.saved.insert(id);
    }
}

/// The children that are being served: one, and for a moment its predecessor.
static CHILDREN: Mutex<Vec<Weak<Kept>>> = Mutex::new(Vec::new());

impl Kept {
    /// For a child that is about to be forked.
    pub(super) fn begin() -> Arc<Self> {
        let first_younger = session().store.next_number();
        let kept = Arc::new(Self { first_younger, numbers: Mutex::default() });
        let mut children = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner);
        children.retain(|child| child.strong_count() > 0);
        children.push(Arc::downgrade(&kept));
        kept
    }

    /// Locks the numbers. A COPY waits for the lock before it ends, so entries that are read under it are no newer than
    /// those that the COPY has copied.
    pub(super) fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the entries of this key for the child, unless it has them.
    fn keep(&self, from: &Value) -> Outcome {
        let has_it = |numbers: &Numbers| {
            numbers.kept.contains_key(&from.id) || numbers.saved.contains(&from.id)
        };
        if from.id >= self.first_younger || has_it(&self.numbers()) {
            return Ok(());
        }
        let to = session().store.make(from.form)?;
        if let Err(failure) = copy_entries(from, &to) {
            session().store.sweeper.one(to.id);
            return Err(failure);
        }
        self.numbers().kept.insert(from.id, to.id);
        Ok(())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        for (_, id) in self.numbers().kept.drain() {
            session().store.sweeper.one(id);
        }
    }
}

/// Keeps the entries of a key that is about to be copied, for all children that may still have to save it.
pub(super) fn keep_for_children(from: &Value) -> Outcome {
    let children: Vec<Arc<Kept>> = {
        let children = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner);
        children.iter().filter_map(Weak::upgrade).collect()
    };
    children.iter().try_for_each(|child| child.keep(from))
}

/// Puts the entries of one number under another.
pub(super) fn copy_entries(from: &Value, to: &Value) -> Outcome {
    let entries = &session().store.entries;
    let mut put = Ok(false);
    entries.visit(from, &Span::ALL, Order::Ascending, |field, value| {
        put = entries.put(to, field, value);
        if put.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    put.map(drop)
}
