//! The class `Map`.

use std::sync::Arc;

use endura::Error;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use pyo3::{PyTraverseError, PyVisit, intern};

use super::arguments::{End, Given, Inclusive, ViewArguments, pairs_of};
use super::bounds::{Arguments, Bounds};
use super::edit::Edit;
use super::entries::Entries;
use super::fetched::Part;
use super::open_map::OpenMap;
use crate::call::call;
use crate::error::{failure, missing};
use crate::shared::Shared;

/// A map of a pool: `pool.map(name, key, value)` opens one. A `collections.abc.MutableMapping`, sorted by its keys.
///
/// A write that returned is in the pool: it survives the end of the process, also by `kill -9`. The values that methods
/// return are copies: to change a value, assign it again, or use `edit` or `alter`. Any number of threads may use a map at
/// once.
#[pyclass(frozen, weakref, mapping, module = "endura")]
pub(crate) struct Map {
    open: Arc<OpenMap>,
    /// The object of the pool. It lives as long as its maps, so that the end of the interpreter finds it and closes the pool.
    pool: Py<PyAny>,
    shared: Arc<Shared>,
}

impl Map {
    pub(crate) fn new(open: OpenMap, pool: Py<PyAny>, shared: Arc<Shared>) -> Self {
        Self { open: Arc::new(open), pool, shared }
    }

    /// The state that the objects of the map share.
    pub(crate) fn open(&self) -> &Arc<OpenMap> {
        &self.open
    }

    /// The number of entries, or why there is none to tell.
    fn entries(&self, py: Python<'_>) -> String {
        match py.detach(|| self.shared.pool.maps()) {
            Ok(maps) => match maps.iter().find(|info| info.name == self.name()) {
                Some(info) if info.is_counted && info.approximate_len == 1 => "1 entry".to_owned(),
                Some(info) if info.is_counted => format!("{} entries", info.approximate_len),
                Some(_) => "entries not counted yet".to_owned(),
                None => "dropped or renamed".to_owned(),
            },
            Err(Error::Closed { .. }) => "closed".to_owned(),
            Err(Error::Forked) => "of the process before the fork".to_owned(),
            Err(other) => other.code().to_owned(),
        }
    }

    fn iterator(this: &Bound<'_, Self>, part: Part, bounds: Bounds, upwards: bool) -> Entries {
        let map = this.clone().into_any().unbind();
        Entries::new(map, Arc::clone(&this.get().open), part, bounds, upwards)
    }

    /// The entry that was found at an end of the map; `KeyError` if there is none.
    fn entry<'py>(&self, found: Option<Pair<'py>>) -> PyResult<Pair<'py>> {
        found.ok_or_else(|| PyKeyError::new_err(format!("the map `{}` is empty", self.name())))
    }

    /// A view: makes an object of a class of `endura._views`.
    fn view<'py>(
        this: &Bound<'py, Self>,
        whole: &str,
        part: &str,
        arguments: &ViewArguments<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let views = py.import(intern!(py, "endura._views"))?;
        let ViewArguments { start, stop, prefix, inclusive, reverse } = arguments;
        if start.is_none() && stop.is_none() && prefix.is_none() && !reverse {
            return call(&views.getattr(whole)?, (this,));
        }
        let class = views.getattr(intern!(py, "Range"))?;
        call(&class, (this, part, start, stop, prefix, inclusive.pair(), reverse))
    }
}

/// A `dict` with the entries of both mappings; those of the second count where both have a key. `NotImplemented` if
/// `other`, one of the two, is no mapping.
fn merged<'py>(
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
    other: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = first.py();
    let views = py.import(intern!(py, "endura._views"))?;
    call(&views.getattr(intern!(py, "merged"))?, (first, second, other))
}

/// A key and a value.
type Pair<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pymethods]
impl Map {
    /// The name by which the map was opened.
    #[getter]
    fn name(&self) -> &str {
        self.open.map.name()
    }

    /// The types of its keys and its values, by the names that the pool records.
    #[getter]
    fn types(&self) -> (&str, &str) {
        (self.open.key.name(), self.open.value.name())
    }

