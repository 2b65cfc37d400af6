//! Changes of the inner nodes that replace old leaves by new ones.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;

use crate::cpu::byte_search::Narrow;
use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::metadata::body::Child;
use crate::tree::nbtree::metadata::shared::Metadata;

use crate::tree::nbtree::metadata::descend::Spot;
use crate::tree::nbtree::metadata::links::{Hold, Top};

/// Leaves that replace others.
#[derive(Debug)]
pub(crate) struct Exchange<'l, F> {
    pub(crate) partition: usize,
    /// The leaf that is removed, and the smallest key that it covers.
    pub(crate) old: (Child, &'l F),
    /// The same of its right neighbour, if the neighbour is removed as well.
    pub(crate) absorbed: Option<(Child, &'l F)>,
    pub(crate) new: &'l [Child],
}

impl<F> Clone for Exchange<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Exchange<'_, F> {}

/// The result of an attempt: `Done` if this or another thread has made the exchange.
enum Attempt {
    Done,
    Again,
}

/// Bodies and cells that a change of the upper levels makes, and those that it replaces.
#[derive(Debug, Default)]
struct Draft {
    bodies: Vec<u32>,
    cells: Vec<u32>,
    old_bodies: Vec<u32>,
    old_cells: Vec<u32>,
}

impl<K: KeyForm> Metadata<K> {
    /// The most children of a new body after a split or a join, so that it has free space.
    fn comfortable(&self) -> usize {
        self.fanout - self.fanout / 4
    }

    fn sparse(&self) -> usize {
        (self.fanout / 8).max(1)
    }

    /// Replaces `exchange.old` with `exchange.new`, unless another thread already has. On return the exchange has been
    /// made.
    pub(crate) fn reroute<M: Media>(
        &self,
        guard: &Guard<'_, M>,
        exchange: Exchange<'_, K::Fence>,
    ) -> Result<()> {
        loop {
            let top = self.roots[exchange.partition].load();
            let spot = self.spot(guard.media(), top, K::at(exchange.old.1))?;
            let hold = self.cells.get(spot.cell).load();
            let reaches_out = exchange.absorbed.is_some_and(|(_, low)| *low >= spot.high);
            let outcome = if hold.is_frozen() || reaches_out {
                self.rebuild(guard, exchange.partition, spot, reaches_out, Some(exchange))?
            } else {
                self.exchange_in(guard, spot, hold, exchange)?
            };
            if matches!(outcome, Attempt::Done) {
                return Ok(());
            }
        }
    }

    /// Tries to make the exchange inside one cell that is not frozen.
    fn exchange_in<M: Media>(
        &self,
        guard: &Guard<'_, M>,
        spot: Spot<K::Fence>,
        hold: Hold,
        exchange: Exchange<'_, K::Fence>,
    ) -> Result<Attempt> {
        let Some(leaves) = replaced(self.bodies.get(hold.body()).children(), exchange) else {
            // The cell was current when it was read, and no longer had the old leaf.
            return Ok(Attempt::Done);
        };
        if leaves.len() > self.fanout {
            return self.rebuild(guard, exchange.partition, spot, false, Some(exchange));
        }
        let body = self.new_body(guard, 1, &leaves);
        guard.media().mark(Mark::Step("reroute.cell"));
        if !self.cells.get(spot.cell).exchange(hold, Hold::of(body)) {
            self.bodies.discard(body);
            return Ok(Attempt::Again);
        }
        self.retire_body(guard, hold.body());
        if leaves.len() <= self.sparse() && (spot.low > K::first() || spot.high < K::end()) {
            // This only improves the shape: one attempt is enough.
            let top = self.roots[exchange.partition].load();
            let spot = self.spot(guard.media(), top, K::at(exchange.old.1))?;
            self.rebuild(guard, exchange.partition, spot, true, None)?;
        }
        Ok(Attempt::Done)
    }

    /// Freezes the cell at `spot` and puts new cells in its place. With `with_neighbour`, does the same with one of its
    /// neighbours: because the two cells are to be joined, or because the exchange extends to the neighbour.
    fn rebuild<M: Media>(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        spot: Spot<K::Fence>,
        with_neighbour: bool,
        exchange: Option<Exchange<'_, K::Fence>>,
    ) -> Result<Attempt> {
        let (media, top) = (guard.media(), spot.top);
        let mut spots = vec![];
        if with_neighbour && spot.high < K::end() {
            spots.push(self.spot(media, top, K::at(&spot.high))?);
            spots.insert(0, spot);
        } else if with_neighbour && exchange.is_none() && spot.low > K::first() {
            spots.push(self.spot(media, top, K::below(&spot.low))?);
            spots.push(spot);
        } else {
            spots.push(spot);
        }
        let mut leaves = Vec::new();
        let mut draft = Draft::default();
        for spot in &spots {
            let hold = self.cells.get(spot.cell).freeze();
            guard.media().mark(Mark::Step("reroute.frozen"));
            leaves.extend(self.bodies.get(hold.body()).children());
            draft.old_cells.push(spot.cell);
            draft.old_bodies.push(hold.body());
        }
        // New cells are needed even if the old leaf is gone, because the old cells are frozen.
        let leaves = match exchange {
            Some(exchange) => replaced(leaves.clone(), exchange).unwrap_or(leaves),
            None => leaves,
        };
        let cells: Vec<Child> = self
            .divided(&leaves)
            .map(|leaves| {
                Child::inner(leaves[0].low, draft.note_cell(self.new_cell(guard, leaves)))
            })
            .collect();
        let span = (&spots[0].low, &spots[spots.len() - 1].high);
        let new = self.rewrite_top(guard, &mut draft, top, span, &cells);
        guard.media().mark(Mark::Step("reroute.root"));
        if !self.roots[partition].exchange(top, new) {
            draft.discard(self);
            return Ok(Attempt::Again);
        }
        draft.retire(guard, self);
        Ok(Attempt::Done)
    }

    /// Divides children into as few parts as possible with free space in each.
    pub(crate) fn divided<'c>(
        &self,
        children: &'c [Child],
    ) -> impl Iterator<Item = &'c [Child]> + use<'c, K> {
        let parts = children.len().div_ceil(self.comfortable()).max(1);
        let count = children.len();
        (0..parts).map(move |part| &children[count * part / parts..count * (part + 1) / parts])
    }

    /// A copy of the upper levels, with `cells` in the place of the cells that cover the keys of `span`.
    fn rewrite_top<M: Media>(
        &self,
        guard: &Guard<'_, M>,
        draft: &mut Draft,
        top: Top,
        span: (&K::Fence, &K::Fence),
        cells: &[Child],
    ) -> Top {
        let mut level = top.level();
        let mut children = self.rewrite(guard, draft, top.body(), level, span, cells);
        while let [Child { number: only, .. }] = children[..]
            && level > 2
        {
            // A root with one child is replaced by the child. If the child was made for this draft, it is discarded.
            children = self.bodies.get(only).children();
            match draft.bodies.iter().position(|&body| body == only) {
                Some(new) => self.bodies.discard(draft.bodies.swap_remove(new)),
                None => draft.old_bodies.push(only),
            }
            level -= 1;
        }
        while children.len() > self.fanout {
            children = self.bodies_of(guard, draft, level, &children);
            level += 1;
        }
        Top::new(level, draft.note_body(self.new_body(guard, level, &children)))
    }

    /// The children of body `at`, with `new` in the place of the cells in `span` below it.
    fn rewrite<M: Media>(
        &self,
        guard: &Guard<'_, M>,
        draft: &mut Draft,
        at: u32,
        level: u32,
        span: (&K::Fence, &K::Fence),
        new: &[Child],
    ) -> Vec<Child> {
        draft.old_bodies.push(at);
        let body = self.bodies.get(at);
        let children = body.children();
        let rank = |key| self.rank(guard.media(), Narrow, (body, level), key);
        let (mut from, mut to) = (rank(K::at(span.0)), rank(K::below(span.1)));
        if level == 2 {
            return [&children[..from], new, &children[to + 1..]].concat();
        }
        let mut below = Vec::new();
        for (i, child) in children[from..=to].iter().enumerate() {
            let new = if i == 0 { new } else { &[] };
            below.extend(self.rewrite(guard, draft, child.number, level - 1, span, new));
        }
        if below.len() <= self.sparse() {
            // Too few children for a body: join them with those of a neighbour.
            if from > 0 {
                from -= 1;
                draft.old_bodies.push(children[from].number);
                below.splice(0..0, self.bodies.get(children[from].number).children());
            } else if to + 1 < children.len() {
                to += 1;
                draft.old_bodies.push(children[to].number);
                below.extend(self.bodies.get(children[to].number).children());
            }
        }
        let bodies =
            if below.is_empty() { below } else { self.bodies_of(guard, draft, level - 1, &below) };
        [&children[..from], &bodies, &children[to + 1..]].concat()
    }

    /// Bodies of level `level` over these children.
    fn bodies_of<M: Media>(
        &self,
        guard: &Guard<'_, M>,
        draft: &mut Draft,
        level: u32,
        children: &[Child],
    ) -> Vec<Child> {
        self.divided(children)
            .map(|part| {
                Child::inner(part[0].low, draft.note_body(self.new_body(guard, level, part)))
            })
            .collect()
    }

    fn retire_body<M: Media>(&self, guard: &Guard<'_, M>, body: u32) {
        let space = guard.space();
        self.bodies.retire(space.tag(), space.now(), body);
    }
}

