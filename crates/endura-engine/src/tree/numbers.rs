//! What a tree of numbers offers to a [tree of records](crate::tree::record_tree), beyond what every [`Index`] offers.

use std::sync::Arc;

use crate::Result;
use crate::media::Media;
use crate::space::{Guard, MapState, OpenMap, Space, Turn};
use crate::tree::ends::Choice;
use crate::tree::{Change, Index, TreeCheck};
use crate::types::Types;

/// What the values of a tree of numbers are. The directory records it with the sizes of the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    /// Numbers of the caller's.
    Numbers,
    /// The offsets of records.
    Records,
}

impl Values {
    /// The parameters of a map whose nodes have these sizes.
    pub(crate) const fn parameters(self, sizes: u64) -> u64 {
        match self {
            Self::Numbers => sizes,
            Self::Records => sizes | 1 << 32,
        }
    }
}

/// A tree of numbers whose values can be the offsets of records.
pub(crate) trait NumberTree: Index + Clone {
    type Medium: Media;

    /// Finds the map `name`, of any kind. If there is none, creates it, with nodes of this tree's sizes and with these
    /// `types`.
    fn find_or_create(
        space: &Arc<Space<Self::Medium>>,
        name: &str,
        types: &Types,
        values: Values,
    ) -> Result<Arc<MapState>>;

    /// Opens the tree of an open map, which must have these values.
    fn over(space: &Arc<Space<Self::Medium>>, map: Arc<MapState>, values: Values) -> Result<Self>;

    fn open_map(&self) -> &OpenMap<Self::Medium>;

    /// Does what may take long before the first operation on `key` of a session. Called outside of pins.
    fn prepare(&self, key: u64) -> Result<()> {
        let _ = key;
        Ok(())
    }

    /// Whether all that [`prepare`](Self::prepare) does is done, for all keys.
    fn is_prepared(&self) -> bool {
        true
    }

    /// The value of `key`, inside the pin of the caller. (Within the pin the map may have been dropped; its entries stay.)
    fn get_within(&self, guard: &Guard<'_, Self::Medium>, key: u64) -> Result<Option<u64>>;

    /// Does what [`Index::apply`] does, inside the pin of the caller. Returns `None`, and has changed nothing, if the
    /// caller has to end its pin first: it then [waits for a pop](crate::space::MapState::pops), if there is one, and
    /// tries again. A lack of space is returned as an error at once. A pop passes its `turn`.
    fn try_apply(
        &self,
        guard: &Guard<'_, Self::Medium>,
        key: u64,
        turn: Option<&Turn<'_>>,
        decide: &mut dyn FnMut(Option<u64>) -> Change,
    ) -> Result<Option<Option<u64>>>;

    /// Does what `next_up` (with `UP` = false: `next_down`) does, for as many entries as `entries` has space for, each of
    /// which was in the map at a moment of the call. Returns how many there are: none if the next one needs a search.
    fn next_few<const UP: bool>(
        &self,
        cursor: &mut Self::Cursor,
        entries: &mut [(u64, u64)],
    ) -> usize;

    /// The value that the scan of this cursor is likely to return `entries` calls after the next one, for a prefetch.
    fn ahead<const UP: bool>(&self, cursor: &Self::Cursor, entries: usize) -> Option<u64>;

    /// Whether the first entry of the map (for `smallest` = false: the last) has this key, and all leaves up to it are
    /// [quiet](crate::tree::ends::Trust::Quiet).
    fn is_end(&self, smallest: bool, key: u64) -> Result<Choice>;

    /// Checks the tree as its `check` does, and passes the key and the value of every entry to `entry`.
    fn check_entries(
        &self,
        visit: &mut dyn FnMut(u64, u64),
        entry: &mut dyn FnMut((u64, u64)) -> Result<()>,
    ) -> Result<TreeCheck>;

    /// Counts the entries, as `count_all` of the tree does.
    fn count_all(&self) -> Result<()>;
}
