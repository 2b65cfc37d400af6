//! A walk over the whole tree that checks all invariants of its structure.

use crate::media::Media;
use crate::space::Guard;
use crate::tree::TreeCheck;
use crate::{Error, Result};

use crate::tree::fast_fair::nodes::header::{Fences, Tag};
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::path::root::Root;

/// The records of one level's inner nodes: `(separator, child)`, in key order.
type Children = Vec<(u64, u64)>;

/// Checks the tree of `INNER`- and `LEAF`-word nodes whose root word is at `root_at`. Passes the offset and the bytes of
/// every node to `visit`, and the key and the value of every entry to `entry`. Exact only while no thread writes. O(n).
///
/// # Errors
///
/// [`Error::Corrupt`] for the first check that fails.
pub(crate) fn check_tree<M: Media, const INNER: usize, const LEAF: usize>(
    guard: &Guard<'_, M>,
    root_at: u64,
    visit: &mut dyn FnMut(u64, u64),
    entry: &mut dyn FnMut((u64, u64)) -> Result<()>,
) -> Result<TreeCheck> {
    let root = Root::read(guard.media(), root_at)?;
    let mut found = TreeCheck { height: root.level + 1, ..TreeCheck::default() };
    let mut named: Children = vec![(0, root.at)];
    for level in (1..=root.level).rev() {
        let walk = LevelCheck { guard, level, named: &named, visit, entry, found: &mut found };
        named = walk.along::<INNER>(root)?;
    }
    let walk = LevelCheck { guard, level: 0, named: &named, visit, entry, found: &mut found };
    walk.along::<LEAF>(root)?;
    Ok(found)
}

/// The walk along one level.
struct LevelCheck<'a, 'g, M: Media> {
    guard: &'a Guard<'g, M>,
    level: u64,
    /// The children that the level above lists.
    named: &'a Children,
    visit: &'a mut dyn FnMut(u64, u64),
    entry: &'a mut dyn FnMut((u64, u64)) -> Result<()>,
    found: &'a mut TreeCheck,
}

impl<M: Media> LevelCheck<'_, '_, M> {
    fn along<const W: usize>(mut self, root: Root) -> Result<Children> {
        let mut children = Children::new();
        let mut named = self.named.iter().peekable();
        let mut at = self.named.first().map_or(0, |first| first.1);
        let mut low = 0;
        while at != 0 {
            let node = self.enter::<W>(at)?;
            let fences = node.fences();
            if fences.low != low || (fences.high != 0 && fences.high <= low) {
                return Err(node.corrupt("fences that leave a gap or overlap"));
            }
            match named.next_if(|&&(_, child)| child == at) {
                Some(&(separator, _)) if separator != low => {
                    return Err(node.corrupt("a separator that is not its child's lower fence"));
                }
                Some(_) => {}
                None => self.found.repairs.missing_separators += 1,
            }
            self.entries(&node, fences, &mut children)?;
            let next = self.next(&node, fences)?;
            if (fences.high == 0) != (next == 0) {
                return Err(node.corrupt("a level that ends too early or too late"));
            }
            (at, low) = (next, fences.high);
        }
        match named.next() {
            Some(&(_, child)) => {
                Err(Error::Corrupt { offset: child, what: "a named child that is no sibling" })
            }
            None if self.level > 0 && children.is_empty() => {
                Err(Error::Corrupt { offset: root.at, what: "an inner level without children" })
            }
            None => Ok(children),
        }
    }

    fn enter<'m, const W: usize>(&mut self, at: u64) -> Result<Node<'m, M, W>>
    where
        Self: 'm,
    {
        let node = Node::<M, W>::enter(self.guard.media(), at, self.level)?;
        (self.visit)(at, Node::<M, W>::BYTES);
        self.found.nodes += 1;
        let generation = self.guard.space().generation();
        self.found.repairs.interrupted += u64::from(node.version().is_interrupted(generation));
        Ok(node)
    }

    /// Checks that live keys ascend, that at most one entry has two copies, and that no live slot follows a dead one.
    fn entries<const W: usize>(
        &mut self,
        node: &Node<'_, M, W>,
        fences: Fences,
        children: &mut Children,
    ) -> Result<()> {
        let width = fences.last().wrapping_sub(fences.low);
        let is_live = |slot: &usize| node.key(*slot).wrapping_sub(fences.low) <= width;
        let cap = Node::<M, W>::CAP;
        let count = (0..cap).take_while(is_live).count();
        if (count..cap).any(|slot| is_live(&slot)) {
            return Err(node.corrupt("a live slot behind a dead one"));
        }
        let mut copies = 0;
        for slot in 0..count {
            let (key, next) = (node.key(slot), (slot + 1 < count).then(|| node.key(slot + 1)));
            match next {
                Some(next) if next < key => return Err(node.corrupt("keys out of order")),
                Some(next) if next == key => copies += 1,
                _ if self.level == 0 => {
                    self.found.entries += 1;
                    (self.entry)((key, node.value(slot)))?;
                }
                _ => children.push((key, node.value(slot))),
            }
        }
        if copies > 1 {
            return Err(node.corrupt("more than one entry on the move"));
        }
        self.found.repairs.duplicates += copies;
        if self.level > 0 && (count == 0 || node.key(0) != fences.low) {
            return Err(node.corrupt("an inner node without a child for its lowest key"));
        }
        if self.level == 0 && fences.high == 0 && fences.low == 0 {
            return Err(node.corrupt("one leaf for all keys"));
        }
        Ok(())
    }

    /// The next node that owns keys. A sibling that owns none is skipped, after a check.
    fn next<const W: usize>(&mut self, node: &Node<'_, M, W>, fences: Fences) -> Result<u64> {
        let sibling = node.sibling()?;
        if sibling.tag == Tag::Normal {
            return Ok(sibling.at);
        }
        self.found.repairs.unsettled_siblings += 1;
        let other = Node::<M, W>::enter(self.guard.media(), sibling.at, self.level)?;
        let owns_nothing = match sibling.tag {
            Tag::Splitting => other.low() != fences.high,
            _ => other.high() == fences.high,
        };
        if !owns_nothing {
            return Ok(sibling.at);
        }
        if other.high() != fences.high || other.sibling()?.tag != Tag::Normal {
            return Err(other.corrupt("a sibling that is neither new nor absorbed"));
        }
        (self.visit)(sibling.at, Node::<M, W>::BYTES);
        Ok(other.sibling()?.at)
    }
}
