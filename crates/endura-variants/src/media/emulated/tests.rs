//! The model against what it promises, on its own clock: exact, and the same on every machine.

use std::time::Instant;

use endura_engine::media::{Heap, LINE, Media, Ordering, Region};

use super::*;

const LINES: u64 = 1 << 14;

fn charged(slow: Slow) -> Emulated<Heap> {
    Emulated::new(Heap::adr(LINES * LINE), Slow { pace: Pace::Charged, ..slow })
}

fn all(medium: &Emulated<Heap>) -> Region<'_, Emulated<Heap>> {
    Region::new(medium, 0, (LINES * LINE / 8) as usize).unwrap()
}

/// Visits lines in an order in which no two neighbours follow each other, `steps` of them.
fn chase(medium: &Emulated<Heap>, steps: u64) {
    let words = all(medium);
    for step in 0..steps {
        let line = step * 5347 % LINES;
        words.load(8 * line as usize, Ordering::Acquire);
    }
}

#[test]
fn a_chase_beyond_the_cache_costs_the_latency_each_step() {
    for ns in [120, 300, 600, 900] {
        // An eighth of the lines fit in.
        let medium = charged(Slow { cache_bytes: LINES * LINE / 8, ..Slow::of(ns) });
        chase(&medium, 10_000);
        let each = medium.charges().read_stall_ns as f64 / 10_000.0;
        assert!((each / ns as f64 - 1.0).abs() < 0.05, "{each} in place of {ns}");
    }
}

#[test]
fn a_chase_inside_the_cache_costs_nothing_the_second_time() {
    let medium = charged(Slow { cache_bytes: 4 * LINES * LINE, ahead: 0, ..Slow::of(300) });
    chase(&medium, LINES);
    let first = medium.charges();
    chase(&medium, LINES);
    let second = medium.charges().since(first);
    assert_eq!(first.misses, LINES);
    assert!(second.misses < LINES / 100, "{second:?}");
    medium.empty_cache();
    let before = medium.charges();
    chase(&medium, 1);
    assert_eq!(medium.charges().since(before).read_stall_ns, 300);
}

#[test]
fn misses_that_were_asked_for_together_overlap() {
    let stall = |overlap, prefetch: bool| {
        let medium = charged(Slow { overlap, ahead: 0, ..Slow::of(300) });
        if prefetch {
            medium.prefetch(0, 8 * LINE);
        }
        let words = all(&medium);
        (0..8).for_each(|line| _ = words.load(8 * line, Ordering::Acquire));
        medium.charges().read_stall_ns
    };
    assert_eq!(stall(10, true), 300);
    assert_eq!(stall(4, true), 600);
    assert_eq!(stall(1, true), 8 * 300);
    assert_eq!(stall(10, false), 8 * 300);
}

#[test]
fn neighbouring_lines_are_fetched_ahead() {
    let medium = charged(Slow::of(300));
    let words = all(&medium);
    (0..8).for_each(|line| _ = words.load(8 * line, Ordering::Acquire));
    let charges = medium.charges();
    // The first pair together; what follows is under way when it is needed.
    assert!(charges.read_stall_ns < 4 * 300, "{charges:?}");
    assert!((8..=10).contains(&charges.lines_fetched), "{charges:?}");
}

#[test]
fn a_fence_waits_for_the_lines_that_were_flushed_before_it() {
    let medium = charged(Slow { write_ns: 500, ..Slow::of(100) });
    let words = all(&medium);
    for line in 0..4 {
        words.store(8 * line, 1, Ordering::Release);
        words.flush(8 * line, 1);
    }
    // Each line has to come first: with its neighbour, in two pairs.
    medium.fence();
    let one_fence = medium.charges();
    assert_eq!((one_fence.lines_written, one_fence.write_stall_ns), (4, 600));
    for line in 0..4 {
        words.store(8 * line, 2, Ordering::Release);
        words.flush(8 * line, 1);
        words.flush(8 * line, 1);
        medium.fence();
    }
    medium.fence();
    let four = medium.charges().since(one_fence);
    assert_eq!((four.lines_written, four.write_stall_ns), (4, 4 * 500));
    words.stream(0, 3);
    medium.drain();
    let streamed = medium.charges().since(one_fence).since(four);
    assert_eq!((streamed.lines_written, streamed.write_stall_ns), (1, 500));
}

#[test]
fn where_caches_survive_only_lines_that_leave_them_are_written() {
    let slow = Slow { cache_bytes: 64 * LINE, pace: Pace::Charged, ..Slow::of(300) };
    let medium = Emulated::new(Heap::new(LINES * LINE), slow);
    let words = all(&medium);
    for line in 0..1000 {
        words.store(8 * line, 1, Ordering::Release);
        words.flush(8 * line, 1);
        medium.drain();
    }
    let charges = medium.charges();
    assert_eq!(charges.write_stall_ns, 0);
    assert!((900..1000).contains(&charges.lines_written), "{charges:?}");
    medium.empty_cache();
    assert_eq!(medium.charges().lines_written, 1000);
}

#[test]
fn lines_follow_each_other_at_the_bandwidth() {
    // 64 bytes in 1000 ns, with room for all under way.
    let slow = Slow { overlap: 16, ahead: 0, bytes_per_second: Some(64_000_000), ..Slow::of(300) };
    let medium = charged(slow);
    medium.prefetch(0, 8 * LINE);
    let words = all(&medium);
    (0..8).for_each(|line| _ = words.load(8 * line, Ordering::Acquire));
    assert_eq!(medium.charges().read_stall_ns, 7 * 1000 + 300);
}

/// However busy the machine is, no step takes less than the latency.
#[test]
fn a_medium_that_waits_is_never_too_fast() {
    let slow = Slow { cache_bytes: LINES * LINE / 8, ..Slow::of(900) };
    let medium = Emulated::new(Heap::new(LINES * LINE), slow);
    let begun = Instant::now();
    chase(&medium, 10_000);
    let (took, charged) = (begun.elapsed().as_nanos() as f64, medium.charges());
    assert!(took > 0.95 * 900.0 * charged.misses as f64, "{took} ns, {charged:?}");
    assert!(charged.misses > 9_000, "{charged:?}");
}
