//! What threads do to a map.

use std::collections::BTreeMap;

use endura_engine::space::{LeakStep, Space};
use endura_engine::tree::{Change, Index, Len};
use endura_linear::{Answer, Op};

use super::history::Scribe;
use crate::sim::Sim;
use crate::subject::Finding;
use crate::subjects::{NumberTree, Numbers, OpenNumbers, Recovery};

/// Frees what may be reused, takes four chunks and gives them back.
fn scribble(space: &Space<Sim>, bytes: u64) -> Result<(), Finding> {
    match space.relieve() {
        // Another thread is inside an operation.
        Ok(_) | Err(endura_engine::Error::ReclaimStalled { .. }) => {}
        Err(error) => return Err(format!("{error:?}")),
    }
    let guard = told(space.pin_mut())?;
    let chunks: Result<Vec<u64>, Finding> =
        (0..4).map(|_| told(space.with_room(|| guard.alloc(bytes)))).collect();
    chunks?.into_iter().for_each(|at| guard.discard(at, bytes));
    Ok(())
}

/// Collects until it would have to wait for another thread, or a little longer.
fn collect(leak_recovery: &Recovery) -> Result<(), Finding> {
    let mut idle = 0;
    while idle < 8 {
        match leak_recovery.step()? {
            LeakStep::Worked => {}
            LeakStep::Idle => idle += 1,
            LeakStep::Ended => break,
        }
    }
    Ok(())
}

impl<T: NumberTree> Numbers<T> {
    /// Numbered steps at which a writer may stop for long.
    pub fn steps(&self) -> &'static [&'static str] {
        T::STEPS
    }
}

/// When all threads have ended and `found` was found: whether as many entries were counted and, if the session
/// began with an empty medium, whether each chunk is reached or free.
pub(super) fn account<T: NumberTree>(
    open: &OpenNumbers<T>,
    found: &BTreeMap<u64, u64>,
    is_whole: bool,
) -> Result<(), Finding> {
    told(open.tree.count())?;
    told(open.space.relieve())?;
    let mut chunks = Vec::new();
    told(open.tree.check(&mut |at, bytes| chunks.push((at, bytes))))?;
    let shares = open.leak_recovery.finish(&open.space, &chunks)?;
    if is_whole && T::LEAVES_NOTHING && shares.leaked + shares.limbo > 0 {
        return Err(format!("chunks are lost, or wait for nobody: {shares:?}"));
    }
    match told(open.tree.counted())? {
        Len::Exact(counted) if counted == found.len() as u64 => Ok(()),
        counted => Err(format!("{counted:?} entries were counted, there are {}", found.len())),
    }
}

/// Which way a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To larger keys.
    Up,
    /// To smaller ones.
    Down,
}

/// One thing that a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Looks a key up.
    Get(u64),
    /// Looks several up at once.
    GetMany([u64; 3]),
    /// Gives a key a value.
    Put(u64, u64),
    /// Gives it one if it has none.
    PutNew(u64, u64),
    /// Gives it another one if it has one.
    Replace(u64, u64),
    /// Takes it out.
    Remove(u64),
    /// Takes the first, or the last, entry out.
    Pop(Way),
    /// Reads the first, or the last, entry.
    End(Way),
    /// Reads all entries from a key on.
    Scan(Way, u64),
    /// Goes on with the count of entries.
    Count,
    /// Frees what may be freed and writes over free chunks.
    Scribble,
    /// Collects what the last crash stranded, as far as the others let it.
    Collect,
}

fn told<T>(result: endura_engine::Result<T>) -> Result<T, Finding> {
    result.map_err(|error| format!("{error:?}"))
}

impl Way {
    fn step<I: Index>(
        self,
        index: &I,
        cursor: &mut I::Cursor,
        from: u64,
    ) -> Result<Option<(u64, u64)>, Finding> {
        // As a range does.
        let at_hand = match self {
            Self::Up => index.next_up(cursor),
            Self::Down => index.next_down(cursor),
        };
        match (self, at_hand) {
            (_, Some(entry)) if self.passes(from, None, entry.0) => Ok(Some(entry)),
            (Self::Up, _) => told(index.scan_up(cursor, from)),
            (Self::Down, _) => told(index.scan_down(cursor, from)),
        }
    }

    /// Whether a step from `from` that found `found` passed over `key`.
    fn passes(self, from: u64, found: Option<(u64, u64)>, key: u64) -> bool {
        match self {
            Self::Up => key >= from && found.is_none_or(|(to, _)| key < to),
            Self::Down => key <= from && found.is_none_or(|(to, _)| key > to),
        }
    }

    fn beyond(self, key: u64) -> Option<u64> {
        match self {
            Self::Up => key.checked_add(1),
            Self::Down => key.checked_sub(1),
        }
    }
}

