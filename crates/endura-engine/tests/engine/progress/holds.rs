//! Holds: for a moment no thread stores, whatever closures do meanwhile.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};

use endura_engine::Error;
use endura_engine::media::Heap;
use endura_engine::space::{Hold, PAGE, Space};
use endura_engine::tree::{ByteChange, ByteIndex, roart};
use endura_variants::sessions;

use crate::support::patience::ends;

type Tree = roart::Tree<Heap>;

/// A hold has this long; on a busy machine a writer that is suspended may take all of it.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a copy takes.
const HELD_FOR: Duration = Duration::from_millis(1);
/// What must not happen has this long to happen.
const A_WHILE: Duration = Duration::from_millis(50);

fn world() -> (Arc<Space<Heap>>, Arc<Tree>) {
    let space = sessions::first(Heap::new(64 * PAGE)).unwrap();
    space.expect_checkpoints();
    let tree = Arc::new(Tree::open(&space, "t").unwrap());
    (space, tree)
}

fn put(tree: &Tree, key: &[u8]) {
    tree.modify(key, |_| ByteChange::Put(b"value"[..].into())).unwrap();
}

/// Gives the key a value, which takes a closure some time.
fn change(tree: &Tree, key: &[u8], mut takes_time: impl FnMut()) {
    let decide = |takes_time: &mut dyn FnMut()| {
        takes_time();
        ByteChange::Put(b"new"[..].into())
    };
    tree.modify(key, |_| decide(&mut takes_time)).unwrap();
}

fn has(tree: &Tree, key: &[u8]) -> bool {
    tree.get_with(key, |_| ()).unwrap().is_some()
}

fn hold(space: &Space<Heap>) -> Hold<'_, Heap> {
    space.hold(PATIENCE).unwrap().expect("a hold that a parked writer does not keep from beginning")
}

/// A thread in a closure: it says when it is there, and leaves when it is told to.
struct Stay {
    is_in: Sender<()>,
    leave: Receiver<()>,
}

/// Such a thread, when it is there, and how it is told to leave.
fn stay() -> (Stay, Receiver<()>, Sender<()>) {
    let ((is_in, told), (leave, told_to)) = (channel(), channel());
    (Stay { is_in, leave: told_to }, told, leave)
}

impl Stay {
    fn here(&self) {
        self.is_in.send(()).unwrap();
        self.leave.recv().unwrap();
    }
}

fn leave_after_a_while<'s>(scope: &'s Scope<'s, '_>, leave: Sender<()>) {
    scope.spawn(move || {
        std::thread::sleep(A_WHILE);
        leave.send(()).unwrap();
    });
}

/// Lets `work` stay in a closure, calls `while_held` with the pool held and the closure left, and then `afterwards`.
fn stays(
    what: &str,
    work: impl FnOnce(&Tree, Stay) + Send + 'static,
    while_held: impl FnOnce(&Tree) + Send + 'static,
    afterwards: impl FnOnce(&Tree) + Send + 'static,
) {
    ends(what, || {
        let (space, tree) = world();
        let (stay, told, leave) = stay();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| work(&tree, stay));
            told.recv().unwrap();
            let held = hold(&space);
            leave.send(()).unwrap();
            std::thread::sleep(A_WHILE);
            while_held(&tree);
            assert!(!worker.is_finished(), "it did not wait for the end of the hold");
            drop(held);
        });
        afterwards(&tree);
        assert!(space.quiesce().is_ok());
    });
}

#[test]
fn a_closure_that_sleeps_is_not_waited_for_and_its_end_waits() {
    stays(
        "a change",
        |tree, stay| {
            change(tree, b"key", || stay.here());
        },
        |tree| assert!(!has(tree, b"key")),
        |tree| assert!(has(tree, b"key")),
    );
}

#[test]
fn so_is_what_fills_a_value_in_place() {
    stays(
        "a filler",
        |tree, stay| {
            let fill = |to: &mut dyn std::io::Write| {
                to.write_all(&[1; 50]).unwrap();
                stay.here();
                to.write_all(&[2; 50]).unwrap();
                Ok(())
            };
            tree.insert_from(b"key", 100, fill).unwrap();
        },
        |tree| assert!(!has(tree, b"key")),
        |tree| assert!(has(tree, b"key")),
    );
}

