//! All of them at a tiny size.

use std::path::Path;
use std::time::Duration;

use super::bed::PAGE;
use super::*;

const BYTES: u64 = 4 << 20;

fn beside(dir: &Path) -> Place<'_> {
    Place { pool: dir, checkpoint: None }
}

fn bed() -> (tempfile::TempDir, Bed) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let bed = Bed::of_bytes(beside(dir.path()), BYTES, &|_| ()).expect("a pool");
    assert!((BYTES..2 * BYTES).contains(&bed.used_bytes()), "{bed:?}");
    (dir, bed)
}

#[test]
fn a_round_changes_the_share_of_pages_that_was_asked_for() {
    let (_dir, bed) = bed();
    for share in [0.02, 0.2] {
        let plan = HoldsPlan { share, rounds: 4, interval: Duration::from_millis(100) };
        let found = holds(&bed, plan, &|_| ()).expect("holds");
        assert_eq!((found.rounds.len(), found.failed), (4, 0), "{found:?}");
        let wanted = share * (found.pages * PAGE) as f64;
        for round in &found.rounds {
            // Two keys may share a page.
            let is_near = (0.7 * wanted..=1.3 * wanted).contains(&(round.copied_bytes as f64));
            assert!(is_near && round.written_bytes >= round.copied_bytes, "{found:?}");
            assert!(round.held_ms > 0.0 && round.seconds * 1e3 > round.held_ms, "{found:?}");
            assert!(round.tries > 0, "{found:?}");
        }
        let copies = [&found.memcpy_ms, &found.read_ms];
        assert!(copies.iter().all(|ms| ms.iter().all(|&ms| ms > 0.0) && !ms.is_empty()));
        assert!(found.updates_per_second > 0.0);
    }
}

#[test]
fn records_are_put_at_the_rate_that_was_asked_for() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let rate = 2 << 20;
    let interval = Duration::from_millis(250);
    let plan = RecordsPlan { bytes: BYTES, rate, rounds: 4, interval };
    let found = records(beside(dir.path()), plan, &|_| ()).expect("rounds");
    assert_eq!((found.rounds.len(), found.failed), (4, 0), "{found:?}");
    // As few as 32 puts: the first of each writer is due at once.
    assert!((0.5..1.5).contains(&(found.bytes_per_second / rate as f64)), "{found:?}");
    assert!(found.longest_ms > 0.0 && found.rounds.iter().all(|round| round.copied_bytes > 0));
}

#[test]
fn checkpoints_are_made_in_the_turns_that_have_them() {
    let (_dir, bed) = bed();
    let [turn, interval] = [500, 20].map(Duration::from_millis);
    let plan = LongestPlan { share: 0.1, turn, turns: 2, interval };
    let found = longest(&bed, plan, &|_| ()).expect("turns");
    assert_eq!([found.with.len(), found.without.len()], [2, 2]);
    assert!(found.with.iter().all(|turn| turn.checkpoints > 0 && turn.failed == 0), "{found:?}");
    assert!(found.without.iter().all(|turn| turn.checkpoints == 0), "{found:?}");
    for turn in found.with.iter().chain(&found.without) {
        assert!(turn.updates > 0 && turn.longest_ms > 0.0 && turn.over_20_ms <= turn.updates);
        assert_eq!(turn.over_20_ms > 0, turn.longest_ms > 20.0, "{turn:?}");
    }
}

#[test]
fn every_pace_has_its_turns() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let bed = Bed::of_keys(beside(dir.path()), 5_000, &|_| ()).expect("a pool");
    let plan = ThroughputPlan { threads: 2, rounds: 2, turn: Duration::from_millis(1_300) };
    let found = throughput(&bed, plan, &|_| ()).expect("turns");
    let counts = |pace: Pace| found.turns[pace as usize].iter().map(|turn| turn.checkpoints);
    assert!(counts(Pace::Never).eq([0, 0]) && counts(Pace::Rare).eq([1, 1]), "{found:?}");
    assert!(counts(Pace::Often).all(|count| count >= 1), "{found:?}");
    assert!(Pace::ALL.iter().all(|&pace| found.median(pace).median > 0.0), "{found:?}");
    assert_eq!(found.ratio(Pace::Never).median, 1.0);
}

/// A checkpoint in a turn of 15 s costs half as much where there is one in 30 s.
#[test]
fn what_a_rare_checkpoint_costs_is_scaled() {
    let turns = |millions| vec![ThroughputTurn { millions, checkpoints: 1, failed: 0 }; 3];
    let turns = [turns(2.0), turns(1.8), turns(1.5)];
    let found = Throughput { keys: 1, threads: 1, turn_seconds: 15.0, turns };
    let ratios = Pace::ALL.map(|pace| found.ratio(pace).median);
    assert!(ratios.iter().zip([1.0, 0.95, 0.75]).all(|(a, b)| (a - b).abs() < 1e-9), "{ratios:?}");
}

#[test]
fn a_torn_pool_is_restored() {
    let (_dir, bed) = bed();
    let found = restore(&bed, 2, &|_| ()).expect("restores");
    assert_eq!(
        found.iter().map(|one| one.is_cached).collect::<Vec<_>>(),
        [false, true, false, true]
    );
    for one in &found {
        let share = one.written_bytes as f64 / one.file_bytes as f64;
        // Of a pool's file not all is in use; a third is torn, and short gaps between torn pages are written, too.
        assert!((0.05..0.65).contains(&share), "{one:?}");
        assert!(one.copy_seconds > 0.0 && one.open_seconds > 0.0 && one.ratio() > 0.0);
    }
    let median = Restore::median_ratio(&found, true);
    assert!(median.median > 0.0 && median != Restore::median_ratio(&[], true));
}

#[test]
fn a_checkpoint_elsewhere_is_made_and_restored() {
    let [dir, elsewhere] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let place = Place { pool: dir.path(), checkpoint: Some(elsewhere.path()) };
    let bed = Bed::of_bytes(place, BYTES, &|_| ()).expect("a pool");
    let found = restore(&bed, 1, &|_| ()).expect("restores");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(bed.checkpoint_path().starts_with(elsewhere.path()) && bed.checkpoint_path().exists());
}

#[test]
fn peers_take_turns() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let turn = Duration::from_millis(300);
    let plan = PeersPlan { keys: 2_000, threads: 2, rounds: 2, turn };
    let found = peers(dir.path(), plan, &|_| ()).expect("turns");
    let names: Vec<_> = found.stores.iter().map(|peer| peer.store).collect();
    assert!(names.starts_with(&["FastFair"]) && names.contains(&"LMDB"), "{names:?}");
    for (n, peer) in found.stores.iter().enumerate() {
        assert!(peer.millions.len() == 2 && peer.millions.iter().all(|&m| m > 0.0), "{peer:?}");
        assert!(found.ratio(n).median > 0.0);
    }
}
