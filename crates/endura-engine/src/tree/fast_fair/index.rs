//! The interface of an index, implemented by this tree.

use std::sync::Arc;

use crate::media::Media;
use crate::space::{AnyKey, Guard, MapState, OpenMap, Space, Turn};
use crate::tree::ends::{self as map_ends, Choice, Trust};
use crate::tree::len::{exact_len, len};
use crate::tree::numbers::{NumberTree, Values};
use crate::tree::pops::{self, Popped};
use crate::tree::{Change, Index, Len, Near, TreeCheck};
use crate::types::Types;
use crate::{Error, Result};

use crate::tree::fast_fair::nodes::search::Search;
use crate::tree::fast_fair::read::scan::Cursor;
use crate::tree::fast_fair::tree::Tree;
use crate::tree::fast_fair::upkeep::check::check_tree;

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// Checks the whole tree, and passes the offset and the bytes of every node to `visit`. Exact only while no thread
    /// writes ([`Space::quiesce`](crate::space::Space::quiesce)). O(n).
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] for the first check that fails, and those of
    /// [`Space::pin`](crate::space::Space::pin).
    pub fn check(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<TreeCheck> {
        check_tree::<M, INNER, LEAF>(&self.open.pin()?, self.root_at(), visit, &mut |_| Ok(()))
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> NumberTree
    for Tree<M, INNER, LEAF, S>
{
    type Medium = M;

    fn find_or_create(
        space: &Arc<Space<M>>,
        name: &str,
        types: &Types,
        values: Values,
    ) -> Result<Arc<MapState>> {
        Self::find_or_create(space, name, types, values)
    }

    fn over(space: &Arc<Space<M>>, map: Arc<MapState>, values: Values) -> Result<Self> {
        Self::with_values(space, map, values)
    }

    #[inline(always)]
    fn open_map(&self) -> &OpenMap<M> {
        &self.open
    }

    #[inline]
    fn get_within(&self, guard: &Guard<'_, M>, key: u64) -> Result<Option<u64>> {
        self.lookup_within(guard, key)
    }

    fn try_apply(
        &self,
        guard: &Guard<'_, M>,
        key: u64,
        turn: Option<&Turn<'_>>,
        decide: &mut dyn FnMut(Option<u64>) -> Change,
    ) -> Result<Option<Option<u64>>> {
        self.write_within(guard, None, key, turn, &mut |old| Some(decide(old)))
    }

    #[inline(always)]
    fn next_few<const UP: bool>(&self, cursor: &mut Cursor, entries: &mut [(u64, u64)]) -> usize {
        self.read_seats::<UP>(cursor, entries)
    }

    #[inline(always)]
    fn ahead<const UP: bool>(&self, cursor: &Cursor, entries: usize) -> Option<u64> {
        self.value_ahead::<UP>(cursor, entries)
    }

    fn is_end(&self, smallest: bool, key: u64) -> Result<Choice> {
        map_ends::is_end(self, smallest, |end: (u64, u64)| end.0 == key)
    }

    fn check_entries(
        &self,
        visit: &mut dyn FnMut(u64, u64),
        entry: &mut dyn FnMut((u64, u64)) -> Result<()>,
    ) -> Result<TreeCheck> {
        check_tree::<M, INNER, LEAF>(&self.open.pin()?, self.root_at(), visit, entry)
    }

    fn count_all(&self) -> Result<()> {
        Self::count_all(self)
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Index for Tree<M, INNER, LEAF, S> {
    type Cursor = Cursor;

    fn noted(&self, error: Error) -> Error {
        self.open.space().noted(error)
    }

    fn out_of_order(&self, cursor: &Cursor) -> Error {
        cursor.out_of_order(self.open.space())
    }

    #[inline]
    fn get(&self, key: u64) -> Result<Option<u64>> {
        self.lookup(key)
    }

    #[inline(always)]
    fn has_batches(&self) -> bool {
        self.open.has_batches()
    }

    fn decided(&self, key: u64) -> Result<Option<Option<u64>>> {
        Ok(self.open.answer(AnyKey::Number(key))?.map(|answer| answer.value))
    }

    fn get_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        self.lookup_many(keys)
    }

    #[inline]
    fn modify(
        &self,
        key: u64,
        mut decide: impl FnMut(Option<u64>) -> Change,
    ) -> Result<Option<u64>> {
        self.open.space().with_room(|| {
            self.write_dyn(key, None, &mut |old| {
                let change = decide(old);
                (!self.open.space().is_elsewhere()).then_some(change)
            })
        })
    }

    #[inline]
    fn apply(
        &self,
        key: u64,
        mut decide: impl FnMut(Option<u64>) -> Change,
    ) -> Result<Option<u64>> {
        self.open.space().with_room(|| self.write(None, key, None, &mut |old| Some(decide(old))))
    }

    fn insert_near(&self, near: &mut Near, key: u64, value: u64) -> Result<Option<u64>> {
        self.open
            .space()
            .with_room(|| self.write(Some(near), key, None, &mut |_| Some(Change::Put(value))))
    }

    #[inline(always)]
    fn next_up(&self, cursor: &mut Cursor) -> Option<(u64, u64)> {
        self.read_seat::<true>(cursor)
    }

    #[inline(always)]
    fn next_down(&self, cursor: &mut Cursor) -> Option<(u64, u64)> {
        self.read_seat::<false>(cursor)
    }

    #[inline]
    fn scan_up(&self, cursor: &mut Cursor, key: u64) -> Result<Option<(u64, u64)>> {
        self.scan::<true>(cursor, key)
    }

    #[inline]
    fn scan_down(&self, cursor: &mut Cursor, key: u64) -> Result<Option<(u64, u64)>> {
        self.scan::<false>(cursor, key)
    }

    fn first(&self) -> Result<Option<(u64, u64)>> {
        map_ends::end::<true, _>(self, Trust::Blind)
    }

    fn last(&self) -> Result<Option<(u64, u64)>> {
        map_ends::end::<false, _>(self, Trust::Blind)
    }

    fn check_ends(&self) -> Result<()> {
        map_ends::end::<true, _>(self, Trust::Checked)?;
        map_ends::end::<false, _>(self, Trust::Checked).map(drop)
    }

    fn pop(&self, smallest: bool, entry: (u64, u64)) -> Result<Popped> {
        let choice = || map_ends::is_end(self, smallest, |end| end == entry);
        pops::pop_number(&self.open, smallest, entry, &choice, &|turn, takes_out| {
            self.write_dyn(entry.0, Some(turn), &mut |old| {
                Some(if takes_out(old) { Change::Remove } else { Change::Keep })
            })
            .map(drop)
        })
    }

    fn len(&self) -> Result<Len> {
        len(&self.open, self, Self::count_all)
    }

    fn exact_len(&self) -> Result<u64> {
        exact_len(&self.open, self, Self::count_all)
    }
}