#[test]
fn a_write_in_a_closure_waits_whatever_is_around_it() {
    stays(
        "a write in a change",
        |tree, stay| {
            change(tree, b"key", || {
                stay.here();
                put(tree, b"inner");
            });
        },
        |tree| assert!(!has(tree, b"inner") && !has(tree, b"key")),
        |tree| assert!(has(tree, b"inner") && has(tree, b"key")),
    );
    stays(
        "a write in a scan in a change",
        |tree, stay| {
            put(tree, b"first");
            change(tree, b"key", || {
                let visit = |_: endura_engine::Bytes<'_>, _: endura_engine::Bytes<'_>| {
                    stay.here();
                    put(tree, b"inner");
                    ControlFlow::Break(())
                };
                let all = (Bound::Unbounded, Bound::Unbounded);
                tree.scan_up(&mut Default::default(), all, visit).unwrap();
            });
        },
        |tree| assert!(!has(tree, b"inner") && !has(tree, b"key")),
        |tree| assert!(has(tree, b"inner") && has(tree, b"key")),
    );
}

/// After a write inside of it the closure is parked again.
#[test]
fn a_closure_that_has_written_is_not_waited_for_either() {
    stays(
        "a change that sleeps after a write",
        |tree, stay| {
            change(tree, b"key", || {
                put(tree, b"inner");
                stay.here();
            });
        },
        |tree| assert!(has(tree, b"inner") && !has(tree, b"key")),
        |tree| assert!(has(tree, b"key")),
    );
}

#[test]
fn a_panic_in_a_closure_ends_its_parking() {
    stays(
        "a panic",
        |tree, stay| {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                change(tree, b"key", || {
                    stay.here();
                    std::panic::resume_unwind(Box::new("as asked"));
                });
            }));
            assert!(caught.is_err());
            put(tree, b"later");
        },
        |tree| assert!(!has(tree, b"later")),
        |tree| assert!(has(tree, b"later")),
    );
}

/// A writer that is neither parked nor out is waited for, and no longer than the time that was given.
#[test]
fn a_hold_gives_up_and_lets_writers_go_on() {
    ends("a hold in vain", || {
        let (space, tree) = world();
        let (stay, told, leave) = stay();
        std::thread::scope(|scope| {
            let space = &space;
            scope.spawn(move || {
                let guard = space.pin_mut().unwrap();
                stay.here();
                drop(guard);
            });
            told.recv().unwrap();
            let begun = Instant::now();
            assert!(space.hold(Duration::from_millis(2)).unwrap().is_none());
            assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
            put(&tree, b"key");
            leave.send(()).unwrap();
        });
        drop(hold(&space));
        assert!(matches!(
            space.pin_mut().map(|_guard| space.hold(PATIENCE).map(|_| ())),
            Ok(Err(Error::InsideOperation))
        ));
    });
}

/// What a writer has left half done when it panicked is not copied.
#[test]
fn a_pool_that_is_poisoned_during_the_wait_is_not_held() {
    ends("a hold beside a panic", || {
        let (space, _tree) = world();
        let (stay, told, leave) = stay();
        std::thread::scope(|scope| {
            let space = &space;
            scope.spawn(move || {
                let guard = space.pin_mut().unwrap();
                stay.here();
                space.poison();
                drop(guard);
            });
            told.recv().unwrap();
            leave_after_a_while(scope, leave);
            assert!(matches!(space.hold(PATIENCE).map(|_| ()), Err(Error::Poisoned)));
        });
    });
}

/// A closure of an operation that began in a closure is not parked: a hold waits for it, and so for what is nested in it.
#[test]
fn a_write_in_a_closure_that_is_waited_for_does_not_wait() {
    ends("a write in a change in a change", || {
        let (space, tree) = world();
        let (stay, told, leave) = stay();
        std::thread::scope(|scope| {
            let tree = &tree;
            scope.spawn(move || {
                change(tree, b"key", || {
                    change(tree, b"inner", || {
                        stay.here();
                        put(tree, b"innermost");
                    });
                });
            });
            told.recv().unwrap();
            leave_after_a_while(scope, leave);
            let held = hold(&space);
            std::thread::sleep(A_WHILE);
            assert!(has(tree, b"innermost") && has(tree, b"inner") && !has(tree, b"key"));
            drop(held);
        });
        assert!(has(&tree, b"key"));
    });
}

