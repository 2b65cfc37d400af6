//! The entries of keys. Those of one key are in the map that all keys share, or in a map of its own.

use std::collections::HashSet;
use std::ops::{Bound, ControlFlow};

use endura::{Batch, Kind, Map, MapOptions, Pool, Result};

use super::failure::{Failure, LONGEST_FIELD, Outcome};
use super::integer::{Digits, integer};
use super::record::Form;
use super::span::Span;
use super::steps::{commit, may_fail, step};
use super::value::{Value, Walk};

/// The largest number of entries that a counting walk visits in one step, which takes some tens of microseconds.
const STEP: usize = 1_000;

/// The maps of entries.
#[derive(Debug)]
pub(crate) struct Entries {
    pool: Pool,
    shared: Map<[u8], [u8]>,
}

/// A field and its value.
pub(crate) type Pair<'p> = (&'p [u8], &'p [u8]);

/// The order in which entries are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Ascending,
    Descending,
}

impl Entries {
    pub(crate) fn open(pool: &Pool) -> Result<Self> {
        Ok(Self { pool: pool.clone(), shared: pool.map("redis:entries")? })
    }

    /// Opens or creates the key's own map. Returns `None` if keys of this form have none.
    pub(crate) fn own(&self, id: u64, form: Form) -> Outcome<Option<Map<i64, i64>>> {
        let Some(kind) = kind_of(form)? else { return Ok(None) };
        Ok(Some(self.pool.map_with(&name_of_own(id), MapOptions::new().kind(kind))?))
    }

    /// Opens the key's own map. Returns `None` if it does not exist, or if keys of this form have none.
    pub(crate) fn own_that_is_there(&self, id: u64, form: Form) -> Outcome<Option<Map<i64, i64>>> {
        let Some(kind) = kind_of(form)? else { return Ok(None) };
        let options = MapOptions::new().kind(kind).create(false);
        match self.pool.map_with(&name_of_own(id), options) {
            Err(endura::Error::NoSuchMap { .. }) => Ok(None),
            opened => Ok(Some(opened?)),
        }
    }

    /// Passes the value of a field to `look`, without a copy if it is in the shared map.
    pub(crate) fn get_with<R>(
        &self,
        of: &Value,
        field: &[u8],
        look: impl FnOnce(&[u8]) -> R,
    ) -> Outcome<Option<R>> {
        match &of.own {
            Some(own) => {
                let found = own.get(integer(field)?)?;
                Ok(found.map(|number| look(Digits::of(number).as_bytes())))
            }
            None => Ok(with_key(of.id, field, |key| self.shared.get_with(key, look))?),
        }
    }

    pub(crate) fn get(&self, of: &Value, field: &[u8]) -> Outcome<Option<Vec<u8>>> {
        self.get_with(of, field, <[u8]>::to_vec)
    }

    pub(crate) fn contains(&self, of: &Value, field: &[u8]) -> Outcome<bool> {
        match &of.own {
            Some(own) => Ok(own.contains_key(integer(field)?)?),
            None => Ok(with_key(of.id, field, |key| self.shared.contains_key(key))?),
        }
    }

    /// Fails if a key of this form can have no such field. A command checks all its fields before its first write.
    pub(crate) fn check_field(form: Form, field: &[u8]) -> Outcome {
        match form {
            Form::Own(_) => integer(field).map(drop),
            _ if field.len() > LONGEST_FIELD => Err(Failure::FieldTooLong(field.len())),
            _ => Ok(()),
        }
    }

    /// Fails if a key of this form can have no such field, or no such value.
    pub(crate) fn check(form: Form, field: &[u8], value: &[u8]) -> Outcome {
        Self::check_field(form, field)?;
        let (len, max) = (value.len() as u64, endura::LONGEST_VALUE as u64);
        match form {
            Form::Own(_) => integer(value).map(drop),
            _ if len > max => Err(endura::Error::ValueTooLong { len, max }.into()),
            _ => Ok(()),
        }
    }

    /// Gives a field a value; returns whether it was absent.
    pub(crate) fn put(&self, of: &Value, field: &[u8], value: &[u8]) -> Outcome<bool> {
        of.count.changing(|| {
            let is_new = match &of.own {
                Some(own) => own.put(integer(field)?, integer(value)?)?,
                None => with_key(of.id, field, |key| self.shared.put(key, value))?,
            };
            step();
            Ok((is_new, [(field, is_new.into())]))
        })
    }

