//! The table and the figures of ROART.

use super::{compare, counts, recovery, skew, space, techniques};
use crate::paper::row::PaperRow;
use crate::paper::servers::set_and_get;

const PAPER: &str = "ROART";
const OTHERS: &[&str] =
    &["P-ART", "PMwCAS-ART", "FAST&FAIR with keys of strings", "SkipList", "BzTree", "WORT"];

pub(in crate::paper) const ROWS: &[PaperRow] = &[
    PaperRow {
        paper: PAPER,
        figure: "table 4",
        title: "Flushes and fences of an insert, by the node it goes to",
        claim: "2 lines flushed and 2 fences into nodes of 4, 16, 48 and 256 children and for the split of a \
                leaf; 4 and 2 for that of a prefix.",
        missing: &["P-ART", "WORT"],
        measure: counts::measure,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 14",
        title: "Lookup, insert, update, remove, scan",
        claim: "Against P-ART, 1.2 times the lookups, 1.3 times the inserts and up to 1.65 times the scans; \
                scans close to FAST&FAIR's.",
        missing: OTHERS,
        measure: compare::operations,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 15",
        title: "Five mixes, by threads",
        claim: "Against P-ART 1.27 times the throughput with half lookups and half inserts, 1.17 with 95 % \
                lookups, 1.15 with lookups only, 1.52 with 95 % scans.",
        missing: OTHERS,
        measure: compare::mixes,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 16",
        title: "What each technique is worth",
        claim: "Selective persistence 13 % of inserts, 10.1 % of removes; entry compression 9.7 and 10.8 %; the \
                minimally ordered split 4.8 % of inserts; leaf compaction 17.2, 13.5, 14.7, 8.4 and 64.8 % of \
                lookups, inserts, updates, removes and scans.",
        missing: &[],
        measure: techniques::each,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 17",
        title: "Scans by length, with and without leaf compaction",
        claim: "Leaf compaction makes scans 1.07 to 2.01 times as fast, at least 1.65 above 100 keys.",
        missing: &[],
        measure: techniques::scans,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 18",
        title: "Keys of 8 bytes",
        claim: "ROART is ahead of FAST&FAIR on lookups and slightly behind on updates; FAST&FAIR is first on scans.",
        missing: &["P-ART", "PMwCAS-ART", "SkipList", "BzTree"],
        measure: compare::words,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 19",
        title: "Skew, half lookups, half updates",
        claim: "Throughput grows up to 0.85; from 0.5 to 0.99 ROART loses 28 %, P-ART 29.5 %, FAST&FAIR 80.3 %, \
                BzTree 87 %.",
        missing: &["P-ART", "BzTree"],
        measure: skew::measure,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 20",
        title: "Space by number of keys",
        claim: "More than P-ART below 8 M keys, less above.",
        missing: OTHERS,
        measure: space::measure,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 21(a)",
        title: "Recovery by number of keys",
        claim: "128 M keys: the structure in 19 s, with the reclamation of memory 27 s; linear in the data.",
        missing: &["P-ART"],
        measure: recovery::by_keys,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 21(b)",
        title: "Requests through a crash and a restart",
        claim: "Requests are served at once; more threads that reclaim memory end sooner and disturb more.",
        missing: &[],
        measure: recovery::timelines,
    },
    PaperRow {
        paper: PAPER,
        figure: "fig 23",
        title: "Set and get through memcached, one thread",
        claim: "1.07 and 1.06 times P-ART, 1.38 and 1.19 times FAST&FAIR.",
        missing: OTHERS,
        measure: set_and_get,
    },
];
