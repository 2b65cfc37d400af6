//! What is measured, and how much of it.

use std::time::Duration;

use crate::contender::Contender;
use crate::results::Role;
use crate::store::Shape;
use crate::suite::Suite;
use crate::workload::plain::{Operation, Sizes};

/// The operations of every section, in the order of its columns.
pub(super) const OPERATIONS: [Operation; 5] =
    [Operation::Load, Operation::Get, Operation::Miss, Operation::Update, Operation::Scan];

/// One table: the same entries in several stores.
#[derive(Debug, Clone)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// The stores, in the order of its rows.
    pub contenders: Vec<Contender>,
    /// A store whose round takes longer has one round.
    pub patience: Option<Duration>,
    pub(super) sizes: Sizes,
    pub(super) shape: Shape,
}

impl Section {
    fn new(what: &str, keys: u64, shape: Shape, contenders: &[Contender]) -> Self {
        let takes = |c: &Contender| c.takes(shape) && c.is_built();
        let contenders = contenders.iter().copied().filter(takes).collect();
        // Enough operations for a time that can be measured, of a small map several for each key.
        let sizes = Sizes { keys, operations: (keys / 10).max(keys.min(200_000)) };
        let title = format!("{} {what}", counted(keys));
        Self { title, contenders, patience: None, sizes, shape }
    }

    /// The workloads of this table.
    pub fn suite(&self) -> Suite {
        Suite::plain(&self.title, self.sizes, self.shape, &OPERATIONS)
    }
}

/// `0.1 M`, `10 M`.
fn counted(keys: u64) -> String {
    format!("{} M", keys as f64 / 1e6)
}

/// All tables.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Tables of throughput.
    pub sections: Vec<Section>,
    /// How often each throughput is measured, at most.
    pub rounds: u32,
    /// The stores that are killed and opened again.
    pub killed: Vec<Contender>,
    /// The integers that each of them then has.
    pub killed_keys: u64,
    /// The integers of each store that is asked for its huge pages.
    pub backed_keys: u64,
}

impl Plan {
    /// The whole. Only LMDB and the indexes of ours take part in the
    /// largest sections.
    pub fn full() -> Self {
        Self::of(3, [100_000, 1_000_000, 10_000_000], [200_000, 2_000_000])
    }

    /// A smoke test: seconds, and figures that mean nothing.
    pub fn quick() -> Self {
        Self::of(1, [2_000, 5_000, 20_000], [2_000, 5_000])
    }

    fn of(rounds: u32, integers: [u64; 3], strings: [u64; 2]) -> Self {
        let persistent = |c: &Contender| c.role() != Role::VolatileBound;
        let all: Vec<_> = Contender::usual().filter(persistent).collect();
        let few = [Contender::FastFair, Contender::NbTree, Contender::Lmdb];
        let strings_too = [Contender::Roart, Contender::Lmdb];
        // Those that commit each write by itself would take most of the time.
        let patient = |section| Section { patience: Some(Duration::from_secs(10)), ..section };
        let of_integers = |keys, who: &[Contender]| {
            let who: Vec<_> = who.iter().copied().filter(|&c| c != Contender::Roart).collect();
            Section::new("integers, values of 8 bytes", keys, Shape::WORDS, &who)
        };
        // Of strings the kind that a map has unless another is asked for. `endura bench which` has the others.
        let of_strings = |keys, who: &[Contender]| {
            let who: Vec<_> = who.iter().copied().filter(|&c| c != Contender::FastFair).collect();
            Section::new("keys of 24 bytes, values of 100", keys, Shape::STRINGS, &who)
        };
        let [small, medium, large] = integers;
        let [few_strings, many_strings] = strings;
        // The largest first: the later ones have fewer rounds on a slow machine.
        let sections = vec![
            of_integers(large, &few),
            of_strings(many_strings, &strings_too),
            patient(of_integers(small, &all)),
            patient(of_integers(medium, &all)),
            patient(of_strings(few_strings, &all)),
        ];
        Self { sections, rounds, killed: all, killed_keys: medium, backed_keys: few_strings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_has_lmdb_and_an_index_of_ours() {
        for plan in [Plan::full(), Plan::quick()] {
            for section in plan.sections {
                let has = |c| section.contenders.contains(&c);
                let ours = Contender::ours().filter(|&c| has(c)).count();
                assert!(has(Contender::Lmdb) && ours > 0, "{section:?}");
                assert_eq!(section.suite().stages.len(), OPERATIONS.len() - 1);
            }
        }
    }
}