    /// Gives fields their values, all at once; returns how many of them were absent. If a field occurs again, its last
    /// value counts.
    pub(crate) fn put_all(&self, of: &Value, pairs: &[Pair<'_>]) -> Outcome<i64> {
        match pairs {
            [(field, value)] => self.put(of, field, value).map(i64::from),
            _ => self.put_with(self.pool.batch(), of, pairs),
        }
    }

    /// Like [`put_all`](Self::put_all), together with what is in the batch.
    pub(super) fn put_with(
        &self,
        mut batch: Batch,
        of: &Value,
        pairs: &[Pair<'_>],
    ) -> Outcome<i64> {
        let (mut seen, mut added) = (HashSet::new(), Vec::new());
        for &(field, value) in pairs {
            match &of.own {
                Some(own) => batch.put(own, integer(field)?, integer(value)?).map(drop)?,
                None => {
                    with_key(of.id, field, |key| batch.put(&self.shared, key, value).map(drop))?
                }
            }
            // Until the commit no other thread changes entries of a key that is not gone.
            if seen.insert(field) && !self.contains(of, field)? {
                added.push((field, 1));
            }
        }
        of.count.changing(|| {
            commit(&mut batch)?;
            Ok((added.len() as i64, added))
        })
    }

    /// Removes a field; returns whether it was there.
    pub(crate) fn remove(&self, of: &Value, field: &[u8]) -> Outcome<bool> {
        of.count.changing(|| {
            may_fail()?;
            let was_there = match &of.own {
                Some(own) => own.delete(integer(field)?)?,
                None => with_key(of.id, field, |key| self.shared.delete(key))?,
            };
            step();
            Ok((was_there, [(field, -i64::from(was_there))]))
        })
    }

    /// Removes fields, all at once. Each of them is there, and occurs once.
    pub(crate) fn remove_all(&self, of: &Value, fields: &[&[u8]]) -> Outcome {
        if let [field] = fields {
            return self.remove(of, field).map(drop);
        }
        let mut batch = self.pool.batch();
        for field in fields {
            match &of.own {
                Some(own) => batch.delete(own, integer(field)?).map(drop)?,
                None => {
                    with_key(of.id, field, |key| batch.delete(&self.shared, key).map(drop))?;
                }
            }
        }
        of.count.changing(|| {
            commit(&mut batch)?;
            Ok(((), fields.iter().map(|field| (*field, -1))))
        })
    }

    /// Passes the entries of a span to `visit`, without copies, until it breaks.
    pub(crate) fn visit(
        &self,
        of: &Value,
        span: &Span,
        order: Order,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Outcome {
        if let Some(own) = &of.own {
            let end = |bound: &Bound<Vec<u8>>| match bound {
                Bound::Unbounded => Ok(Bound::Unbounded),
                Bound::Included(field) => integer(field).map(Bound::Included),
                Bound::Excluded(field) => integer(field).map(Bound::Excluded),
            };
            let range = own.range((end(&span.from)?, end(&span.to)?));
            let visit =
                |field, value| visit(Digits::of(field).as_bytes(), Digits::of(value).as_bytes());
            let _ = match order {
                Order::Ascending => range.visit(visit)?,
                Order::Descending => range.visit_rev(visit)?,
            };
            return Ok(());
        }
        let end = |bound: &Bound<Vec<u8>>, open| match bound {
            Bound::Unbounded => open,
            Bound::Included(field) => Bound::Included(key_of(of.id, field)),
            Bound::Excluded(field) => Bound::Excluded(key_of(of.id, field)),
        };
        let range = self.shared.range((
            end(&span.from, Bound::Included(key_of(of.id, b""))),
            end(&span.to, Bound::Excluded(key_of(of.id + 1, b""))),
        ));
        let visit = |key: &[u8], value: &[u8]| visit(field_of(key), value);
        let _ = match order {
            Order::Ascending => range.visit(visit)?,
            Order::Descending => range.visit_rev(visit)?,
        };
        Ok(())
    }

    /// At most `most` entries, from the first or from the last on.
    pub(crate) fn ends(
        &self,
        of: &Value,
        order: Order,
        most: usize,
    ) -> Outcome<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut found = Vec::new();
        self.visit(of, &Span::ALL, order, |field, value| {
            if found.len() == most {
                return ControlFlow::Break(());
            }
            found.push((field.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Whether the span has more than `most` entries.
    pub(crate) fn has_more_than(&self, of: &Value, span: &Span, most: usize) -> Outcome<bool> {
        if let Some(entries) = of.count.known().filter(|_| *span == Span::ALL) {
            return Ok(usize::try_from(entries).is_ok_and(|entries| entries > most));
        }
        let mut seen = 0;
        self.visit(of, span, Order::Ascending, |_, _| {
            seen += 1;
            if seen > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(seen > most)
    }

    /// The number of entries, counted in one step if it is not known, for the thread on which commands run. It takes over
    /// the rest of a walk that another thread has started, and waits for at most one step of that thread.
    pub(crate) fn count_now(&self, of: &Value) -> Outcome<i64> {
        if let Some(own) = &of.own {
            return len(own);
        }
        let mut walk = of.count.walk();
        Ok(self.walk_on(of, &mut walk, usize::MAX)?.unwrap_or_default())
    }

    /// Counts some entries, for threads beside the one on which commands run. Returns the number of entries if it is known
    /// then. Threads that count at the same time share one walk.
    pub(crate) fn step_of_count(&self, of: &Value) -> Outcome<Option<i64>> {
        if let Some(own) = &of.own {
            return len(own).map(Some);
        }
        self.walk_on(of, &mut of.count.next_step(), STEP)
    }

    /// The number of entries in the shared map, or fewer as long as the library counts them.
    pub(crate) fn approximate_len(&self) -> Result<usize> {
        self.shared.approximate_len()
    }

    /// Counts at most `most` further entries. Returns the number of all entries if it is known then.
    fn walk_on(&self, of: &Value, walk: &mut Walk, most: usize) -> Outcome<Option<i64>> {
        if let Some(entries) = of.count.known() {
            return Ok(Some(entries));
        }
        let span = walk.behind.as_deref().map_or(Span::ALL, Span::behind);
        let (mut seen, mut last) = (0, None);
        self.visit(of, &span, Order::Ascending, |field, _| {
            seen += 1;
            if seen < most {
                return ControlFlow::Continue(());
            }
            last = Some(field.to_vec());
            ControlFlow::Break(())
        })?;
        walk.counted += seen as i64;
        if last.is_none() {
            return Ok(Some(of.count.finish(walk)));
        }
        walk.behind = last;
        Ok(None)
    }

    /// Removes all entries of a number that belongs to no key, in O(n).
    pub(crate) fn sweep(&self, id: u64) -> Result<()> {
        let (from, to) = (key_of(id, b""), key_of(id + 1, b""));
        self.shared.remove_range(from..to)?;
        self.pool.drop_map(&name_of_own(id)).map(drop)
    }

    /// The first number from `id` on that has entries in the shared map.
    pub(crate) fn next_number(&self, id: u64) -> Result<Option<u64>> {
        let mut found = None;
        let _ = self.shared.range_with(key_of(id, b"").., |key, _| {
            found = number_of(key);
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// The highest number that has entries, or a map of its own.
    pub(crate) fn last_number(&self) -> Result<u64> {
        let shared = self.shared.keys().next_back().transpose()?;
        let own = self.numbers_of_own()?.into_iter().max();
        Ok(shared.and_then(|key| number_of(&key)).max(own).unwrap_or(0))
    }

    /// The numbers that have a map of their own.
    pub(crate) fn numbers_of_own(&self) -> Result<Vec<u64>> {
        let maps = self.pool.maps()?;
        Ok(maps.iter().filter_map(|map| map.name.strip_prefix(OWN)?.parse().ok()).collect())
    }
}

fn len(own: &Map<i64, i64>) -> Outcome<i64> {
    Ok(i64::try_from(own.len()?).unwrap_or(i64::MAX))
}

/// The kind of the key's own map; `None` if its entries are in the shared one.
fn kind_of(form: Form) -> Outcome<Option<Kind>> {
    match form {
        Form::Shared => Ok(None),
        Form::Own(kind) => Ok(Some(kind)),
        Form::Unknown(_) => Err(Failure::Says(
            "ERR endura: the map was made by a newer version of this module: load that one",
        )),
    }
}

/// The name of a key's own map is this and the number of the key.
const OWN: &str = "redis:map:";

fn name_of_own(id: u64) -> String {
    format!("{OWN}{id}")
}

/// The key of a field in the shared map: the number of the Redis key, its most significant byte first, and the field.
fn key_of(id: u64, field: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(8 + field.len());
    key.extend(id.to_be_bytes());
    key.extend(field);
    key
}

/// Passes [`key_of`] a field to `run`, without an allocation if the field is short.
fn with_key<R>(id: u64, field: &[u8], run: impl FnOnce(&[u8]) -> R) -> R {
    let mut short = [0; 128];
    match short.get_mut(..8 + field.len()) {
        Some(key) => {
            key[..8].copy_from_slice(&id.to_be_bytes());
            key[8..].copy_from_slice(field);
            run(key)
        }
        None => run(&key_of(id, field)),
    }
}

fn field_of(key: &[u8]) -> &[u8] {
    key.get(8..).unwrap_or_default()
}

fn number_of(key: &[u8]) -> Option<u64> {
    key.first_chunk().map(|id| u64::from_be_bytes(*id))
}

impl Value {
    /// A value without entries.
    pub(crate) fn new(entries: &Entries, id: u64, form: Form) -> Outcome<Self> {
        let own = entries.own(id, form)?;
        Ok(Self { id, form, own, count: super::value::Count::of(0) })
    }
}

/// The form that a client names.
pub(crate) fn form_named(name: &[u8]) -> Outcome<Form> {
    Kind::all()
        .filter(|kind| kind.holds_words())
        .find(|kind| kind.name().as_bytes().eq_ignore_ascii_case(name))
        .map(Form::Own)
        .ok_or(Failure::Says("ERR KIND is nbtree or fastfair"))
}