impl Task {
    /// Does it, and takes down what was told.
    pub fn perform<T: NumberTree>(
        self,
        keys: &[u64],
        open: &OpenNumbers<T>,
        scribe: &Scribe,
    ) -> Result<(), Finding> {
        let index = &open.tree;
        match self {
            Self::Get(key) => {
                scribe.call(key, Op::Read);
                let value = told(index.get(key))?;
                scribe.answered(key, Answer::Value(value));
                Ok(())
            }
            Self::GetMany(many) => {
                let called = scribe.begins();
                let values = told(index.get_many(&many))?;
                let returned = scribe.returns();
                let seen = many.into_iter().zip(values);
                seen.for_each(|(key, value)| scribe.saw(key, (called, returned), value));
                Ok(())
            }
            Self::Put(key, value) => {
                modify(index, scribe, key, Op::Set(Some(value)), |_| Change::Put(value)).map(drop)
            }
            Self::PutNew(key, value) => {
                let op = Op::Exchange { expected: None, new: Some(value) };
                let decide = |old: Option<u64>| old.map_or(Change::Put(value), |_| Change::Keep);
                modify(index, scribe, key, op, decide).map(drop)
            }
            Self::Replace(key, value) => {
                let decide = |old: Option<u64>| old.map_or(Change::Keep, |_| Change::Put(value));
                modify(index, scribe, key, Op::Replace(value), decide).map(drop)
            }
            Self::Remove(key) => {
                modify(index, scribe, key, Op::Set(None), |_| Change::Remove).map(drop)
            }
            Self::Pop(way) => pop(index, scribe, way),
            Self::End(way) => end(index, keys, scribe, way),
            Self::Scan(way, from) => match show(index, keys, scribe, way, from) {
                Some(shown) => shown,
                None => scan(index, keys, scribe, way, from),
            },
            Self::Count => told(index.count()),
            Self::Scribble => T::CHUNKS.iter().try_for_each(|&of| scribble(&open.space, of)),
            Self::Collect => collect(&open.leak_recovery),
        }
    }
}

fn modify<I: Index>(
    index: &I,
    scribe: &Scribe,
    key: u64,
    op: Op,
    decide: impl Fn(Option<u64>) -> Change,
) -> Result<Option<u64>, Finding> {
    scribe.call(key, op);
    let old = told(index.modify(key, decide))?;
    let answer = match op {
        Op::Exchange { .. } => Answer::Exchanged(old.map_or(Ok(()), |old| Err(Some(old)))),
        _ => Answer::Value(old),
    };
    scribe.answered(key, answer);
    Ok(old)
}

/// The entry was there at some moment, and of the keys that it lies before none was throughout.
fn end<I: Index>(index: &I, keys: &[u64], scribe: &Scribe, way: Way) -> Result<(), Finding> {
    let called = scribe.begins();
    let (found, from) = match way {
        Way::Up => (told(index.first())?, 0),
        Way::Down => (told(index.last())?, u64::MAX),
    };
    let when = (called, scribe.returns());
    let passed = keys.iter().filter(|&&key| way.passes(from, found, key));
    passed.for_each(|&key| scribe.saw(key, when, None));
    if let Some((key, value)) = found {
        scribe.saw(key, when, Some(value));
    }
    Ok(())
}

fn pop<I: Index>(index: &I, scribe: &Scribe, way: Way) -> Result<(), Finding> {
    let from = if way == Way::Up { 0 } else { u64::MAX };
    while let Some((key, _)) = way.step(index, &mut I::Cursor::default(), from)?
        && modify(index, scribe, key, Op::Set(None), |_| Change::Remove)?.is_none()
    {}
    Ok(())
}

/// A scan in one call, from every other key, of an index that can: each entry was there before it was
/// shown, and of the keys that were not shown none was there throughout.
fn show<T: NumberTree>(
    tree: &T,
    keys: &[u64],
    scribe: &Scribe,
    way: Way,
    from: u64,
) -> Option<Result<(), Finding>> {
    if from / 10 % 2 == 1 {
        return None;
    }
    let (called, mut shown) = (scribe.begins(), Vec::new());
    let see = |key, value| shown.push((key, value, scribe.returns()));
    let outcome = tree.show(way == Way::Up, from, see).map(told)?;
    let returned = scribe.returns();
    Some(outcome.and_then(|()| {
        let mut next = Some(from);
        for &(key, value, at) in &shown {
            if !next.is_some_and(|next| way.passes(next, None, key)) {
                return Err(format!("a scan {way:?} from {from} gave {shown:?}"));
            }
            scribe.saw(key, (called, at), Some(value));
            next = way.beyond(key);
        }
        let was_shown = |key: u64| shown.iter().any(|entry| entry.0 == key);
        let passed = keys.iter().filter(|&&key| way.passes(from, None, key) && !was_shown(key));
        passed.for_each(|&key| scribe.saw(key, (called, returned), None));
        Ok(())
    }))
}

/// Each entry was there at some moment of the step that returned it. Of the keys that a step passed
/// over none was there from the beginning of the step before to its end, or from the beginning of the
/// scan, where that [notes ahead](NumberTree::NOTES_AHEAD).
fn scan<T: NumberTree>(
    index: &T,
    keys: &[u64],
    scribe: &Scribe,
    way: Way,
    mut from: u64,
) -> Result<(), Finding> {
    let mut cursor = T::Cursor::default();
    let mut before = None;
    loop {
        let called = scribe.begins();
        let found = way.step(index, &mut cursor, from)?;
        let returned = scribe.returns();
        let passed = keys.iter().filter(|&&key| way.passes(from, found, key));
        passed.for_each(|&key| scribe.saw(key, (before.unwrap_or(called), returned), None));
        let Some((key, value)) = found else { return Ok(()) };
        if !way.passes(from, None, key) {
            return Err(format!("a scan {way:?} from {from} gave {key}"));
        }
        scribe.saw(key, (called, returned), Some(value));
        before = before.filter(|_| T::NOTES_AHEAD).or(Some(called));
        match way.beyond(key) {
            Some(next) => from = next,
            None => return Ok(()),
        }
    }
}
