//! The number of entries of the tree.
//!
//! Writers count their own inserts and removes, under the lock of the leaf, in counters that no two cores share. After
//! an unclean close the counters start from zero: writers then count only keys below a cursor, and a thread moves the
//! cursor up leaf by leaf, also under the leaf's lock. So exactly one of the two counts each entry.

use crate::Result;
use crate::media::Media;
use crate::space::Counted;

use crate::tree::fast_fair::nodes::search::Search;
use crate::tree::fast_fair::path::trail::Trail;
use crate::tree::fast_fair::read::scan::Cursor;
use crate::tree::fast_fair::tree::Tree;

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// Counts an entry that was inserted or removed. Called under the lock of its leaf.
    #[inline]
    pub(crate) fn count(&self, key: u64, entries: i64) {
        match self.open.map().counted() {
            Counted::All => self.open.map().add(entries),
            Counted::Below(cursor) if key < cursor => self.open.map().add(entries),
            Counted::Below(_) => {}
        }
    }

    /// Counts the entries from the key at which the last count ended to the last key. For the thread to which
    /// [`claim_count`](crate::space::MapState::claim_count) has given the right to count.
    ///
    /// # Errors
    ///
    /// As for [`Index::get`](crate::tree::Index::get).
    pub fn count_all(&self) -> Result<()> {
        if self.open.space().session().read_only {
            return self.count_unchanging();
        }
        while let Counted::Below(cursor) = self.open.map().counted() {
            let guard = self.open.pin_mut()?;
            let mut trail = Trail::default();
            let at = self.descend_to_leaf(&guard, &mut trail, cursor)?;
            let leaf = self.lock_leaf(&guard, &mut trail, at, cursor)?;
            let node = *leaf.node();
            let live = 0..self.live(&node);
            let entries = live.filter(|&slot| node.key(slot) >= cursor).count();
            self.open.map().add(entries as i64);
            let high = node.high();
            self.open.map().set_counted(if high == 0 {
                Counted::All
            } else {
                Counted::Below(high)
            });
        }
        Ok(())
    }

    /// Counts a tree that no thread can change.
    fn count_unchanging(&self) -> Result<()> {
        let (mut cursor, mut key) = (Cursor::default(), Some(0));
        while let Some(from) = key {
            let entry = self.scan::<true>(&mut cursor, from)?;
            self.open.map().add(i64::from(entry.is_some()));
            key = entry.and_then(|(key, _)| key.checked_add(1));
        }
        self.open.map().set_counted(Counted::All);
        Ok(())
    }
}
