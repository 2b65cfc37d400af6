//! The figures of FAST & FAIR.

use super::{latency, node_size, range, threads, tpcc};
use crate::Result;
use crate::paper::row::{Check, Finding, PaperRow};
use crate::paper::scale::PaperScale;

const PAPER: &str = "FAST & FAIR";

pub(in crate::paper) const ROWS: &[PaperRow] = &[
    PaperRow {
        paper: PAPER,
        figure: "fig 3",
        title: "Node size, linear and binary search",
        claim: "Inserts slow down as nodes grow; below 4 KB binary search is slower than linear; nodes of \
                512 bytes and 1 KB are best over all.",
        missing: &[],
        measure: node_size::measure,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 4",
        title: "Range queries by selection ratio, read latency 300 ns",
        claim: "Up to 20 times as fast as a SkipList, 6 to 27 % faster than FP-tree, 25 to 33 % faster than \
                wB+-tree; the radix tree WORT does poorly.",
        missing: &["SkipList", "FP-tree", "wB+-tree", "WORT"],
        measure: range::measure,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 5",
        title: "Where the time of an insert goes, by latency of the memory",
        claim: "FAST+FAIR, FP-tree and WORT are comparable, ahead of wB+-tree and SkipList; 4.2 lines are \
                flushed per insert; logging costs 7 to 18 % more.",
        missing: &["FP-tree", "WORT", "wB+-tree", "SkipList", "FAST+Logging"],
        measure: latency::inserts,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 6(a)",
        title: "Lookups by read latency",
        claim: "Lookups slow down by less than the latency grows: the lines of a node are fetched together. \
                WORT takes twice the time at 900 ns, though it misses less often (4.9 to 8.3).",
        missing: &["FP-tree", "WORT", "wB+-tree", "SkipList"],
        measure: latency::lookups,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 6(b)",
        title: "Inserts by write latency",
        claim: "WORT, which flushes least, is best where writes are slow; FAST+FAIR is ahead of FP-tree, \
                wB+-tree and SkipList.",
        missing: &["FP-tree", "WORT", "wB+-tree", "SkipList"],
        measure: latency::writes,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 6(c)",
        title: "Barriers on a processor that reorders stores",
        claim: "16.2 barriers per insert where stores are not ordered (FP-tree 6.6); ahead all the same \
                where writes are slow.",
        missing: &["an ARM processor", "FP-tree", "wB+-tree"],
        measure: unordered,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 7",
        title: "TPC-C's transactions in four mixes",
        claim: "FAST+FAIR is first in every mix, from the one with most new orders (W1) to the one with most order \
                statuses (W4); WORT suffers on ranges.",
        missing: &["FP-tree", "WORT", "wB+-tree", "SkipList"],
        measure: tpcc::measure,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 8(a)",
        title: "Lookups by threads",
        claim: "11.7 times the throughput with 16 threads; FP-tree stops at 8, B-link tree at 4.",
        missing: &["FP-tree", "B-link tree", "SkipList", "FAST+FAIR+LeafLocks"],
        measure: threads::lookups,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 8(b)",
        title: "Inserts by threads",
        claim: "12.5 times the throughput with 16 threads (FP-tree 7.7, B-link tree 4.4).",
        missing: &["FP-tree", "B-link tree", "SkipList", "FAST+FAIR+LeafLocks"],
        measure: threads::inserts,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 8(c)",
        title: "4 inserts, 16 lookups, 1 remove, by threads",
        claim: "11.44 times the throughput with 16 threads.",
        missing: &["FP-tree", "B-link tree", "SkipList", "FAST+FAIR+LeafLocks"],
        measure: threads::mixed,
    },
];

/// What only a processor with another memory model shows.
fn unordered(_: &PaperScale) -> Result<Finding> {
    if cfg!(target_arch = "aarch64") {
        return Ok(Finding {
            setup: "on AArch64 every Release store is an instruction of its own, no barrier".into(),
            plots: Vec::new(),
            checks: vec![Check::unknown("barriers per insert", "none", "no barrier is executed")],
        });
    }
    Ok(Finding {
        setup: "not run: this processor keeps the order of stores".into(),
        plots: Vec::new(),
        checks: vec![Check::unknown(
            "barriers per insert, and what they cost",
            "not measured",
            "x86-64 keeps the order of stores; on AArch64 the order is made by stlr, not by dmb, so that \
             there is nothing to count that the paper counts",
        )],
    })
}