/// The leaves after the exchange; `None` if the old leaf is not among `leaves`.
fn replaced<F>(mut leaves: Vec<Child>, exchange: Exchange<'_, F>) -> Option<Vec<Child>> {
    let at = leaves.iter().position(|leaf| leaf.number == exchange.old.0.number)?;
    let end = at + 1 + usize::from(exchange.absorbed.is_some());
    debug_assert!(
        exchange.absorbed.is_none_or(|(absorbed, _)| leaves[at + 1].number == absorbed.number)
    );
    leaves.splice(at..end.min(leaves.len()), exchange.new.iter().copied());
    Some(leaves)
}

impl Draft {
    fn note_body(&mut self, body: u32) -> u32 {
        self.bodies.push(body);
        body
    }

    fn note_cell(&mut self, cell: u32) -> u32 {
        self.cells.push(cell);
        cell
    }

    /// Frees the new bodies and cells, which no other thread has seen.
    fn discard<K: KeyForm>(self, meta: &Metadata<K>) {
        for cell in self.cells {
            meta.bodies.discard(meta.cells.get(cell).load().body());
            meta.cells.discard(cell);
        }
        self.bodies.into_iter().for_each(|body| meta.bodies.discard(body));
    }

    /// Retires the replaced bodies and cells, which no search finds any more.
    fn retire<M: Media, K: KeyForm>(self, guard: &Guard<'_, M>, meta: &Metadata<K>) {
        let (tag, now) = (guard.space().tag(), guard.space().now());
        self.old_cells.into_iter().for_each(|cell| meta.cells.retire(tag, now, cell));
        self.old_bodies.into_iter().for_each(|body| meta.bodies.retire(tag, now, body));
    }
}
