//! What campaigns do to pools.

use super::ops::{PoolOp, SLOTS};

use PoolOp::{Collect, Drop, Link, LinkAside, Make, Relieve, Rename, Reopen, Spend, Unlink};

/// A name that is in more than one line.
pub const LONG: &str = "second map, with a name beyond one line of sixty-four bytes";

/// A history of a pool, all of whose operations are to be crashed.
#[derive(Debug, Clone)]
pub struct History {
    /// What it is about.
    pub name: &'static str,
    /// What is durable beforehand.
    pub before: Vec<PoolOp>,
    /// What is crashed.
    pub ops: Vec<PoolOp>,
}

/// Allocates chunk number `size` of [`SIZES`](super::SIZES), and links it.
pub fn link(slot: usize, size: usize) -> PoolOp {
    Link { slot, size }
}

/// The same in a span that is set aside.
fn aside(slot: usize, size: usize) -> PoolOp {
    LinkAside { slot, size }
}

/// Every operation that a short sequence may have.
pub fn choices() -> Vec<PoolOp> {
    vec![
        link(0, 0),
        link(0, 2),
        link(1, 1),
        link(1, 5),
        Unlink(0),
        Unlink(1),
        Relieve,
        Make("first", 2),
        Drop("first"),
        Reopen,
    ]
}

/// What sequences set out from: an empty pool; one in use; one whose spans were freed; one that was
/// closed.
pub fn starts() -> [Vec<PoolOp>; 4] {
    let used = vec![link(2, 0), link(3, 5), link(4, 2), Make("first", 3), link(5, 0)];
    let mut freed = used.clone();
    freed.extend([Unlink(3), Unlink(4), Drop("first"), Unlink(2), Relieve]);
    let mut closed = freed.clone();
    closed.push(Reopen);
    [vec![], used, freed, closed]
}

/// After these, two units of page 0 are free, and only spans of one or two go there.
pub fn full() -> Vec<PoolOp> {
    vec![link(20, 6), link(21, 3)]
}

/// Longer ones.
pub fn histories() -> Vec<History> {
    let of = |name, before: &[PoolOp], ops| History { name, before: before.to_vec(), ops };
    let mut classes: Vec<PoolOp> =
        (0..3).flat_map(|size| [link(0, size), Unlink(0), Relieve]).collect();
    classes.extend([link(1, 0), link(0, 2), Unlink(1), Relieve, link(2, 1)]);
    let saved = vec![link(0, 0), link(1, 4), link(2, 2), Unlink(1), Reopen];
    let used_again = vec![link(3, 0), link(4, 1), link(5, 2), Reopen];
    let stranded = vec![
        link(2, 0),
        link(3, 5),
        link(4, 2),
        Make("first", 3),
        link(5, 0),
        link(6, 4),
        Unlink(4),
        Unlink(6),
    ];
    let closed_early = vec![Collect, Unlink(2), Reopen, link(0, 0), Collect, Reopen, link(1, 4)];
    let four: Vec<PoolOp> = (0..5).map(|slot| link(slot, 2)).collect();
    vec![
        of("growing", &[], (0..6).map(|i| link(i, i)).collect()),
        of("spans that change class", &[], classes),
        of("runs used again", &full(), runs()),
        of("closed", &[], saved.clone()),
        of("closed again", &saved, used_again),
        of("maps", &[], maps()),
        of("collected", &stranded, collected()),
        of("closed before all is collected", &stranded, closed_early),
        of("tails of spans", &[link(2, 1)], tails()),
        of("tails of two threads", &[], tails_of_two_threads()),
        of("renamed", &[Make("first", 2), Make(LONG, 3)], renamed()),
        of("spans taken together, the first freed last", &four, together([1, 0, 3, 2])),
        of("spans taken together, the first freed first", &four, together([0, 1, 2, 3])),
        of("pages cut again", &full(), cut_again()),
        of("shortened", &[], shortened()),
        of("grown inside a page, and by one", &[], grown()),
        // What the second thread links lies behind a span that the first one has taken for itself.
        of("spans of two threads", &[], vec![Spend(1, 1), link(0, 2)]),
        of("a page of two threads", &full(), vec![Spend(1, 6), link(0, 2)]),
        of("set aside", &[link(2, 1)], set_aside()),
        of("set aside, alone in a page", &full(), set_aside()),
        of("set aside between free units", &freed_between(), set_aside()),
    ]
}

/// Makes maps in new entries and in used ones.
pub fn maps() -> Vec<PoolOp> {
    vec![
        Make("first", 2),
        Drop("first"),
        Make(LONG, 3),
        Make("first", 4),
        Drop(LONG),
        Make("another", 5),
    ]
}

