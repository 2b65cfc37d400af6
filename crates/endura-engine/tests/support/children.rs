//! A copy of a test as a child process, whose threads write for ever and say on a pipe which operation has returned,
//! until it is killed with SIGKILL.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

pub(crate) const THREADS: u64 = 16;
/// Tells the copy of a test that it is the child, to which pool it writes, and where each thread goes on.
const CHILD: &str = "ENDURA_TEST_KILLED_CHILD";

/// In the child, what it was told.
pub(crate) fn orders() -> Option<(PathBuf, Vec<u64>)> {
    let orders = std::env::var(CHILD).ok()?;
    let (path, starts) = orders.split_once('\n').unwrap();
    Some((path.into(), starts.split(' ').map(|n| n.parse().unwrap()).collect()))
}

/// In the child, calls `operate` with the number of each thread and with its next operations, for ever.
pub(crate) fn write_for_ever(starts: &[u64], operate: impl Fn(u64, u64) + Sync) {
    println!(); // the test runner may have begun a line
    let operate = &operate;
    thread::scope(|scope| {
        for (thread, &start) in (0..).zip(starts) {
            scope.spawn(move || {
                for n in start.. {
                    operate(thread, n);
                    // One short write is not torn by the kill.
                    let line = format!("{thread} {n}\n");
                    std::io::stdout().write_all(line.as_bytes()).unwrap();
                    std::io::stdout().flush().unwrap();
                }
            });
        }
    });
}

/// Runs a child until `is_over`, which is called after each operation, and kills it; gives the next operation of each
/// thread.
pub(crate) fn run_and_kill(
    test: &str,
    path: &Path,
    starts: &[u64],
    mut is_over: impl FnMut() -> bool,
) -> Vec<u64> {
    let texts: Vec<String> = starts.iter().map(u64::to_string).collect();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--include-ignored", "--nocapture"])
        .env(CHILD, format!("{}\n{}", path.display(), texts.join(" ")))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (mut next, mut killed) = (starts.to_vec(), false);
    for line in lines {
        let line = line.unwrap();
        let mut words = line.split(' ').map(str::parse::<u64>);
        if let (Some(Ok(thread)), Some(Ok(n)), None) = (words.next(), words.next(), words.next()) {
            assert_eq!(n, next[thread as usize], "operations are acknowledged in order");
            next[thread as usize] = n + 1;
            if !killed && is_over() {
                child.kill().unwrap();
                killed = true;
            }
        }
    }
    assert!(killed && !child.wait().unwrap().success(), "the child wrote until it was killed");
    next
}