/// Holds that follow each other without a pause let each writer in that waits, also one whose closure has ended.
#[test]
fn holds_do_not_starve_writers() {
    ends("holds without a pause", || {
        let (space, tree) = world();
        let (stop, writes) = (AtomicBool::new(false), [AtomicU64::new(0), AtomicU64::new(0)]);
        std::thread::scope(|scope| {
            let (tree, stop, writes) = (&tree, &stop, &writes);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    put(tree, b"key");
                    writes[0].fetch_add(1, Ordering::Relaxed);
                }
            });
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    // In each closure a hold begins.
                    change(tree, b"other", || std::thread::sleep(2 * HELD_FOR));
                    writes[1].fetch_add(1, Ordering::Relaxed);
                }
            });
            // Between how many holds and the next one each of them wrote.
            let (mut before, mut wrote) = ([0, 0], [0, 0]);
            for _ in 0..200 {
                let held = hold(&space);
                std::thread::sleep(HELD_FOR);
                let now = [0, 1].map(|i: usize| writes[i].load(Ordering::Relaxed));
                [0, 1].into_iter().for_each(|i| wrote[i] += usize::from(now[i] != before[i]));
                before = now;
                drop(held);
            }
            stop.store(true, Ordering::Relaxed);
            println!("wrote between {wrote:?} of 200 holds");
            assert!(wrote[0] > 100 && wrote[1] > 20, "{wrote:?}");
        });
    });
}

/// A verification sees no operation that is half done: it waits for parked writers, and lets in what is nested in them.
#[test]
fn a_verification_waits_for_what_is_parked() {
    ends("a verification", || {
        let (space, tree) = world();
        let (stay, told, leave) = stay();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (tree, done) = (&tree, &done);
            scope.spawn(move || {
                change(tree, b"key", || {
                    stay.here();
                    put(tree, b"inner");
                });
                done.store(true, Ordering::Release);
            });
            told.recv().unwrap();
            leave_after_a_while(scope, leave);
            let quiet = space.quiesce().unwrap();
            assert!(has(tree, b"inner") && has(tree, b"key"));
            drop(quiet);
        });
        assert!(done.load(Ordering::Acquire));
    });
}

/// While the pool is held nobody stores: two words that every writer keeps equal are equal, and stay so.
#[test]
fn nobody_stores_beside_a_hold() {
    ends("holds beside writers", || {
        let (space, tree) = world();
        let (stop, writes) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..3_u8 {
                let (tree, stop, writes) = (&tree, &stop, &writes);
                scope.spawn(move || {
                    let mut n = 0_u64;
                    while !stop.load(Ordering::Relaxed) {
                        n += 1;
                        let key = [thread, (n % 50) as u8];
                        let value = n.to_le_bytes();
                        tree.modify(&key, |_| ByteChange::Put(value[..].into())).unwrap();
                        writes.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let image = || -> Vec<u64> {
                let words = endura_engine::media::Media::len(space.media()) / 8;
                let load = |i: u64| {
                    let word = endura_engine::media::Region::new(space.media(), 8 * i, 1).unwrap();
                    word.load(0, Ordering::Relaxed)
                };
                (0..words.min(1 << 16)).map(load).collect()
            };
            let (mut holds, mut before) = (0, 0);
            while holds < 50 {
                let Some(held) = space.hold(PATIENCE).unwrap() else { continue };
                let first = image();
                std::thread::sleep(Duration::from_millis(1));
                assert!(first == image(), "somebody stored");
                drop(held);
                holds += 1;
                // Writers come in between.
                while writes.load(Ordering::Relaxed) == before {
                    std::thread::yield_now();
                }
                before = writes.load(Ordering::Relaxed);
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}
