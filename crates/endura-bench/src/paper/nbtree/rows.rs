//! The table and the figures of NBTree.

use super::{counts, domains, latency, skew, space, threads};
use crate::paper::row::PaperRow;
use crate::paper::servers::ycsb_a;

const PAPER: &str = "NBTree";
const OTHERS: &[&str] =
    &["NVTree", "wB+-tree", "FPTree", "RNTree", "BzTree", "uTree", "LB+-Tree", "DPTree"];

pub(in crate::paper) const ROWS: &[PaperRow] = &[
    PaperRow {
        paper: PAPER,
        figure: "table 1",
        title: "Flushes and lines of the medium per operation",
        claim: "NBTree: one flush and one line written for insert, remove and update, one line read for a \
                lookup. FAST&FAIR: O(n) flushes and lines for insert and remove, 1 for an update.",
        missing: OTHERS,
        measure: counts::measure,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 5",
        title: "Average latency, one thread, uniform, eADR",
        claim: "NBTree has the lowest latency of lookup, insert, update and remove.",
        missing: OTHERS,
        measure: latency::measure,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 6",
        title: "Throughput with all threads, uniform; leaves of one layer and of two",
        claim: "With 56 threads 1.6 to 7.5 times the inserts of the others, 1.5 to 5.0 the updates, 2.0 to 4.9 \
                the removes, 1.6 to 5.1 the lookups; leaves of two layers give 2.4 times the inserts of \
                leaves of one, and up to 29 % more of the rest.",
        missing: OTHERS,
        measure: threads::uniform,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 7",
        title: "Space, in DRAM and on the medium",
        claim: "DRAM and persistent memory are used about 1 to 7, at 16 M as at 32 M keys.",
        missing: OTHERS,
        measure: space::measure,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 8",
        title: "Half lookups, half updates, zipfian 0.99, by threads",
        claim: "Almost linear up to 56 threads, where others stop at 14: 6.0 times their throughput, 1/32 of \
                their p99. Without lock-free writes 5.5 times slower; without lock-free reads a further 1.8.",
        missing: OTHERS,
        measure: threads::zipfian,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 9(a,c)",
        title: "Skew, half lookups, half updates",
        claim: "NBTree gains with skew, the others fall above 0.8.",
        missing: OTHERS,
        measure: skew::skew,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 9(b,d)",
        title: "Part of writes, zipfian 0.99",
        claim: "With writes only 11 times the throughput of the others and 1/43 of their p99.",
        missing: OTHERS,
        measure: skew::writes,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 11",
        title: "What flushes and the medium cost, ADR and eADR, one thread",
        claim: "NBTree pays least in both; one flush per write on ADR.",
        missing: OTHERS,
        measure: domains::media_cost,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 12",
        title: "ADR and eADR, half lookups, half updates, zipfian 0.99",
        claim: "NBTree is first in both and gains most from eADR.",
        missing: OTHERS,
        measure: domains::throughput,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 13",
        title: "On DRAM alone",
        claim: "1.7 times the lookups and 1.8 times the inserts of persistent memory; comparable with ART.",
        missing: OTHERS,
        measure: domains::dram,
    },
    PaperRow {
        paper: PAPER,
        figure: "sec 6.6",
        title: "YCSB-A through Redis",
        claim: "1.13 to 1.53 times the requests of the others, with 28 threads of the server.",
        missing: OTHERS,
        measure: ycsb_a,
    },
];
