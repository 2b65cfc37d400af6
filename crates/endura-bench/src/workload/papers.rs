//! The mixes of the three papers' evaluations.

use super::choice::Choice;
use super::definition::{Action, Order, ScanLength, Workload};
use super::zipf::Zipf;

/// FAST & FAIR, figure 8(c): each thread inserts 4 keys, searches 16 and deletes one, again and
/// again.
pub fn fast_fair_mixed() -> Workload {
    let mix = [(Action::Insert, 4), (Action::Read, 16), (Action::Remove, 1)];
    Workload { order: Order::InTurn, ..Workload::new("4 insert, 16 search, 1 delete", &mix) }
}

/// NBTree, figures 8, 9(b) and 9(d): updates in `percent` of the operations, lookups in the others,
/// by Zipf's law of `theta`.
pub fn nbtree_writes(percent: u32, theta: f64) -> Workload {
    let percent = percent.min(100);
    let mix = [(Action::Read, 100 - percent), (Action::Update, percent)];
    let name = format!("{}:{percent} read:write, zipfian {theta}", 100 - percent);
    Workload::new(name, &mix).with_choice(Choice::Zipf(theta))
}

/// NBTree, figures 9(a) and 9(c), and ROART, figure 19: half lookups, half updates, by Zipf's law of
/// `theta`.
pub fn skewed_halves(theta: f64) -> Workload {
    nbtree_writes(50, theta)
}

/// The skews of these figures.
pub const SKEWS: [f64; 7] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.2];

/// The shares of writes of NBTree's figures 9(b) and 9(d), in percent.
pub const WRITE_PERCENTS: [u32; 5] = [0, 25, 50, 75, 100];

/// ROART, figure 14: lookup, insert, update, remove and scan, each by itself, uniformly.
pub fn roart_single() -> Vec<Workload> {
    vec![
        Workload::only("lookup", Action::Read),
        Workload::only("insert", Action::Insert),
        Workload::only("update", Action::Update),
        Workload::only("scan", Action::Scan),
        Workload::only("remove", Action::Remove),
    ]
}

/// ROART, figure 15: (a) half lookups, half inserts, (b) 95 % lookups, 5 % inserts, (c) lookups,
/// (d) inserts, (e) 95 % scans, 5 % inserts; by Zipf's law of 0.99.
pub fn roart_five() -> Vec<Workload> {
    use Action::{Insert, Read, Scan};
    let five = [
        Workload::new("(a) 50 % lookup, 50 % insert", &[(Read, 50), (Insert, 50)]),
        Workload::new("(b) 95 % lookup, 5 % insert", &[(Read, 95), (Insert, 5)]),
        Workload::only("(c) lookup", Read),
        Workload::only("(d) insert", Insert),
        Workload::new("(e) 95 % scan, 5 % insert", &[(Scan, 95), (Insert, 5)])
            .with_scan(ScanLength::Fixed(100)),
    ];
    five.into_iter().map(|workload| workload.with_choice(Choice::Zipf(Zipf::YCSB))).collect()
}