/// Gives maps other names, longer and shorter ones, one after the other; those that are taken and those that are
/// free again.
fn renamed() -> Vec<PoolOp> {
    vec![
        Rename("first", "another"),
        Rename(LONG, "first"),
        Rename("another", "first"),
        Rename("another", LONG),
        Make("another", 4),
        Drop("first"),
        Rename("another", "first"),
        Rename(LONG, "another"),
        Rename("no such map", LONG),
        Reopen,
        Rename("first", LONG),
        Make("first", 5),
    ]
}

/// Four chunks of 1 KiB go into a quarter of a span: a thread takes them all at once.
fn tails() -> Vec<PoolOp> {
    vec![
        link(0, 1),
        link(1, 1),
        Unlink(0),
        Relieve,
        link(3, 1),
        Reopen,
        link(4, 1),
        link(5, 1),
        link(0, 1),
        link(6, 1),
    ]
}

/// One thread uses the first quarter of a span up. Another one begins the next one, and has to give back what it has
/// cached. The first one links some of that.
fn tails_of_two_threads() -> Vec<PoolOp> {
    let idle = Unlink(SLOTS - 1);
    let mut ops: Vec<PoolOp> = (0..3).flat_map(|slot| [link(slot, 1), idle.clone()]).collect();
    ops.extend([link(3, 1), Spend(1, 1), Relieve, idle, link(4, 1)]);
    ops
}

fn runs() -> Vec<PoolOp> {
    vec![
        link(0, 5),
        Unlink(0),
        Relieve,
        // The second page of the run becomes one of spans while the first is another's.
        link(1, 6),
        link(2, 3),
        link(3, 3),
        Unlink(1),
        Unlink(2),
        Relieve,
        link(4, 0),
        Unlink(3),
        Unlink(4),
        Relieve,
        link(5, 4),
        Unlink(5),
        Relieve,
        link(6, 5),
    ]
}

/// Frees four neighbouring runs of five units, two threads in turn, and takes one of eighteen in their place: what is left
/// begins inside the fourth.
fn together([a, b, c, d]: [usize; 4]) -> Vec<PoolOp> {
    vec![
        Unlink(a),
        Relieve,
        Unlink(b),
        Unlink(c),
        Relieve,
        Unlink(d),
        Relieve,
        link(5, 3),
        Unlink(5),
        Relieve,
        link(6, 0),
        link(7, 2),
    ]
}

/// Empties a page, and uses it for spans again: at once, and after a run of pages.
fn cut_again() -> Vec<PoolOp> {
    vec![
        link(0, 0),
        link(1, 2),
        Unlink(0),
        Unlink(1),
        Relieve,
        link(2, 1),
        link(3, 6),
        Unlink(2),
        Unlink(3),
        Relieve,
        link(4, 4),
        Unlink(4),
        Relieve,
        link(5, 3),
        link(6, 0),
    ]
}

/// Closes after which the pool is shorter: by pages, and by less than one.
fn shortened() -> Vec<PoolOp> {
    vec![
        link(0, 0),
        link(1, 5),
        link(2, 6),
        Unlink(1),
        Relieve,
        Reopen,
        link(3, 5),
        Unlink(3),
        Unlink(2),
        Relieve,
        Reopen,
        link(4, 2),
        link(5, 6),
        Unlink(5),
        Reopen,
        link(6, 3),
    ]
}

fn grown() -> Vec<PoolOp> {
    vec![link(0, 2), link(1, 3), link(2, 3), link(3, 6), link(4, 2), link(5, 6), link(6, 4)]
}

/// Chunks in place of spans that were set aside: of two classes, and with a part of the span, or all of it.
fn set_aside() -> Vec<PoolOp> {
    vec![
        aside(0, 0),
        aside(1, 2),
        Unlink(0),
        Relieve,
        aside(3, 3),
        aside(0, 1),
        Unlink(1),
        Unlink(3),
        Relieve,
        aside(4, 2),
        Reopen,
        aside(5, 0),
        Unlink(4),
        Relieve,
        aside(6, 1),
    ]
}

/// After these, there are free units before and behind those that are taken next.
fn freed_between() -> Vec<PoolOp> {
    let mut ops: Vec<PoolOp> = (7..12).map(|slot| link(slot, 2)).collect();
    ops.extend([Unlink(7), Unlink(9), Unlink(10), Relieve]);
    ops
}

fn collected() -> Vec<PoolOp> {
    let mut ops = vec![Collect, Unlink(2), Collect, Unlink(5), Relieve, link(7, 0)];
    ops.extend([Unlink(3), Drop("first")]);
    // Thirty words of links, three at a time; what else there is; the wait; the spans, a few at a time.
    ops.extend(vec![Collect; 8]);
    ops.extend([link(8, 4), link(9, 0), Unlink(8), Collect, Relieve, link(10, 5)]);
    ops
}
