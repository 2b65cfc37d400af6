//! The gate: close, quiesce, poison, read-only.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::*;
use crate::Error;
use crate::sync::{AtomicBool, Ordering};

#[test]
fn a_closed_pool_turns_everybody_away() {
    let space = pool(2);
    assert!(space.close().unwrap());
    assert!(!space.close().unwrap());
    assert!(matches!(space.pin(), Err(Error::Closed { .. })));
    assert!(matches!(space.pin_mut(), Err(Error::Closed { .. })));
    assert!(matches!(space.quiesce(), Err(Error::Closed { .. })));
}

#[test]
fn close_waits_for_those_inside() {
    let space = pool(2);
    let (entered, wait_entered) = mpsc::channel();
    let left = AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            let guard = space.pin().unwrap();
            entered.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(30));
            assert!(space.pin_mut().is_err() || !space.is_closed());
            left.store(true, Ordering::Release);
            drop(guard);
        });
        wait_entered.recv().unwrap();
        space.close().unwrap();
        assert!(left.load(Ordering::Acquire));
    });
}

#[test]
fn nobody_waits_for_himself() {
    let space = pool(2);
    let reader = space.pin().unwrap();
    assert!(matches!(space.close(), Err(Error::InsideOperation)));
    assert!(matches!(space.quiesce(), Err(Error::InsideOperation)));
    let writer = space.pin_mut().unwrap();
    assert!(matches!(space.quiesce(), Err(Error::InsideOperation)));
    drop((writer, reader));
    drop(space.pin_mut().unwrap());
    assert!(space.close().unwrap());
}

#[test]
fn writers_wait_for_a_quiesced_pool_and_readers_do_not() {
    let space = pool(2);
    let wrote = AtomicBool::new(false);
    std::thread::scope(|s| {
        let quiesced = space.quiesce().unwrap();
        s.spawn(|| {
            // Inside a reader's pin, for which the next `quiesce` below must not wait.
            let _reader = space.pin().unwrap();
            let _guard = space.pin_mut().unwrap();
            wrote.store(true, Ordering::Release);
        });
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(1));
            drop(space.pin().unwrap());
            assert!(!wrote.load(Ordering::Acquire));
        }
        drop(quiesced);
    });
    assert!(wrote.load(Ordering::Acquire));
}

#[test]
fn a_quiesced_pool_really_is() {
    let space = pool(2);
    let (inside, done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|s| {
        s.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let _guard = space.pin_mut().unwrap();
                inside.store(true, Ordering::Relaxed);
                std::hint::spin_loop();
                inside.store(false, Ordering::Relaxed);
            }
        });
        for _ in 0..2_000 {
            let quiesced = space.quiesce().unwrap();
            for _ in 0..20 {
                assert!(!inside.load(Ordering::Relaxed));
            }
            drop(quiesced);
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_nested_pin_passes_a_gate_that_was_shut_meanwhile() {
    let space = pool(2);
    let outer = space.pin_mut().unwrap();
    space.poison();
    drop(space.pin_mut().unwrap());
    drop(space.pin().unwrap());
    drop(outer);
    assert!(matches!(space.pin(), Err(Error::Poisoned)));
    assert!(space.is_poisoned());
}

#[test]
fn writers_that_are_slowed_down_wait_a_little_and_readers_do_not() {
    let space = pool(2);
    let begun = Instant::now();
    let slowed = space.slow_down().unwrap();
    drop(space.pin().unwrap());
    std::thread::scope(|s| {
        // No thread opens the gate: the writer enters when it has waited for long enough, and its nested pin does not
        // wait again.
        let writer = s.spawn(|| {
            let _guard = space.pin_mut().unwrap();
            let waited = begun.elapsed();
            drop(space.pin_mut().unwrap());
            waited
        });
        let waited = writer.join().unwrap();
        assert!(waited >= Duration::from_millis(60), "{waited:?}");
    });
    drop(slowed);
    drop(space.pin_mut().unwrap());
}

#[test]
fn writers_that_were_slowed_down_go_on_at_once_when_that_ends() {
    let space = pool(2);
    std::thread::scope(|s| {
        let slowed = space.slow_down().unwrap();
        let writer = s.spawn(|| {
            let _guard = space.pin_mut().unwrap();
            Instant::now()
        });
        while space.kept_out.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        let opened = Instant::now();
        drop(slowed);
        // A second time: writers that were kept out the first time enter before.
        drop(space.slow_down().unwrap());
        assert!(writer.join().unwrap() >= opened);
    });
}

#[test]
fn what_is_under_way_goes_on_in_a_pool_that_is_slowed_down() {
    let space = pool(2);
    let (entered, wait_entered) = mpsc::channel();
    let (go, wait_go) = mpsc::channel();
    std::thread::scope(|s| {
        let space = &space;
        let writer = s.spawn(move || {
            let _guard = space.pin_mut().unwrap();
            assert!(matches!(space.slow_down(), Err(Error::InsideOperation)));
            entered.send(()).unwrap();
            wait_go.recv().unwrap();
            let begun = Instant::now();
            drop(space.pin_mut().unwrap());
            begun.elapsed()
        });
        wait_entered.recv().unwrap();
        let slowed = space.slow_down().unwrap();
        go.send(()).unwrap();
        assert!(writer.join().unwrap() < Duration::from_millis(50));
        drop(slowed);
    });
    assert!(space.close().unwrap());
    assert!(matches!(space.slow_down(), Err(Error::Closed { .. })));
}

#[test]
#[ignore = "a measurement: cargo test --release -- --ignored --nocapture cost_of_a_pin"]
fn cost_of_a_pin() {
    let space = pool(2);
    for (name, mutable) in [("pin", false), ("pin_mut", true)] {
        let start = Instant::now();
        for _ in 0..100_000_000 {
            let guard = if mutable { space.pin_mut() } else { space.pin() };
            std::hint::black_box(&guard);
        }
        println!("{name}: {:.2} ns", start.elapsed().as_secs_f64() * 10.0);
    }
}
