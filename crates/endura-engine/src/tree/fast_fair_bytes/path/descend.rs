//! The descent from the root to the node that covers a key.

use crate::Result;
use crate::media::Media;
use crate::space::Guard;
use crate::tree::fast_fair::path::root::{Root, root_of, set_root_of};
use crate::tree::fast_fair_bytes::nodes::node::ByteNode;
use crate::tree::fast_fair_bytes::path::aim::Aim;
use crate::tree::fast_fair_bytes::path::right::note_right;
use crate::tree::fast_fair_bytes::path::route::Descent;
use crate::tree::fast_fair_bytes::path::trail::Trail;
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::key_word::KeyWord;

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    #[inline(always)]
    pub(crate) fn root(&self, guard: &Guard<'_, M>) -> Result<Root> {
        root_of(self.open.map(), guard)
    }

    /// Makes `root` the root, durably.
    pub(crate) fn set_root(&self, guard: &Guard<'_, M>, root: Root) -> Result<()> {
        set_root_of(self.open.map(), guard, root)
    }

    /// Finds the leaf that covered a key a moment ago, without locking it.
    #[inline(always)]
    pub(crate) fn descend_to_leaf(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        key: &[u8],
    ) -> Result<u64> {
        let media = guard.media();
        let mut at = self.root(guard)?;
        while at.level > 0 {
            let node = ByteNode::enter(media, at.at, at.level)?;
            match self.route(guard, node, at.level, key)? {
                Descent::Down(child) => at = Root { at: child, level: at.level - 1 },
                step => at = self.step_aside(guard, trail, at, step)?,
            }
        }
        Ok(at.at)
    }

    /// Finds the node of `level` at which the search aims, a moment ago. `None` if the tree has no such level.
    pub(crate) fn descend(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        aim: Aim<'_>,
        level: u64,
    ) -> Result<Option<u64>> {
        let mut at = self.root(guard)?;
        while at.level > level {
            let node = ByteNode::enter(guard.media(), at.at, at.level)?;
            let step = match aim {
                Aim::At(key) => self.route(guard, node, at.level, key)?,
                _ => self.route_with_care(guard, node, at.level, aim)?,
            };
            match step {
                Descent::Down(child) => at = Root { at: child, level: at.level - 1 },
                step => at = self.step_aside(guard, trail, at, step)?,
            }
        }
        Ok((at.level == level).then_some(at.at))
    }

    /// A step that does not lead down.
    #[cold]
    fn step_aside(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        at: Root,
        step: Descent,
    ) -> Result<Root> {
        Ok(match step {
            Descent::Down(child) => Root { at: child, level: at.level - 1 },
            Descent::Right(right) => Root { at: note_right(trail, right, at.level), ..at },
            Descent::Replaced(signpost) => {
                trail.pass(signpost)?;
                Root { at: signpost.new, ..at }
            }
            Descent::Onward(next) => {
                trail.leave_obsolete(at.at)?;
                if next == 0 { self.root(guard)? } else { Root { at: next, ..at } }
            }
        })
    }
}
