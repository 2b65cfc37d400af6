//! What campaigns do to pools.

use super::ops::PoolOp;

use PoolOp::{Collect, Drop, Link, Make, Relieve, Rename, Reopen, Spend, Unlink};

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

/// Every operation that a short sequence may have.
pub fn choices() -> Vec<PoolOp> {
    vec![
        link(0, 0),
        link(0, 2),
        link(1, 1),
        link(1, 4),
        Unlink(0),
        Unlink(1),
        Relieve,
        Make("first", 2),
        Drop("first"),
        Reopen,
    ]
}

/// What sequences set out from: an empty pool; one in use; one whose pages were freed; one that was
/// closed.
pub fn starts() -> [Vec<PoolOp>; 4] {
    let used = vec![link(2, 0), link(3, 4), link(4, 2), Make("first", 3), link(5, 0)];
    let mut freed = used.clone();
    freed.extend([Unlink(3), Unlink(4), Drop("first"), Unlink(2), Relieve]);
    let mut closed = freed.clone();
    closed.push(Reopen);
    [vec![], used, freed, closed]
}

/// Longer ones.
pub fn histories() -> Vec<History> {
    let of = |name, before: &[PoolOp], ops| History { name, before: before.to_vec(), ops };
    let mut classes: Vec<PoolOp> =
        (0..3).flat_map(|size| [link(0, size), Unlink(0), Relieve]).collect();
    classes.extend([link(1, 0), link(0, 2), Unlink(1), Relieve, link(2, 1)]);
    let saved = vec![link(0, 0), link(1, 3), link(2, 2), Unlink(1), Reopen];
    let used_again = vec![link(3, 0), link(4, 1), link(5, 2), Reopen];
    let stranded = vec![
        link(2, 0),
        link(3, 4),
        link(4, 2),
        Make("first", 3),
        link(5, 0),
        link(6, 3),
        Unlink(4),
        Unlink(6),
    ];
    let closed_early = vec![Collect, Unlink(2), Reopen, link(0, 0), Collect, Reopen, link(1, 3)];
    vec![
        of("growing", &[], (0..5).map(|i| link(i, i)).collect()),
        of("pages that change class", &[], classes),
        of("runs used again", &[], runs()),
        of("closed", &[], saved.clone()),
        of("closed again", &saved, used_again),
        of("maps", &[], maps()),
        of("collected", &stranded, collected()),
        of("closed before all is collected", &stranded, closed_early),
        of("tails of pages", &[link(2, 2)], tails()),
        // 63 chunks go into the first 32nd of a page. The second thread begins the next one and takes some
        // of it; the first one links another.
        of("tails of two threads", &[], vec![Spend(32), Spend(33), link(0, 1)]),
        of("renamed", &[Make("first", 2), Make(LONG, 3)], renamed()),
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

/// Two chunks of 32 KiB are all that goes into a 32nd of a page: every second one shortens the tail.
fn tails() -> Vec<PoolOp> {
    vec![
        link(0, 2),
        link(1, 2),
        Unlink(0),
        Relieve,
        link(3, 2),
        Reopen,
        link(4, 2),
        link(5, 2),
        link(0, 2),
        link(6, 2),
    ]
}

fn runs() -> Vec<PoolOp> {
    vec![
        link(0, 4),
        Unlink(0),
        Relieve,
        // The second page of the run becomes one of chunks while the first is another's.
        link(1, 0),
        link(2, 1),
        link(3, 2),
        Unlink(1),
        Relieve,
        link(4, 0),
        Unlink(2),
        Unlink(3),
        Relieve,
        link(5, 3),
        Unlink(5),
        Relieve,
        link(6, 4),
    ]
}

fn collected() -> Vec<PoolOp> {
    let mut ops = vec![Collect, Unlink(2), Collect, Unlink(5), Relieve, link(7, 0)];
    ops.extend([Unlink(3), Drop("first")]);
    // Thirty words of links, three at a time; what else there is; the wait; the pages, two at a time.
    ops.extend(vec![Collect; 8]);
    ops.extend([link(8, 3), link(9, 0), Unlink(8), Collect, Relieve, link(10, 4)]);
    ops
}
