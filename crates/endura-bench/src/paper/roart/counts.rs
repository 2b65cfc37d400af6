//! Table 4: exact counts of single inserts.

use endura_engine::media::Heap;
use endura_engine::tree::roart::{Full, Techniques, Tree};
use endura_variants::handles::ByteMap;
use endura_variants::media::Counting;
use endura_variants::roart::WithoutArrays;
use endura_variants::sessions;

use crate::Result;
use crate::figures::list;
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::paper::shape::middle;
use crate::results::plotting::{costs, exact, groups, series};

/// Line flushes and fences of each of these inserts, in their order.
fn inserts<T: Techniques>(keys: &[Vec<u8>]) -> Result<Vec<[f64; 2]>> {
    let space = sessions::first(Counting::by_line(Heap::adr(64 << 20)))?;
    let map = ByteMap::over(Tree::<Counting<Heap>, T>::open(&space, "table 4")?);
    let mut counts = Vec::new();
    for key in keys {
        let before = space.media().counts();
        map.insert(key, b"8 bytes.")?;
        let delta = space.media().counts().since(before);
        counts.push([delta.line_flushes as f64, delta.fences as f64]);
    }
    Ok(counts)
}

/// The median of inserts `range` (how many keys the node had before each).
fn typical(counts: &[[f64; 2]], range: std::ops::Range<usize>) -> [f64; 2] {
    let of = |pick: usize| {
        let values: Vec<f64> = counts[range.clone()].iter().map(|count| count[pick]).collect();
        middle(&values)
    };
    [of(0), of(1)]
}

/// Keys that differ in their second byte: children of one node.
fn siblings(count: u8) -> Vec<Vec<u8>> {
    (0..count).map(|byte| vec![7, byte.reverse_bits(), 1]).collect()
}

pub(super) fn measure(_: &PaperScale) -> Result<Finding> {
    let plain = inserts::<WithoutArrays>(&siblings(200))?;
    let arrays = inserts::<Full>(&siblings(200))?;
    // The first insert that finds its array full, 128 records in it.
    let split = arrays[128];
    let prefixed = [&b"prefix-a"[..], b"prefix-b", b"pre-c"].map(<[u8]>::to_vec);
    let prefix_split = inserts::<WithoutArrays>(&prefixed)?[2];
    // Between the sizes at which a node is replaced by a larger one.
    let rows = [
        ("N4", typical(&plain, 2..4)),
        ("N16", typical(&plain, 6..16)),
        ("N48", typical(&plain, 18..48)),
        ("N256", typical(&plain, 50..200)),
        ("leaf array", typical(&arrays, 60..90)),
        ("leaf split", split),
        ("prefix split", prefix_split),
    ];
    let bars = |name: &str, pick: usize| {
        series(name, rows.iter().enumerate().map(|(x, row)| (x as f64, exact(row.1[pick]))))
    };
    let plot = costs(
        "one insert",
        groups(rows.map(|row| row.0)),
        "count",
        "per insert",
        vec![bars("line flushes", 0), bars("fences", 1)],
    );
    let of = |pick: usize| rows[..4].iter().map(|row| row.1[pick]).collect::<Vec<_>>();
    let checks = vec![
        Check::new(
            "2 lines flushed and 2 fences for an insert into a node of any size",
            format!("{} lines, {} fences", list(&of(0)), list(&of(1))),
            of(0).iter().chain(&of(1)).all(|&count| count <= 2.0),
            "a node of 48 without entry compression keeps keys and children in different lines",
        ),
        Check::new(
            "the split of a leaf takes 2 fences",
            format!("{} lines, {} fences", split[0], split[1]),
            split[1] <= 2.0,
            "",
        ),
        Check::new(
            "and flushes 2 lines",
            format!("{} lines: those of the new node and of its arrays", split[0]),
            split[0] <= 2.0,
            "the paper counts a flush of a node as one; here each of its lines counts",
        ),
        Check::new(
            "the split of a prefix takes 4 flushes and 2 fences",
            format!("{} lines, {} fences", prefix_split[0], prefix_split[1]),
            prefix_split[0] <= 4.0 && prefix_split[1] <= 2.0,
            "",
        ),
    ];
    Ok(Finding {
        setup: "single inserts of keys of 3 to 8 bytes with values of 8, counted, not timed; nodes without leaf \
                arrays for the first four"
            .into(),
        plots: vec![plot],
        checks,
    })
}
