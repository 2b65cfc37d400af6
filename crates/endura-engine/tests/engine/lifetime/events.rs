//! What a pool tells whoever listens.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use endura::{Pool, PoolOptions};
use endura_engine::{Error, Event, LeakRecoveryState};

const ROLE: &str = "ENDURA_TEST_EVENTS";

fn listening(options: PoolOptions) -> (PoolOptions, Receiver<Event>) {
    let (sender, events) = mpsc::channel();
    (
        options.on_event(move |event| {
            let _ = sender.send(*event);
        }),
        events,
    )
}

fn next(events: &Receiver<Event>) -> Event {
    events.recv_timeout(Duration::from_secs(60)).expect("an event")
}

/// Writes until it is killed; no test by itself.
#[test]
fn role_of_a_writer() {
    let Ok(path) = std::env::var(ROLE) else { return };
    let pool = Pool::open(path).unwrap();
    let map = pool.map::<u64, [u8]>("map").unwrap();
    (0..20_000).for_each(|key| drop(map.insert(key, &[7; 100]).unwrap()));
    println!("ready");
    loop {
        std::thread::park();
    }
}

fn killed(path: &Path) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lifetime::events::role_of_a_writer", "--nocapture"])
        .env(ROLE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while !lines.next().unwrap().unwrap().contains("ready") {}
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_unclean_end_its_leak_recovery_and_growth_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    killed(&path);
    let (options, events) = listening(Pool::options());
    let pool = options.open_existing(&path).unwrap();
    assert_eq!(next(&events), Event::OpenedUnclean { generation: 2 });
    assert_eq!(next(&events), Event::LeakRecoveryBegan);
    let Event::LeakRecoveryEnded { state, .. } = next(&events) else { panic!("no end") };
    assert_eq!(state, LeakRecoveryState::Complete);
    let map = pool.map::<u64, [u8]>("map").unwrap();
    (0..100_000).for_each(|key| drop(map.insert(1 << 32 | key, &[7; 100]).unwrap()));
    let Event::Grew { file_bytes } = next(&events) else { panic!("no growth") };
    assert!(file_bytes > 2 << 20 && file_bytes <= pool.stats().unwrap().file_bytes);
}

/// The listener is called outside of the operation: it may use the pool.
#[test]
fn a_stall_is_told_to_a_listener_that_uses_the_pool() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let (options, events) = listening(Pool::options().max_size(16 << 20));
    let pool = options.create_new(&path).unwrap();
    let map = pool.map::<u64, [u8]>("map").unwrap();
    map.insert(1, b"kept").unwrap();
    let stalled = map
        .get_with(1, |_| {
            std::thread::scope(|scope| {
                let writer =
                    scope.spawn(|| (0..).find_map(|n| map.insert(2 + n % 2, &[7; 4_000]).err()));
                writer.join().unwrap()
            })
        })
        .unwrap()
        .flatten();
    assert!(matches!(stalled, Some(Error::ReclaimStalled { .. })), "{stalled:?}");
    let told =
        std::iter::repeat_with(|| next(&events)).find(|event| !matches!(event, Event::Grew { .. }));
    assert!(
        matches!(told, Some(Event::ReclaimStalled { waiting_bytes }) if waiting_bytes > 1 << 20)
    );

    let (sender, lengths) = mpsc::channel();
    let other = std::sync::Arc::new(std::sync::OnceLock::<Pool>::new());
    let handle = std::sync::Arc::clone(&other);
    let options = Pool::options().on_event(move |_| {
        let stats = handle.wait().stats();
        drop(sender.send(stats.map(|stats| stats.file_bytes)));
    });
    let pool = options.create_new(folder.path().join("other")).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    map.insert(1, 1).unwrap();
    other.set(pool).unwrap();
    assert!(lengths.recv_timeout(Duration::from_secs(60)).unwrap().unwrap() > 0);
    other.get().unwrap().close().unwrap();
}
