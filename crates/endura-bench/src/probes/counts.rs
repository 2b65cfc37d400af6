//! Exact numbers of flushes, fences, lines and allocations per operation, from a counting medium.
//!
//! One thread, keys in a fixed order: the same figures on every run and every machine. (Timing-dependent
//! is only what the pool's epochs free, and when; counts of an index do not hang on it.)

use endura::{Kind, NodeLayout};
use endura_engine::index::{FairBytes, NarrowLeaves, NbBytes, NbTree, Wide, default_layout};
use endura_engine::media::{Domain, Heap};
use endura_engine::tree::fast_fair::LineBinary;
use endura_engine::tree::roart;
use endura_variants::fast_fair::Paper;
use endura_variants::fast_fair_bytes::Pointers;
use endura_variants::handles::{ByteMap, WordMap};
use endura_variants::media::{Counting, Counts};
use endura_variants::sessions;

use crate::experiment::room;
use crate::keys::{key, value};
use crate::store::{ByteTreeClient, Client, Shape};
use crate::{Error, Result};

/// What one kind of operation asked of its medium, per operation.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
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
    /// Lines of the medium loaded from, each once in an operation.
    pub lines_read: f64,
    /// Lines written back while they held something new, and lines written past the cache; on a medium
    /// that is not flushed nothing says when a line is written.
    pub lines_written: f64,
    /// Chunks of the pool handed out, per operation.
    pub allocations: f64,
}

/// How large the nodes of FAST & FAIR are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeSizes {
    /// As in a pool: what was chosen, or else as the domain wants it.
    Pool(Option<NodeLayout>),
    /// As in the paper: no map of a pool has them. Of byte strings: nodes of the sizes of a pool, with a pointer in the place
    /// of each key.
    Paper,
}

/// What is counted.
#[derive(Debug, Clone, Copy)]
pub struct CountSetup {
    /// Keys that are loaded, and operations of each kind.
    pub keys: u64,
    /// The index.
    pub kind: Kind,
    /// Which flushes and fences the medium runs: all on ADR, the fence at the end of an operation on
    /// eADR, none on the page cache.
    pub domain: Domain,
    /// Keys and values, where the index takes byte strings.
    pub shape: Shape,
    /// The nodes of FAST & FAIR.
    pub nodes: NodeSizes,
}

/// Entries of the scans that are counted.
pub const SCAN: usize = 100;

/// Runs `keys` operations of each kind on an empty map, and divides what the medium counted by them.
pub fn counts(counted: CountSetup) -> Result<Vec<PerOperation>> {
    let CountSetup { keys, shape, .. } = counted;
    shape.check()?;
    let heap = match counted.domain {
        Domain::Adr => Heap::adr(room(keys, shape)),
        _ => Heap::new(room(keys, shape)),
    };
    let space = sessions::first(Counting::by_line(heap))?;
    let count = Counter { keys, domain: counted.domain, medium: space.media() };
    match counted.kind {
        Kind::NbTree if shape != Shape::WORDS => {
            let map = ByteMap::over(NbBytes::open_strings(&space, "counts")?);
            count.rows(&mut ByteTreeClient::new(map, shape))
        }
        Kind::NbTree => count.rows(&mut WordMap::over(NbTree::open(&space, "counts")?)),
        Kind::Roart => {
            let map = ByteMap::over(roart::Tree::<Counting<Heap>>::open(&space, "counts")?);
            count.rows(&mut ByteTreeClient::new(map, shape))
        }
        Kind::FastFair if shape != Shape::WORDS => match counted.nodes {
            NodeSizes::Pool(_) => {
                let map = ByteMap::over(FairBytes::open(&space, "counts")?);
                count.rows(&mut ByteTreeClient::new(map, shape))
            }
            NodeSizes::Paper => {
                let map = ByteMap::over(Pointers::open(&space, "counts")?);
                count.rows(&mut ByteTreeClient::new(map, shape))
            }
        },
        Kind::FastFair => match counted.nodes {
            NodeSizes::Pool(layout) => {
                match layout.unwrap_or_else(|| default_layout(space.media())) {
                    NodeLayout::Wide => {
                        count.rows(&mut WordMap::over(Wide::open(&space, "counts")?))
                    }
                    NodeLayout::NarrowLeaves => {
                        count.rows(&mut WordMap::over(NarrowLeaves::open(&space, "counts")?))
                    }
                    _ => Err(Error::Config("a layout whose calls are not counted")),
                }
            }
            NodeSizes::Paper => {
                count.rows(&mut WordMap::over(Paper::<_, LineBinary>::open(&space, "counts")?))
            }
        },
        _ => Err(Error::Config("an index whose calls are not counted")),
    }
}

