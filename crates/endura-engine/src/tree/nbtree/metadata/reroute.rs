//! Changes of the inner nodes that replace old leaves by new ones.

use crate::media::{Mark, Media};
use crate::space::Guard;

use crate::cpu::byte_search::Narrow;
use crate::tree::nbtree::blocks::key::Local;
use crate::tree::nbtree::metadata::body::Child;
use crate::tree::nbtree::metadata::shared::Metadata;

use crate::tree::nbtree::metadata::descend::Spot;
use crate::tree::nbtree::metadata::links::{Hold, Top};

/// Leaves that replace others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange<'l> {
    pub(crate) partition: usize,
    /// The leaf that is removed.
    pub(crate) old: Child,
    /// Its right neighbour, if the neighbour is removed as well.
    pub(crate) absorbed: Option<Child>,
    pub(crate) new: &'l [Child],
}

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

impl Metadata {
    /// The most children of a new body after a split or a join, so that it has free space.
    fn comfortable(&self) -> usize {
        self.fanout - self.fanout / 4
    }

    fn sparse(&self) -> usize {
        (self.fanout / 8).max(1)
    }

    /// Replaces `exchange.old` with `exchange.new`, unless another thread already has. On return the exchange has been
    /// made.
    pub(crate) fn reroute<M: Media>(&self, guard: &Guard<'_, M>, exchange: Exchange<'_>) {
        loop {
            let top = self.roots[exchange.partition].load();
            let spot = self.spot(top, exchange.old.low);
            let hold = self.cells.get(spot.cell).load();
            let reaches_out = exchange.absorbed.is_some_and(|absorbed| absorbed.low >= spot.high);
            let outcome = if hold.is_frozen() || reaches_out {
                self.rebuild(guard, exchange.partition, spot, reaches_out, Some(exchange))
            } else {
                self.exchange_in(guard, spot, hold, exchange)
            };
            if matches!(outcome, Attempt::Done) {
                return;
            }
        }
    }

    /// Tries to make the exchange inside one cell that is not frozen.
    fn exchange_in<M: Media>(
        &self,
        guard: &Guard<'_, M>,
        spot: Spot,
        hold: Hold,
        exchange: Exchange<'_>,
    ) -> Attempt {
        let Some(leaves) = replaced(self.bodies.get(hold.body()).children(), exchange) else {
            // The cell was current when it was read, and no longer had the old leaf.
            return Attempt::Done;
        };
        if leaves.len() > self.fanout {
            return self.rebuild(guard, exchange.partition, spot, false, Some(exchange));
        }
        let body = self.new_body(guard, &leaves);
        guard.media().mark(Mark::Step("reroute.cell"));
        if !self.cells.get(spot.cell).exchange(hold, Hold::of(body)) {
            self.bodies.discard(body);
            return Attempt::Again;
        }
        self.retire_body(guard, hold.body());
        if leaves.len() <= self.sparse() && (spot.low > Local(0) || spot.high < Local::END) {
            // This only improves the shape: one attempt is enough.
            let spot = self.spot(self.roots[exchange.partition].load(), exchange.old.low);
            self.rebuild(guard, exchange.partition, spot, true, None);
        }
        Attempt::Done
    }

    /// Freezes the cell at `spot` and puts new cells in its place. With `with_neighbour`, does the same with one of its
    /// neighbours: because the two cells are to be joined, or because the exchange extends to the neighbour.
    fn rebuild<M: Media>(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        spot: Spot,
        with_neighbour: bool,
        exchange: Option<Exchange<'_>>,
    ) -> Attempt {
        let mut spots = vec![spot];
        if with_neighbour && spot.high < Local::END {
            spots.push(self.spot(spot.top, spot.high));
        } else if with_neighbour && exchange.is_none() && spot.low > Local(0) {
            spots.insert(0, self.spot(spot.top, Local(spot.low.0 - 1)));
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
        let span = (spots[0].low, spots[spots.len() - 1].high);
        let new = self.rewrite_top(guard, &mut draft, spot.top, span, &cells);
        guard.media().mark(Mark::Step("reroute.root"));
        if !self.roots[partition].exchange(spot.top, new) {
            draft.discard(self);
            return Attempt::Again;
        }
        draft.retire(guard, self);
        Attempt::Done
    }

    /// Divides children into as few parts as possible with free space in each.
    pub(crate) fn divided<'c>(
        &self,
        children: &'c [Child],
    ) -> impl Iterator<Item = &'c [Child]> + use<'c> {
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
        span: (Local, Local),
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
            children = self.bodies_of(guard, draft, &children);
            level += 1;
        }
        Top::new(level, draft.note_body(self.new_body(guard, &children)))
    }

    /// The children of body `at`, with `new` in the place of the cells in `span` below it.
    fn rewrite<M: Media>(
        &self,
        guard: &Guard<'_, M>,
        draft: &mut Draft,
        at: u32,
        level: u32,
        span: (Local, Local),
        new: &[Child],
    ) -> Vec<Child> {
        draft.old_bodies.push(at);
        let body = self.bodies.get(at);
        let children = body.children();
        let (mut from, mut to) =
            (body.rank(Narrow, span.0), body.rank(Narrow, Local(span.1.0 - 1)));
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
        let bodies = if below.is_empty() { below } else { self.bodies_of(guard, draft, &below) };
        [&children[..from], &bodies, &children[to + 1..]].concat()
    }

    fn bodies_of<M: Media>(
        &self,
        guard: &Guard<'_, M>,
        draft: &mut Draft,
        children: &[Child],
    ) -> Vec<Child> {
        self.divided(children)
            .map(|part| Child::inner(part[0].low, draft.note_body(self.new_body(guard, part))))
            .collect()
    }

    fn retire_body<M: Media>(&self, guard: &Guard<'_, M>, body: u32) {
        let space = guard.space();
        self.bodies.retire(space.tag(), space.now(), body);
    }
}

/// The leaves after the exchange; `None` if the old leaf is not among `leaves`.
fn replaced(mut leaves: Vec<Child>, exchange: Exchange<'_>) -> Option<Vec<Child>> {
    let at = leaves.iter().position(|leaf| leaf.number == exchange.old.number)?;
    let end = at + 1 + usize::from(exchange.absorbed.is_some());
    debug_assert!(
        exchange.absorbed.is_none_or(|absorbed| leaves[at + 1].number == absorbed.number)
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
    fn discard(self, meta: &Metadata) {
        for cell in self.cells {
            meta.bodies.discard(meta.cells.get(cell).load().body());
            meta.cells.discard(cell);
        }
        self.bodies.into_iter().for_each(|body| meta.bodies.discard(body));
    }

    /// Retires the replaced bodies and cells, which no search finds any more.
    fn retire<M: Media>(self, guard: &Guard<'_, M>, meta: &Metadata) {
        let (tag, now) = (guard.space().tag(), guard.space().now());
        self.old_cells.into_iter().for_each(|cell| meta.cells.retire(tag, now, cell));
        self.old_bodies.into_iter().for_each(|body| meta.bodies.retire(tag, now, body));
    }
}
