//! Sessions that are all killed. What is live stays the same; so must the file, whether their collections get
//! to their ends before they write, after it, or not at all.
//!
//! A few sessions of each kind run always. A thousand of each, which take minutes:
//!
//! ```text
//! ENDURA_KILLS=1000 cargo test --release -p endura-engine --test engine kills -- --nocapture
//! ```

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use endura::Pool;
use endura_engine::Kind;

use crate::support::patience::within;
use crate::support::words::{Random, Words};

const ROLE: &str = "ENDURA_TEST_KILLS";
const MIB: u64 = 1 << 20;

/// When a session has its leak recovery finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Collect {
    First,
    Last,
    Never,
}

fn sessions() -> u64 {
    std::env::var("ENDURA_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(30)
}

fn write(map: &Words, session: u64) {
    let mut random = Random(session * 77 + 1);
    for _ in 0..4_000 {
        let key = random.below(2_000);
        match random.below(2) {
            0 => map.remove(key).unwrap(),
            // Of 36 sizes in turn.
            _ => map.insert(key, 24 + 48 * random.below(36) as usize).unwrap(),
        }
    }
}

/// What one session does, in a process of its own; no test by itself.
#[test]
fn role_of_a_session() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let mut role = role.splitn(4, ' ');
    let mut next = || role.next().unwrap();
    let (kind, collect, session, path) = (next(), next(), next(), next());
    let pool = Pool::options().open_existing(path).unwrap();
    let finish = |when: Collect| {
        if collect == format!("{when:?}") {
            assert!(pool.recover_leaks().unwrap());
        }
    };
    finish(Collect::First);
    let kind = Words::KINDS.into_iter().find(|k| kind == format!("{k:?}")).unwrap();
    write(&Words::open(&pool, kind), session.parse().unwrap());
    finish(Collect::Last);
    println!("written");
    loop {
        std::thread::park();
    }
}

fn run_and_kill(path: &Path, kind: Kind, collect: Collect, session: u64) {
    let role = format!("{kind:?} {collect:?} {session} {}", path.display());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["space::kills::role_of_a_session", "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap());
    let written = said.lines().any(|line| line.unwrap().ends_with("written"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(written, "the session ended by itself");
}

/// The bytes that are live at the end, and those of the file.
fn killed_again_and_again(kind: Kind, collect: Collect, sessions: u64) -> (u64, u64) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = folder.path().join("pool");
    Pool::options().create_new(&path).unwrap().close().unwrap();
    (0..sessions).for_each(|session| run_and_kill(&path, kind, collect, session));
    let pool = Pool::options().open_existing(&path).unwrap();
    assert!(pool.recover_leaks().unwrap());
    let shares = pool.verify().unwrap().shares;
    assert_eq!(shares.leaked, 0);
    (shares.reached, pool.stats().unwrap().file_bytes)
}

fn stays_small(kind: Kind) {
    for collect in [Collect::First, Collect::Last, Collect::Never] {
        let limit = Duration::from_secs(20 + sessions());
        let killed = within(limit, move || killed_again_and_again(kind, collect, sessions()));
        let (live, file) = killed.expect("a hang");
        println!("{kind:?}, {collect:?}: {} KiB live, a file of {} KiB", live >> 10, file >> 10);
        assert!(file <= 3 * live + 2 * MIB, "{kind:?}, {collect:?}: {live} live, {file}");
    }
}

#[test]
fn a_pool_of_fast_fair_whose_sessions_are_all_killed_stays_small() {
    stays_small(Kind::FastFair);
}

#[test]
fn a_pool_of_nbtree_whose_sessions_are_all_killed_stays_small() {
    stays_small(Kind::NbTree);
}

#[test]
fn a_pool_of_roart_whose_sessions_are_all_killed_stays_small() {
    stays_small(Kind::Roart);
}
