//! Posting separators. Separators are hints that shorten a search: the sibling pointers alone lead to every node, so
//! that nothing is lost without a separator. The thread that splits a node posts the separator of the new node. If a
//! separator is missing, any *writer* that moves right over a settled link posts it (the lazy repair of the paper's
//! section 5.2).

use crate::media::{Mark, Media};
use crate::space::Guard;
use crate::{Error, Result};

use crate::tree::fast_fair::nodes::header::{Fences, Init, MAX_LEVEL};
use crate::tree::fast_fair::nodes::lock_word::LockWord;
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::Search;
use crate::tree::fast_fair::nodes::shift::fast_insert;
use crate::tree::fast_fair::path::root::Root;
use crate::tree::fast_fair::path::trail::Separator;
use crate::tree::fast_fair::path::trail::Trail;
use crate::tree::fast_fair::tree::Tree;

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
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
            let mut trail = Trail::default();
            let next = self.post_in_level(guard, &mut trail, separator)?;
            // The next separator is that of the parent's split, or one that the search found missing. Either belongs at
            // least one level higher, so the loop ends at the root.
            match next.or(trail.missing) {
                Some(above) => separator = above,
                None => return Ok(()),
            }
        }
    }

    /// P2: inserts the separator into its parent. Returns the parent's own separator if the parent had to split.
    fn post_in_level(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        separator: Separator,
    ) -> Result<Option<Separator>> {
        let Separator { key, child, level } = separator;
        let Some(at) = self.descend(guard, trail, key, level)? else {
            return Ok(Some(separator));
        };
        let Some(mut parent) = self.lock_covering::<INNER>(guard, trail, at, level, key)? else {
            return Ok(Some(separator));
        };
        guard.media().mark(Mark::Step("post.P2"));
        let place = self.place(parent.node(), self.find(parent.node(), key))?;
        // A child that is being absorbed must not get a separator again. The merging thread first flags the child and
        // then removes its separator under the parent's lock, which this thread holds now.
        if place.value.is_some() || self.is_leaving(guard, separator)? {
            return Ok(None);
        }
        if place.count < Node::<M, INNER>::CAP {
            fast_insert(guard, &mut parent, &place, key, child);
            return Ok(None);
        }
        self.fair_split(guard, &mut parent, &place, key, child).map(Some)
    }

    /// Whether the child of `separator` is being absorbed, or has been absorbed.
    fn is_leaving(&self, guard: &Guard<'_, M>, separator: Separator) -> Result<bool> {
        let child = self.header(guard, separator.child, separator.level - 1)?;
        Ok(child.version().is_leaving(guard.space().generation()))
    }

    /// Adds a new root over the current one. Returns `false` if the tree already has the level of `separator`.
    fn grow_root(&self, guard: &Guard<'_, M>, separator: Separator) -> Result<bool> {
        if separator.level > MAX_LEVEL {
            let what = "a tree higher than any pool can hold";
            return Err(Error::Corrupt { offset: self.root_at(), what });
        }
        let at = guard.alloc(Node::<M, INNER>::BYTES)?;
        let grown = self.install_root(guard, separator, at);
        if !matches!(grown, Ok(Growth::Installed)) {
            guard.discard(at, Node::<M, INNER>::BYTES);
        }
        Ok(!matches!(grown?, Growth::HighEnough))
    }

    fn install_root(&self, guard: &Guard<'_, M>, separator: Separator, at: u64) -> Result<Growth> {
        let _only_one = self.open.map().root_lock().lock();
        let old = self.root(guard)?;
        if old.level >= separator.level {
            return Ok(Growth::HighEnough);
        }
        if old.level + 1 != separator.level || self.is_leaving(guard, separator)? {
            return Ok(Growth::NotNeeded);
        }
        let root = Node::<M, INNER>::fresh(guard.media(), at)?;
        let init = Init {
            lock: LockWord::created(guard, at),
            fences: Fences { low: 0, high: 0 },
            sibling: 0,
            level: separator.level,
        };
        root.initialise(init, 2);
        for (slot, (key, child)) in
            [(0, old.at), (separator.key, separator.child)].into_iter().enumerate()
        {
            root.write_record(slot, (key, child));
        }
        root.flush();
        // The fence is before the root word is stored: the new root must be durable first.
        guard.media().fence();
        guard.media().mark(Mark::Step("root.grow"));
        self.set_root(guard, Root { at, level: separator.level })?;
        Ok(Growth::Installed)
    }
}

/// The result of an attempt to grow the tree.
enum Growth {
    Installed,
    /// Another thread has grown the tree. The separator has to be posted into the existing level.
    HighEnough,
    /// The child is being absorbed, or the tree has become lower. The separator is not posted.
    NotNeeded,
}
