//! Exact numbers of flushes, fences and stores per operation, from a counting medium.

use std::sync::Arc;

use endura::media::{Counting, Counts, Heap};
use endura::pool::{Session, Space};
use endura::tree::{nbtree, roart};
use endura::{AnyLayout, ByteMap, Map, NodeLayout, OrderedMap};

use crate::Result;
use crate::keys::{key, value};
use crate::store::{RoartSession, Session as _, Shape};

/// What one kind of operation asked of its medium, per operation.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct PerOperation {
    /// What was run.
    pub operation: &'static str,
    /// How many.
    pub operations: u64,
    /// Cache lines whose write-back was asked for, per operation.
    pub line_flushes: f64,
    /// Fences, per operation.
    pub fences: f64,
    /// Words stored, per operation.
    pub stores: f64,
    /// Words loaded, per operation.
    pub loads: f64,
}

/// Runs `keys` operations of each kind on an empty map, one thread, and divides what `counters`
/// says by them. The counters are those of the medium that `map` lies on.
///
/// # Errors
///
/// Whatever the map says.
pub fn counts<T: OrderedMap>(
    map: &T,
    keys: u64,
    counters: impl Fn() -> Counts,
) -> Result<Vec<PerOperation>> {
    let count = Counted { keys, counters };
    Ok(vec![
        count.row("insert", |i| Ok(map.insert(key(i), value(i)).map(drop)?))?,
        count.row("get", |i| Ok(map.get(key(i)).map(drop)?))?,
        count.row("miss", |i| Ok(map.get(key((1 << 48) + i)).map(drop)?))?,
        count.row("update", |i| Ok(map.update(key(i), i).map(drop)?))?,
        count.row("compare_exchange", |i| {
            Ok(map.compare_exchange(key(i), Some(i), Some(value(i))).map(drop)?)
        })?,
        count.row("remove", |i| Ok(map.remove(key(i)).map(drop)?))?,
    ])
}

/// The counters of a medium, looked at before and after `keys` operations.
struct Counted<C> {
    keys: u64,
    counters: C,
}

impl<C: Fn() -> Counts> Counted<C> {
    fn row(
        &self,
        operation: &'static str,
        mut run: impl FnMut(u64) -> Result<()>,
    ) -> Result<PerOperation> {
        let before = (self.counters)();
        (0..self.keys).try_for_each(&mut run)?;
        let delta = (self.counters)().since(before);
        let per = |n: u64| n as f64 / self.keys.max(1) as f64;
        Ok(PerOperation {
            operation,
            operations: self.keys,
            line_flushes: per(delta.line_flushes),
            fences: per(delta.fences),
            stores: per(delta.stores),
            loads: per(delta.loads),
        })
    }
}

/// [`counts`] of a FAST & FAIR map on plain memory that asks for every flush and fence that
/// persistent memory (ADR) needs.
///
/// # Errors
///
/// As for [`counts`].
pub fn counts_of_fast_fair(keys: u64, layout: Option<NodeLayout>) -> Result<Vec<PerOperation>> {
    let space = counted_space(keys)?;
    let map = Map::over(AnyLayout::open(&space, "counts", layout)?);
    counts(&map, keys, || space.media().counts())
}

/// The same of an NBTree map.
///
/// # Errors
///
/// As for [`counts`].
pub fn counts_of_nbtree(keys: u64) -> Result<Vec<PerOperation>> {
    let space = counted_space(keys)?;
    let map = Map::over(nbtree::Tree::<_, 128, 64>::open(&space, "counts")?);
    counts(&map, keys, || space.media().counts())
}

/// The same of a ROART map with keys and values of this shape.
///
/// # Errors
///
/// As for [`counts`], and [`Error::Config`](crate::Error::Config) for a shape that holds no numbers.
pub fn counts_of_roart(keys: u64, shape: Shape) -> Result<Vec<PerOperation>> {
    shape.check()?;
    let space = counted_space(keys * (1 + (shape.key_bytes + shape.value_bytes) as u64 / 16))?;
    let map = ByteMap::over(roart::Tree::<Counting<Heap>>::open(&space, "counts")?);
    let mut session = RoartSession::new(map, shape);
    let count = Counted { keys, counters: || space.media().counts() };
    Ok(vec![
        count.row("insert", |i| session.insert(key(i), value(i)))?,
        count.row("get", |i| session.get(key(i)).map(drop))?,
        count.row("miss", |i| session.get(key((1 << 48) + i)).map(drop))?,
        count.row("update", |i| session.update(key(i), i).map(drop))?,
        count.row("remove", |i| session.remove(key(i)).map(drop))?,
    ])
}

fn counted_space(keys: u64) -> Result<Arc<Space<Counting<Heap>>>> {
    // Twice what the nodes take, and some pages for a small map.
    let medium = Counting::new(Heap::adr((64 << 20) + 64 * keys));
    Space::format(&medium)?;
    let session = Session { generation: 1, clean: true, read_only: false };
    Ok(Arc::new(Space::mount(medium, session)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_writes_nothing_and_an_update_is_one_line() {
        let rows = counts_of_fast_fair(20_000, None).expect("counts");
        let of = |name| *rows.iter().find(|row| row.operation == name).expect("a row");
        assert_eq!((of("get").line_flushes, of("get").fences, of("get").stores), (0.0, 0.0, 0.0));
        assert_eq!((of("update").line_flushes, of("update").fences), (1.0, 1.0));
        assert!(of("insert").line_flushes >= 1.0 && of("insert").fences >= 1.0);
        assert!(of("insert").loads > of("insert").stores);
    }

    #[test]
    fn an_nbtree_writes_one_line_and_little_more() {
        let rows = counts_of_nbtree(20_000).expect("counts");
        let of = |name| *rows.iter().find(|row| row.operation == name).expect("a row");
        assert_eq!((of("get").line_flushes, of("get").fences, of("get").stores), (0.0, 0.0, 0.0));
        assert_eq!((of("update").line_flushes, of("update").fences), (1.0, 1.0));
        assert!((1.0..2.2).contains(&of("insert").line_flushes), "{rows:?}");
        assert!((1.0..1.2).contains(&of("insert").fences), "{rows:?}");
    }

    #[test]
    fn a_roart_asks_for_what_the_paper_says_and_little_more() {
        let rows = counts_of_roart(20_000, Shape::STRINGS).expect("counts");
        let of = |name| *rows.iter().find(|row| row.operation == name).expect("a row");
        for read in ["get", "miss"] {
            let row = of(read);
            assert_eq!((row.line_flushes, row.fences, row.stores), (0.0, 0.0, 0.0), "{read}");
        }
        assert!(of("insert").line_flushes >= 2.0 && of("remove").line_flushes >= 1.0);
        assert!(of("insert").loads > of("miss").loads);
    }
}
