//! The goals themselves.

use endura::Kind;
use endura_engine::media::MediaChoice;

use super::race::{Goal, Measure, Race};
use crate::contender::Contender;
use crate::store::Shape;
use crate::workload::plain::Operation::{
    Get, GetMany, Insert, Load, Miss, Remove, Scan, Update, Zipf,
};

/// Ten million numbers, both with the promise to survive SIGKILL.
const NUMBERS: Race = Race {
    name: "",
    kind: Kind::FastFair,
    shape: Shape::WORDS,
    keys: 10_000_000,
    keys_per_operation: 20,
    peer: Contender::Lmdb,
    media: MediaChoice::PageCache,
    threads: &[1, 2],
    goals: &[],
};

/// All races, the goals of one index after the other's.
pub const RACES: [Race; 8] = [
    Race { name: "fast-fair", goals: FAST_FAIR, ..NUMBERS },
    Race {
        name: "fast-fair-durable",
        media: MediaChoice::Clwb,
        threads: &[1],
        goals: &[Goal::times_peer(Load, 1.3, Some(1.6))],
        ..NUMBERS
    },
    Race { name: "nbtree", kind: Kind::NbTree, goals: NBTREE, ..NUMBERS },
    Race {
        name: "nbtree-durable",
        kind: Kind::NbTree,
        media: MediaChoice::Clwb,
        threads: &[1],
        goals: &[Goal::times_peer(Insert, 3.0, None), Goal::times_peer(Update, 4.0, None)],
        ..NUMBERS
    },
    Race {
        name: "nbtree-tail",
        kind: Kind::NbTree,
        keys_per_operation: 1,
        peer: Contender::FastFair,
        threads: &[16],
        goals: &[Goal {
            operation: Zipf,
            measure: Measure::TailBesidePeer,
            asked: 1.25,
            aim: None,
            bound: None,
        }],
        ..NUMBERS
    },
    Race { name: "roart", goals: ROART, ..STRINGS },
    Race {
        name: "roart-durable",
        media: MediaChoice::Clwb,
        threads: &[1],
        goals: &[Goal::times_peer(Load, 2.5, None)],
        ..STRINGS
    },
    Race {
        name: "roart-u64",
        kind: Kind::Roart,
        peer: Contender::Congee,
        threads: &[1],
        goals: &[Goal::times_peer(Get, 2.5, None), Goal::times_own_get(Miss, 1.5)],
        ..NUMBERS
    },
];

const TWO_NODES: &str = "two nodes that no cache holds, one after the other: a program that does nothing but these two loads and \
                         the search in the nodes is 3.2 times as fast as LMDB (design.md, \"What bounds a lookup\")";

const LEAVES: &str = "every line of a leaf is fetched, a third of them empty; asked for further ahead they only wait for \
                      memory's bandwidth (design.md, \"What bounds a lookup\")";

const AHEAD: &str = "lookups that follow each other overlap by themselves, as far as the processor looks ahead: the \
                     faster a single one, the less a batch can gain";

const RECORDS: &str = "each record lies in lines and a page of its own: at a random place it takes longer to fetch than \
                       LMDB's neighbour in the same page (trees.md, \"What bounds a scan\"; endura bench floor --bytes 320M)";

const BESIDE: &str = "beside a busy neighbour on the same core its lookups lose more than a third, LMDB's an eighth: 4.8 and 6.8 \
                      times as fast in a quiet hour (benchmarks.md, \"How times are measured\" and \"Figures\")";

const LENT: &str = "new pages that a host has to lend first; on a guest that keeps its free memory 5.1 times as fast \
                    (benchmarks.md, \"Figures\")";

const FAST_FAIR: &[Goal] = &[
    Goal::times_peer(Load, 2.5, Some(3.5)),
    Goal::times_peer(Insert, 2.5, None),
    Goal::times_peer(Get, 3.5, Some(5.0)).bounded_by(TWO_NODES),
    Goal::times_peer(Miss, 3.5, None).bounded_by(TWO_NODES),
    Goal::times_peer(Scan, 4.0, Some(7.0)).bounded_by(LEAVES),
    Goal::times_peer(Update, 2.5, None),
    Goal::times_own_get(GetMany, 3.0).bounded_by(AHEAD),
    Goal::times_one_thread(Load, 1.7),
    Goal::times_one_thread(Insert, 1.7),
    Goal::times_one_thread(Get, 1.7),
    Goal::times_one_thread(Miss, 1.7),
    Goal::times_one_thread(GetMany, 1.7),
    Goal::times_one_thread(Scan, 1.7),
    Goal::times_one_thread(Update, 1.7),
    Goal::times_one_thread(Zipf, 1.7),
    Goal::times_one_thread(Remove, 1.7),
];

const NBTREE: &[Goal] = &[
    Goal::times_peer(Load, 5.0, None).bounded_by(LENT),
    Goal::times_peer(Insert, 4.0, Some(5.0)).bounded_by(LENT),
    Goal::times_peer(Get, 4.5, Some(6.0)).bounded_by(BESIDE),
    Goal::times_peer(Miss, 6.0, None).bounded_by(BESIDE),
    Goal::times_peer(Scan, 2.0, Some(3.0)),
    Goal::times_peer(Update, 4.5, Some(6.0)),
    Goal::times_peer(Remove, 4.0, None),
    Goal::times_own_get(GetMany, 3.0).bounded_by(AHEAD),
    Goal::times_one_thread(Load, 1.8),
    Goal::times_one_thread(Insert, 1.8),
    Goal::times_one_thread(Get, 1.8),
    Goal::times_one_thread(Miss, 1.8),
    Goal::times_one_thread(GetMany, 1.8),
    Goal::times_one_thread(Scan, 1.8),
    Goal::times_one_thread(Update, 1.8),
    Goal::times_one_thread(Zipf, 1.8),
    Goal::times_one_thread(Remove, 1.8),
];

/// Two million byte strings.
const STRINGS: Race = Race { kind: Kind::Roart, shape: Shape::STRINGS, keys: 2_000_000, ..NUMBERS };

const ROART: &[Goal] = &[
    Goal::times_peer(Load, 3.5, Some(6.0)),
    Goal::times_peer(Get, 2.3, Some(2.7)),
    Goal::times_peer(Miss, 5.0, None),
    Goal::times_peer(Scan, 2.5, Some(3.3)).bounded_by(RECORDS),
    Goal::times_peer(Zipf, 2.5, None),
    Goal::times_one_thread(Get, 1.7),
    Goal::times_one_thread(Insert, 1.5),
];
