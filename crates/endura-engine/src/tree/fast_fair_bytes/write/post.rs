//! Posting separators. Separators are hints that shorten a search: the sibling pointers alone lead to every node, so
//! that nothing is lost without a separator. The thread that makes a node posts its separator. If a separator is missing,
//! any *writer* that moves right over a settled link posts it (the lazy repair of the paper's section 5.2).

use crate::media::{Mark, Media};
use crate::space::Guard;
use crate::tree::fast_fair::nodes::header::MAX_LEVEL;
use crate::tree::fast_fair::nodes::locked::Locked;
use crate::tree::fast_fair::path::root::Root;
use crate::tree::fast_fair_bytes::nodes::child::{child_at, reference_to_child};
use crate::tree::fast_fair_bytes::nodes::contents::references;
use crate::tree::fast_fair_bytes::nodes::node::ByteNode;
use crate::tree::fast_fair_bytes::nodes::search::used;
use crate::tree::fast_fair_bytes::nodes::shift::{Place, fast_insert};
use crate::tree::fast_fair_bytes::path::aim::Aim;
use crate::tree::fast_fair_bytes::path::right::newest;
use crate::tree::fast_fair_bytes::path::trail::{Separator, Trail};
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::fast_fair_bytes::write::build::NewNode;
use crate::tree::fast_fair_bytes::write::prefix::prefix_of_inner;
use crate::tree::fast_fair_bytes::write::replace::{Prepared, Replaced, split_point};
use crate::tree::key_word::KeyWord;
use crate::tree::records::fresh::Fresh;
use crate::{Error, Result};

/// The outcome of posting a separator into one level.
enum Posted {
    Done,
    /// The tree has no such level.
    TooLow,
    /// The parent was replaced.
    Replaced(Replaced),
}