/// The counters of a medium, looked at before and after `keys` operations.
struct Counter<'m> {
    keys: u64,
    domain: Domain,
    medium: &'m Counting<Heap>,
}

impl Counter<'_> {
    fn rows(&self, client: &mut dyn Client) -> Result<Vec<PerOperation>> {
        let (keys, scans) = (self.keys, self.keys.div_ceil(SCAN as u64));
        let mut rows = vec![
            self.row("insert", keys, |i| client.insert(key(i), value(i)))?,
            self.row("get", keys, |i| client.get(key(i)).map(drop))?,
            self.row("miss", keys, |i| client.get(key((1 << 48) + i)).map(drop))?,
            self.row("scan 100", scans, |i| client.scan(key(i), SCAN).map(drop))?,
            self.row("update", keys, |i| client.update(key(i), i).map(drop))?,
        ];
        rows.push(self.row("remove", keys, |i| client.remove(key(i)).map(drop))?);
        Ok(rows)
    }

    fn row(
        &self,
        operation: &'static str,
        operations: u64,
        mut run: impl FnMut(u64) -> Result<()>,
    ) -> Result<PerOperation> {
        let before = self.medium.counts();
        for i in 0..operations {
            self.medium.begin();
            run(i)?;
        }
        let delta = self.medium.counts().since(before);
        let per = |n: u64| n as f64 / operations.max(1) as f64;
        let Counts { line_flushes, fences, drains, stores, loads, .. } = delta;
        let (line_flushes, fences) = match self.domain {
            Domain::Adr => (line_flushes, fences),
            Domain::Eadr => (0, drains),
            _ => (0, 0),
        };
        let lines_written = if line_flushes == 0 { 0 } else { delta.lines_written };
        Ok(PerOperation {
            operation,
            operations,
            line_flushes: per(line_flushes),
            fences: per(fences),
            stores: per(stores),
            loads: per(loads),
            lines_read: per(delta.lines_read),
            lines_written: per(lines_written),
            allocations: per(delta.allocations),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: Kind, domain: Domain) -> Vec<PerOperation> {
        let shape = if kind == Kind::Roart { Shape::STRINGS } else { Shape::WORDS };
        of_shape(kind, domain, shape)
    }

    fn of_shape(kind: Kind, domain: Domain, shape: Shape) -> Vec<PerOperation> {
        counts(CountSetup { keys: 20_000, kind, domain, shape, nodes: NodeSizes::Pool(None) })
            .expect("counts")
    }

    fn row(rows: &[PerOperation], name: &str) -> PerOperation {
        *rows.iter().find(|row| row.operation == name).expect("a row")
    }

    #[test]
    fn a_lookup_writes_nothing_and_an_update_is_one_line() {
        let rows = of(Kind::FastFair, Domain::Adr);
        let (get, update) = (row(&rows, "get"), row(&rows, "update"));
        assert_eq!((get.line_flushes, get.fences, get.stores), (0.0, 0.0, 0.0));
        assert_eq!((get.lines_written, get.allocations), (0.0, 0.0));
        assert!((3.0..30.0).contains(&get.lines_read), "{get:?}");
        assert_eq!((update.line_flushes, update.fences, update.lines_written), (1.0, 1.0, 1.0));
        let insert = row(&rows, "insert");
        assert!(insert.line_flushes >= 1.0 && insert.fences >= 1.0);
        assert!(insert.loads > insert.stores && insert.allocations < 0.1);
        assert!(insert.lines_written <= insert.line_flushes);
    }

    #[test]
    fn an_update_of_strings_is_a_record_and_a_line() {
        let rows = of_shape(Kind::FastFair, Domain::Adr, Shape::STRINGS);
        let (get, update) = (row(&rows, "get"), row(&rows, "update"));
        assert_eq!((get.line_flushes, get.fences, get.stores), (0.0, 0.0, 0.0));
        // A signpost that a load has left is settled here and there.
        assert!((4.0..4.01).contains(&update.line_flushes), "{update:?}");
        assert!((2.0..2.01).contains(&update.fences), "{update:?}");
    }

    /// The record's lines and fence, and one of each for the entry.
    #[test]
    fn an_nbtree_of_strings_writes_a_record_and_one_line() {
        let rows = of_shape(Kind::NbTree, Domain::Adr, Shape::STRINGS);
        let (get, update, insert) = (row(&rows, "get"), row(&rows, "update"), row(&rows, "insert"));
        assert_eq!((get.line_flushes, get.fences, get.stores), (0.0, 0.0, 0.0));
        // The first record in a part of a span flushes the header of the span.
        assert!((4.0..4.01).contains(&update.line_flushes), "{update:?}");
        assert!((2.0..2.01).contains(&update.fences), "{update:?}");
        assert!((4.0..5.2).contains(&insert.line_flushes), "{insert:?}");
        assert!((2.0..2.2).contains(&insert.fences), "{insert:?}");
    }

    #[test]
    fn an_nbtree_writes_one_line_and_little_more() {
        let rows = of(Kind::NbTree, Domain::Adr);
        let (get, update, insert) = (row(&rows, "get"), row(&rows, "update"), row(&rows, "insert"));
        assert_eq!((get.line_flushes, get.fences, get.stores), (0.0, 0.0, 0.0));
        assert!((1.0..1.5).contains(&get.lines_read), "{get:?}");
        assert_eq!((update.line_flushes, update.fences), (1.0, 1.0));
        assert!((1.0..2.2).contains(&insert.line_flushes), "{insert:?}");
        assert!((1.0..1.2).contains(&insert.fences), "{insert:?}");
    }

    #[test]
    fn a_roart_asks_for_what_the_paper_says_and_little_more() {
        let rows = of(Kind::Roart, Domain::Adr);
        for read in ["get", "miss", "scan 100"] {
            let row = row(&rows, read);
            assert_eq!((row.line_flushes, row.fences), (0.0, 0.0), "{read}");
            // A scan that has sorted an array leaves the order there.
            assert!(row.stores == 0.0 || read == "scan 100", "{read}");
        }
        let insert = row(&rows, "insert");
        assert!(insert.line_flushes >= 2.0 && row(&rows, "remove").line_flushes >= 1.0);
        assert!(insert.loads > row(&rows, "miss").loads && insert.allocations >= 1.0);
    }

    #[test]
    fn other_domains_run_fewer_flushes_and_fences() {
        let eadr = row(&of(Kind::FastFair, Domain::Eadr), "insert");
        assert_eq!((eadr.line_flushes, eadr.lines_written), (0.0, 0.0));
        assert!((1.0..1.2).contains(&eadr.fences), "{eadr:?}");
        let page_cache = row(&of(Kind::NbTree, Domain::PageCache), "insert");
        assert_eq!((page_cache.line_flushes, page_cache.fences), (0.0, 0.0));
        assert!(page_cache.lines_read >= 1.0);
    }

    #[test]
    fn a_second_run_counts_the_same() {
        for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
            assert_eq!(of(kind, Domain::Adr), of(kind, Domain::Adr), "{kind}");
        }
    }
}
