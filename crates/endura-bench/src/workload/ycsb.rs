//! The core workloads of YCSB (Cooper et al., "Benchmarking cloud serving systems with YCSB", SoCC
//! 2010): A to F.

use super::choice::Choice;
use super::definition::{Action, ScanLength, Workload};
use super::zipf::Zipf;

/// The six workloads with the choices of keys that YCSB gives them: Zipf's law of 0.99, scattered,
/// and for D the latest keys.
pub fn all() -> Vec<Workload> {
    let zipf = Choice::Zipf(Zipf::YCSB);
    letters().into_iter().map(|(letter, _, workload)| named(letter, workload, zipf)).collect()
}

/// The same with one other choice of keys for all; D keeps the latest.
pub fn with_choice(choice: Choice) -> Vec<Workload> {
    letters().into_iter().map(|(letter, _, workload)| named(letter, workload, choice)).collect()
}

/// The letters with what they stand for.
pub fn letters() -> [(char, &'static str, Workload); 6] {
    use Action::{Insert, Modify, Read, Scan, Update};
    let new = |mix: &[(Action, u32)]| Workload::new("", mix);
    [
        ('A', "50 % reads, 50 % updates", new(&[(Read, 50), (Update, 50)])),
        ('B', "95 % reads, 5 % updates", new(&[(Read, 95), (Update, 5)])),
        ('C', "reads", new(&[(Read, 1)])),
        ('D', "95 % reads of the latest, 5 % inserts", new(&[(Read, 95), (Insert, 5)])),
        (
            'E',
            "95 % scans of 1 to 100, 5 % inserts",
            new(&[(Scan, 95), (Insert, 5)]).with_scan(ScanLength::UpTo(100)),
        ),
        ('F', "50 % reads, 50 % read-modify-writes", new(&[(Read, 50), (Modify, 50)])),
    ]
}

fn named(letter: char, workload: Workload, choice: Choice) -> Workload {
    let choice = match choice {
        _ if letter == 'D' => Choice::Latest(Zipf::YCSB),
        choice => choice,
    };
    Workload { name: format!("{letter} {}", choice.name()), ..workload.with_choice(choice) }
}
