//! The number of entries of the tree.
//!
//! Writers count their own inserts and removes, in counters that no two cores share. After an unclean close the counters
//! start from zero, and the entries of earlier sessions are added when they are found: the thread that first locks a leaf
//! in this session adds its entries, before anything in it changes. To find all of them, one thread locks all leaves, some
//! in each pin. Nodes of this session are made of counted entries. So each is counted exactly once, wherever it moves.

use std::ops::{Bound, ControlFlow};

use crate::Result;
use crate::media::Media;
use crate::space::Counted;
use crate::tree::ByteIndex;
use crate::tree::fast_fair_bytes::nodes::node::ByteNode;
use crate::tree::fast_fair_bytes::path::aim::Aim;
use crate::tree::fast_fair_bytes::path::right::{NOT_AHEAD, check_ahead};
use crate::tree::fast_fair_bytes::path::trail::Trail;
use crate::tree::fast_fair_bytes::read::leaf_walk::Cursor;
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::key_word::KeyWord;

/// Leaves locked in one pin.
const BITE: usize = 64;

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// Counts the entries of earlier sessions, in this thread, by locking every leaf. Other threads may write meanwhile,
    /// and add the entries of the leaves that they lock first. O(n).
    ///
    /// # Errors
    ///
    /// As for [`ByteIndex::get_with`].
    pub fn count_all(&self) -> Result<()> {
        if self.open.space().session().read_only {
            return self.count_unchanging();
        }
        let mut next = Some(Vec::new());
        while let Some(from) = next {
            next = self.count_some(&from)?;
        }
        self.open.map().set_counted(Counted::All);
        Ok(())
    }

    /// Locks some leaves from the one that covers `from` on. Returns the key at which the next one begins.
    fn count_some(&self, from: &[u8]) -> Result<Option<Vec<u8>>> {
        let guard = self.open.pin_mut()?;
        let (mut trail, mut low) = (Trail::default(), from.to_vec());
        let mut at = self.descend_to_leaf(&guard, &mut trail, from)?;
        for _ in 0..BITE {
            let leaf = self.lock_covering::<LEAF>(&guard, &mut trail, at, 0, Aim::At(&low))?;
            let leaf = leaf.ok_or_else(|| self.no_leaf())?;
            let node = ByteNode::of(leaf.node());
            at = node.link()?.at();
            if at == 0 {
                return Ok(None);
            }
            let next = check_ahead(&node, at)?;
            // The leaf may be another one than that to which the last link led. Without this check, a walk through a damaged
            // pool might never end.
            if next <= low {
                return Err(node.corrupt(NOT_AHEAD));
            }
            low = next;
        }
        Ok(Some(low))
    }

    /// Counts a tree that no thread can change.
    fn count_unchanging(&self) -> Result<()> {
        let mut entries = 0;
        self.scan_up(&mut Cursor::default(), (Bound::Unbounded, Bound::Unbounded), |_, _| {
            entries += 1;
            ControlFlow::Continue(())
        })?;
        self.open.map().add(entries);
        self.open.map().set_counted(Counted::All);
        Ok(())
    }
}