    /// The kind of its index: `FastFair`, `NbTree` or `Roart`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.open.map.kind().name()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let (key, value) = self.types();
        format!("<endura.Map {:?} of {key} to {value}, {}>", self.name(), self.entries(py))
    }

    /// `map | mapping`: a new `dict`, as of two dictionaries.
    fn __or__<'py>(
        this: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        merged(this.as_any(), other, other)
    }

    fn __ror__<'py>(
        this: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        merged(other, this.as_any(), other)
    }

    /// `map |= mapping`: as `update`.
    fn __ior__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        self.update(Some(other), None)
    }

    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        item: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = class.py();
        py.import(intern!(py, "types"))?.getattr(intern!(py, "GenericAlias"))?.call1((class, item))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a map of a pool cannot be pickled or copied: `dict(map)` has its entries; another process opens the pool itself, \
             when this one has closed it",
        ))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.pool)?;
        self.open.key.traverse(visit)?;
        self.open.value.traverse(visit)
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.open.get(key)?.ok_or_else(|| missing(key))
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.open.put(key, value)
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        match self.open.delete(key)? {
            true => Ok(()),
            false => Err(missing(key)),
        }
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.open.contains(key)
    }

    /// The number of entries. O(n) once after the end of a process that did not close the pool.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        py.detach(|| self.open.map.len()).map_err(failure)
    }

    fn __bool__(&self) -> PyResult<bool> {
        self.open.map.is_empty().map(|is_empty| !is_empty).map_err(failure)
    }

    /// As a `Mapping`: equal to any other mapping with the same entries. O(n).
    fn __eq__<'py>(
        this: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let views = this.py().import(intern!(this.py(), "endura._views"))?;
        call(&views.getattr(intern!(this.py(), "equal"))?, (this, other))
    }

    fn __iter__(this: &Bound<'_, Self>) -> Entries {
        Self::iterator(this, Part::Keys, Bounds::ALL, true)
    }

    fn __reversed__(this: &Bound<'_, Self>) -> Entries {
        Self::iterator(this, Part::Keys, Bounds::ALL, false)
    }

    /// The value of `key`, or `default` if it has none. An object that cannot be a key has none.
    #[pyo3(signature = (key, default=None, /))]
    fn get<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.open.get_any(key)?.or(default))
    }

    /// Removes `key` and returns its value. If `key` is missing, returns `default`, or raises `KeyError` without a default.
    #[pyo3(signature = (key, /, *default), text_signature = "($self, key, default=..., /)")]
    fn pop<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if default.len() > 1 {
            return Err(PyTypeError::new_err("pop takes a key and at most one default"));
        }
        match self.open.remove(key)? {
            Some(value) => Ok(value),
            None if default.is_empty() => Err(missing(key)),
            None => default.get_item(0),
        }
    }

    /// Removes the entry with the last key, or the first one, and returns it; `KeyError` if there is none.
    #[pyo3(signature = (last=End::Last), text_signature = "($self, last=True)")]
    fn popitem<'py>(&self, py: Python<'py>, last: End) -> PyResult<Pair<'py>> {
        self.entry(self.open.pop(py, last == End::Last)?)
    }

    /// The entry with the last key, or the first one; `KeyError` if there is none.
    #[pyo3(signature = (last=End::Last), text_signature = "($self, last=True)")]
    fn peekitem<'py>(&self, py: Python<'py>, last: End) -> PyResult<Pair<'py>> {
        self.entry(self.open.peek(py, last == End::Last)?)
    }

    /// The value of `key`. If it has none, it gets `default` first. Both happen in one step.
    #[pyo3(signature = (key, default=None, /))]
    fn setdefault<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let default = default.unwrap_or_else(|| key.py().None().into_bound(key.py()));
        loop {
            if let Some(value) = self.open.get(key)? {
                return Ok(value);
            }
            if self.open.add(key, &default)? {
                return Ok(default);
            }
            // Another thread has added the key since the lookup: look it up again.
            key.py().check_signals()?;
        }
    }

    /// Gives `key` a value if it has none; returns whether it had none.
    fn add(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.open.add(key, value)
    }

    /// Gives `key` the value `new` if its value is `expected`; returns whether it was. `endura.ABSENT` stands for no value, and
    /// so does `None` in maps whose values cannot be `None`.
    fn compare_exchange(
        &self,
        key: &Bound<'_, PyAny>,
        expected: &Bound<'_, PyAny>,
        new: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        self.open.compare_exchange(key, expected, new)
    }

    /// Adds `delta` to the value of `key`, or to `default` if it has none, and returns the sum. This is one step.
    #[pyo3(signature = (key, delta=None, default=None), text_signature = "($self, key, delta=1, default=0)")]
    fn incr<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        delta: Option<Bound<'py, PyAny>>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        let number = |given: Option<Bound<'py, PyAny>>, otherwise: i64| match given {
            Some(given) => Ok::<_, PyErr>(given),
            None => Ok(otherwise.into_pyobject(py)?.into_any()),
        };
        self.open.incr(key, &number(delta, 1)?, &number(default, 0)?)
    }

    /// Gives `key` the value that `change` returns for its present one, and returns the new value. This is one step:
    /// `change` is called again if the value was changed meanwhile. If `key` has no value, `change` gets `None`, or
    /// `endura.ABSENT` in maps whose values may be `None`. If it returns one of these, as in `compare_exchange`, `key` is
    /// removed.
    fn alter<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        change: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.open.alter(key, change)
    }

    /// For `with map.edit(key) as value`: the block changes `value`, a `dict` or a list, in place, and it is written back at
    /// the end. If `key` is missing, `value` is a copy of `default`; without a default `KeyError` is raised.
    /// `endura.Conflict` is raised if another thread changed the value meanwhile. After an exception nothing is written.
    #[pyo3(signature = (key, default=Given::NO), text_signature = "($self, key, default=...)")]
    fn edit(this: &Bound<'_, Self>, key: &Bound<'_, PyAny>, default: Given) -> PyResult<Edit> {
        let map = this.get();
        if !map.open.value.has_codec() {
            return Err(PyTypeError::new_err(format!(
                "the values of the map `{}` are `{}`, which cannot be changed in place: use `alter`",
                map.name(),
                map.open.value.name()
            )));
        }
        let key = map.open.key.encode(key)?.to_vec();
        let whole = this.clone().into_any().unbind();
        Ok(Edit::new(whole, Arc::clone(&map.open), key, default.object()))
    }

    /// The keys: all, or those from `start` to before `stop` that begin with `prefix`. Each of the three may be left out.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None, inclusive=Inclusive::FIRST, reverse=false), text_signature = "($self, start=None, stop=None, *, prefix=None, inclusive=(True, False), reverse=False)")]
    fn keys<'py>(
        this: &Bound<'py, Self>,
        start: Option<Bound<'py, PyAny>>,
        stop: Option<Bound<'py, PyAny>>,
        prefix: Option<Bound<'py, PyAny>>,
        inclusive: Inclusive,
        reverse: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = ViewArguments { start, stop, prefix, inclusive, reverse };
        Self::view(this, "KeysView", "keys", &arguments)
    }

    /// The values, in the order of their keys, with the arguments of `keys`.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None, inclusive=Inclusive::FIRST, reverse=false), text_signature = "($self, start=None, stop=None, *, prefix=None, inclusive=(True, False), reverse=False)")]
    fn values<'py>(
        this: &Bound<'py, Self>,
        start: Option<Bound<'py, PyAny>>,
        stop: Option<Bound<'py, PyAny>>,
        prefix: Option<Bound<'py, PyAny>>,
        inclusive: Inclusive,
        reverse: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = ViewArguments { start, stop, prefix, inclusive, reverse };
        Self::view(this, "ValuesView", "values", &arguments)
    }

    /// Pairs of keys and values, with the arguments of `keys`.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None, inclusive=Inclusive::FIRST, reverse=false), text_signature = "($self, start=None, stop=None, *, prefix=None, inclusive=(True, False), reverse=False)")]
    fn items<'py>(
        this: &Bound<'py, Self>,
        start: Option<Bound<'py, PyAny>>,
        stop: Option<Bound<'py, PyAny>>,
        prefix: Option<Bound<'py, PyAny>>,
        inclusive: Inclusive,
        reverse: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = ViewArguments { start, stop, prefix, inclusive, reverse };
        Self::view(this, "ItemsView", "items", &arguments)
    }

    /// An iterator over the keys from `minimum` to `maximum`, both included, like `SortedDict.irange`.
    #[pyo3(signature = (minimum=None, maximum=None, inclusive=Inclusive::BOTH, reverse=false), text_signature = "($self, minimum=None, maximum=None, inclusive=(True, True), reverse=False)")]
    fn irange(
        this: &Bound<'_, Self>,
        minimum: Option<Bound<'_, PyAny>>,
        maximum: Option<Bound<'_, PyAny>>,
        inclusive: Inclusive,
        reverse: bool,
    ) -> PyResult<Entries> {
        let (start, stop) = (minimum.as_ref(), maximum.as_ref());
        let arguments = Arguments { start, stop, prefix: None, inclusive: inclusive.pair() };
        Ok(Self::iterator(this, Part::Keys, Bounds::of(&this.get().open, &arguments)?, !reverse))
    }

    /// An iterator of a view.
    #[pyo3(signature = (part, start, stop, prefix, inclusive, reverse))]
    fn _range(
        this: &Bound<'_, Self>,
        part: &str,
        start: Option<Bound<'_, PyAny>>,
        stop: Option<Bound<'_, PyAny>>,
        prefix: Option<Bound<'_, PyAny>>,
        inclusive: Inclusive,
        reverse: bool,
    ) -> PyResult<Entries> {
        let part = match part {
            "keys" => Part::Keys,
            "values" => Part::Values,
            _ => Part::Items,
        };
        let (start, stop, prefix) = (start.as_ref(), stop.as_ref(), prefix.as_ref());
        let arguments = Arguments { start, stop, prefix, inclusive: inclusive.pair() };
        Ok(Self::iterator(this, part, Bounds::of(&this.get().open, &arguments)?, !reverse))
    }

    /// The number of entries: of all, or of those that `keys` returns for the same arguments. O(n); `len(map)` is not.
    #[pyo3(signature = (start=None, stop=None, *, prefix=None, inclusive=Inclusive::FIRST), text_signature = "($self, start=None, stop=None, *, prefix=None, inclusive=(True, False))")]
    fn count(
        &self,
        py: Python<'_>,
        start: Option<Bound<'_, PyAny>>,
        stop: Option<Bound<'_, PyAny>>,
        prefix: Option<Bound<'_, PyAny>>,
        inclusive: Inclusive,
    ) -> PyResult<usize> {
        let (start, stop, prefix) = (start.as_ref(), stop.as_ref(), prefix.as_ref());
        let arguments = Arguments { start, stop, prefix, inclusive: inclusive.pair() };
        self.open.count(py, &Bounds::of(&self.open, &arguments)?)
    }

    /// Removes the entries that `keys` returns for the same arguments, one after the other; returns their number. Without any of the three it raises `TypeError`: `clear` removes all. O(n).
    #[pyo3(signature = (start=None, stop=None, *, prefix=None, inclusive=Inclusive::FIRST), text_signature = "($self, start=None, stop=None, *, prefix=None, inclusive=(True, False))")]
    fn remove_range(
        &self,
        py: Python<'_>,
        start: Option<Bound<'_, PyAny>>,
        stop: Option<Bound<'_, PyAny>>,
        prefix: Option<Bound<'_, PyAny>>,
        inclusive: Inclusive,
    ) -> PyResult<usize> {
        let (start, stop, prefix) = (start.as_ref(), stop.as_ref(), prefix.as_ref());
        let arguments = Arguments { start, stop, prefix, inclusive: inclusive.pair() };
        if start.or(stop).or(prefix).is_none() {
            return Err(PyTypeError::new_err(
                "`remove_range` removes the entries from `start`, to before `stop`, or with `prefix`, and none of them is \
                 given: `clear` removes all",
            ));
        }
        self.open.remove_range(py, &Bounds::of(&self.open, &arguments)?)
    }

    /// Removes all entries, one after the other. O(n); `pool.drop(name)` removes a map at once.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.open.remove_range(py, &Bounds::ALL).map(drop)
    }

    /// The values of `keys`, as a list, with `default` for keys that are missing. For a NumPy array of keys the result is two
    /// arrays: the values, and which keys were found. In an array of numbers 0 stands for a `default` of `None`. Some 1,000
    /// keys are taken from an iterator before they are looked up. Other threads run Python meanwhile.
    #[pyo3(signature = (keys, default=None))]
    fn get_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let default = default.unwrap_or_else(|| keys.py().None().into_bound(keys.py()));
        self.open.get_many(keys, &default)
    }

    /// Gives each of `keys` the value at the same place in `values`, one after the other; returns their number. Both are
    /// iterables or arrays of numbers; or `keys` alone is a mapping, or has pairs. An entry of an iterator is written before
    /// the next one is taken; from lists, tuples and a `dict` some 1,000 are taken at once. Other threads run Python meanwhile.
    #[pyo3(signature = (keys, values=None))]
    fn put_many(
        &self,
        keys: &Bound<'_, PyAny>,
        values: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        match values {
            Some(values) => self.open.put_many(keys, values),
            None => self.open.put_pairs(&pairs_of(keys)?),
        }
    }

    /// Puts the entries of a mapping, or the pairs of an iterable, one after the other, like `dict.update`. An entry of an
    /// iterator is written before the next one is taken.
    #[pyo3(signature = (other=None, /, **more))]
    fn update(
        &self,
        other: Option<&Bound<'_, PyAny>>,
        more: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        if let Some(other) = other {
            self.open.put_pairs(&pairs_of(other)?)?;
        }
        match more {
            Some(more) => self.open.put_pairs(more.items().as_any()).map(drop),
            None => Ok(()),
        }
    }
}