/// The result of an attempt to grow the tree.
enum Growth {
    Installed,
    /// Another thread has grown the tree. The separator has to be posted into the existing level.
    HighEnough,
    /// The child is leaving, or the tree has become lower. The separator is not posted.
    NotNeeded,
}

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// Posts `separator`, and those of the splits that this causes further up.
    pub(crate) fn post(&self, guard: &Guard<'_, M>, mut separator: Separator) -> Result<()> {
        loop {
            guard.media().mark(Mark::Step("post.P1"));
            if self.root(guard)?.level < separator.level {
                if self.grow_root(guard, separator)? {
                    return Ok(());
                }
                continue;
            }
            let low = self.low_at(guard, separator.child, separator.level - 1)?;
            let mut trail = Trail::default();
            let next = match self.post_in_level(guard, &mut trail, separator, &low)? {
                Posted::Done => trail.missing,
                Posted::TooLow => Some(separator),
                Posted::Replaced(replaced) => {
                    self.settle(guard, replaced.signpost)?;
                    replaced.separator.or(trail.missing)
                }
            };
            if let Some(signpost) = trail.signpost {
                self.settle(guard, signpost)?;
            }
            // The next separator belongs at least one level higher, so the loop ends at the root.
            match next {
                Some(above) => separator = above,
                None => return Ok(()),
            }
        }
    }

    /// P2: inserts the separator into its parent, or replaces the parent if it is full.
    fn post_in_level(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        separator: Separator,
        low: &[u8],
    ) -> Result<Posted> {
        let (Separator { level, .. }, aim) = (separator, Aim::At(low));
        let Some(at) = self.descend(guard, trail, aim, level)? else { return Ok(Posted::TooLow) };
        let Some(mut parent) = self.lock_covering::<INNER>(guard, trail, at, level, aim)? else {
            return Ok(Posted::TooLow);
        };
        guard.media().mark(Mark::Step("post.P2"));
        let node = ByteNode::of(parent.node());
        let (word, count) = (node.word_of::<K>(low)?, used(&node));
        let left = self.child_for(guard, &node, aim, word)?;
        if self.low_at(guard, left, level - 1)? == low {
            return Ok(Posted::Done);
        }
        // A child that leaves must not get a separator again. The thread that makes it leave flags the child, or replaces
        // it, and then changes the parent under the parent's lock, which this thread holds now.
        let Some(child) = self.newest(guard, separator)? else { return Ok(Posted::Done) };
        let is_left = |slot: &usize| child_at(node.peek_reference(*slot)) == left;
        let Some(before) = (0..count).find(is_left) else {
            return Err(node.corrupt("children out of order"));
        };
        let place = Place { count, slot: before + 1 };
        if count < ByteNode::<M, INNER>::CAP {
            if let Some(prepared) = self.with_fewer_ties(guard, &node, (place, child), word)? {
                return self.replace(guard, parent, None, prepared).map(Posted::Replaced);
            }
            let reference = reference_to_child::<K>(child, node.prefix_len(), word, low);
            fast_insert(guard, &mut parent, place, word, reference);
            return Ok(Posted::Done);
        }
        self.replace_parent(guard, parent, place, child).map(Posted::Replaced)
    }

    /// A node to replace `parent`, with the new child and with the prefix that fits its separators by now, if the words of
    /// `parent` do not tell the child from the one before it. A root begins with two children, from which nobody can tell
    /// what the separators of later ones will share.
    ///
    /// A node is looked at when its children have doubled, so that the cost is constant for each of them.
    fn with_fewer_ties<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        parent: &ByteNode<'g, M, INNER>,
        (place, child): (Place, u64),
        word: u64,
    ) -> Result<Option<Prepared<'g, M, INNER>>> {
        let is_time = place.count >= 2 && place.count.is_power_of_two();
        if !is_time || parent.peek_word(place.slot - 1) != word {
            return Ok(None);
        }
        let mut all = references(parent)?;
        all.insert(place.slot, child);
        let separators = self.separators(guard, parent.level(), &all[1..])?;
        if prefix_of_inner::<K>(&separators) == parent.prefix()? {
            return Ok(None);
        }
        guard.media().mark(Mark::Step("post.prefix"));
        match self.prepare(guard, parent, &all, None, parent.link()?.at()) {
            // The child comes in without a new node.
            Err(Error::Full { .. }) => Ok(None),
            prepared => prepared.map(Some),
        }
    }

    fn replace_parent<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        parent: Locked<'g, M, INNER>,
        place: Place,
        child: u64,
    ) -> Result<Replaced> {
        let node = ByteNode::of(parent.node());
        let mut all = references(&node)?;
        all.insert(place.slot, child);
        let split_at = Some(split_point(all.len(), place.slot));
        let prepared = self.prepare(guard, &node, &all, split_at, node.link()?.at())?;
        self.replace(guard, parent, None, prepared)
    }

    /// The node that begins where the child of `separator` does; `None` if it is being absorbed, or was.
    fn newest(&self, guard: &Guard<'_, M>, separator: Separator) -> Result<Option<u64>> {
        match separator.level - 1 {
            0 => newest::<M, LEAF>(guard, separator.child, 0),
            level => newest::<M, INNER>(guard, separator.child, level),
        }
    }

    /// Adds a new root over the current one. Returns `false` if the tree already has the level of `separator`.
    fn grow_root(&self, guard: &Guard<'_, M>, separator: Separator) -> Result<bool> {
        if separator.level > MAX_LEVEL {
            let what = "a tree higher than any pool can hold";
            return Err(Error::Corrupt { offset: self.open.map().root(), what });
        }
        let mut fresh = Fresh::new(guard);
        let old = self.root(guard)?;
        let references = [old.at, separator.child];
        let level = separator.level;
        let new = NewNode { references: &references, low: &[], high: None, sibling: 0, level };
        let root: ByteNode<'_, M, INNER> = self.build(guard, &mut fresh, new)?;
        // The fence is before the root word is stored: the new root must be durable first.
        guard.media().fence();
        let grown = self.install_root(guard, separator, (old, &root))?;
        if matches!(grown, Growth::Installed) {
            fresh.linked();
        }
        drop(Locked::adopt(guard, root.plain()));
        Ok(!matches!(grown, Growth::HighEnough))
    }

    fn install_root(
        &self,
        guard: &Guard<'_, M>,
        separator: Separator,
        (old, new): (Root, &ByteNode<'_, M, INNER>),
    ) -> Result<Growth> {
        let _only_one = self.open.map().root_lock().lock();
        let now = self.root(guard)?;
        if now.level >= separator.level || now != old {
            return Ok(Growth::HighEnough);
        }
        // (A child that was replaced will be found by those who come through it.)
        if old.level + 1 != separator.level
            || self.newest(guard, separator)? != Some(separator.child)
        {
            return Ok(Growth::NotNeeded);
        }
        guard.media().mark(Mark::Step("root.grow"));
        self.set_root(guard, Root { at: new.at(), level: separator.level })?;
        Ok(Growth::Installed)
    }
}
