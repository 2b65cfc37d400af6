//! The search and the change of a write ([`linking`](crate::tree::records::linking)).

use crate::Result;
use crate::media::Media;
use crate::space::{Guard, OpenMap, Turn};
use crate::tree::Change;
use crate::tree::numbers::NumberTree;
use crate::tree::record_tree::tree::{RecordTree, number_of_key, record_of};
use crate::tree::records::linking::Linking;
use crate::tree::records::record::Record;

impl<M: Media, T: NumberTree<Medium = M>> Linking for RecordTree<T> {
    type Medium = M;
    type Sought<'k> = (&'k [u8], u64);
    type Place = ();

    fn open_map(&self) -> &OpenMap<M> {
        self.tree.open_map()
    }

    fn sought<'k>(&self, key: &'k [u8]) -> Result<(&'k [u8], u64)> {
        let number = number_of_key(key)?;
        self.tree.prepare(number)?;
        Ok((key, number))
    }

    fn bytes<'k>(key: Self::Sought<'k>) -> &'k [u8] {
        key.0
    }

    /// # Errors
    ///
    /// [`Error::Encode`](crate::Error::Encode) if the map has a key of the same number and of another length.
    #[inline]
    fn find<'g>(
        &self,
        guard: &'g Guard<'_, M>,
        (key, number): (&[u8], u64),
    ) -> Result<((), Option<Record<'g, M>>)> {
        match self.tree.get_within(guard, number)? {
            Some(at) => Ok(((), Some(record_of(guard.media(), at, (key, number))?))),
            None => Ok(((), None)),
        }
    }

    fn try_link(
        &self,
        guard: &Guard<'_, M>,
        (_, number): (&[u8], u64),
        (): (),
        turn: Option<&Turn<'_>>,
        expected: Option<u64>,
        change: Change,
    ) -> Result<Option<Option<u64>>> {
        self.tree.try_apply(guard, number, turn, &mut |now| match now == expected {
            true => change,
            false => Change::Keep,
        })
    }

    fn wait_for_pop(&self, (_, number): (&[u8], u64)) {
        self.open_map().map().pops().wait_for(&number);
    }
}
