//! Signals that ask the process to end: what it has made in passing is deleted first.
//!
//! They are blocked in all threads, and one thread waits for them. It lets a [`Section`] come to its end,
//! deletes what is [registered](doomed), and then has the signal do what it always does: whoever waits for
//! this process sees the same end as without all this. Child processes begin with no signal blocked.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{SigSet, Signal, raise};

/// What asks a process to end.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// How often a deletion is tried.
const TRIES: u32 = 100;

static SECTION: Mutex<()> = Mutex::new(());
static DOOMED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Blocks the signals, and starts the thread that waits for them. To be called before other threads are
/// started. Files have [limits without a signal](limit_files_by_errors) from then on.
pub fn watch() {
    limit_files_by_errors();
    let mut blocked = SigSet::empty();
    let ignored = ignored();
    let ends = |signal: &Signal| ignored & 1 << (*signal as u64 - 1) == 0;
    ENDING.into_iter().filter(ends).for_each(|signal| blocked.add(signal));
    let started = blocked.thread_block().and_then(|()| {
        let waiter = std::thread::Builder::new().name("signals".into());
        waiter.spawn(move || end(&blocked)).map(drop).map_err(|_| nix::errno::Errno::EAGAIN)
    });
    if started.is_err() {
        // Without the thread the signals must end the process as ever.
        let _ = blocked.thread_unblock();
    }
}

/// Makes a file that would grow beyond `ulimit -f` an error, and not the end. To be called before other threads are
/// started.
pub fn limit_files_by_errors() {
    let mut blocked = SigSet::empty();
    // Blocked, it does nothing; the write that it comes with fails (EFBIG).
    blocked.add(Signal::SIGXFSZ);
    let _ = blocked.thread_block();
}

/// The signals that this process was started to ignore, as a mask (`nohup`, and `&` in scripts).
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn end(signals: &SigSet) {
    let Ok(signal) = signals.wait() else { return };
    let _section = section();
    for path in lock(&DOOMED).drain(..) {
        delete(&path);
    }
    let _ = signals.thread_unblock();
    let _ = raise(signal);
}

/// While it lives, no signal ends the process.
pub struct Section(#[allow(dead_code, reason = "held")] MutexGuard<'static, ()>);

/// Begins a stretch of work that is done as a whole. It waits for nothing but the disk.
pub fn section() -> Section {
    Section(lock(&SECTION))
}

/// A file or folder that is deleted when this is dropped, or when a signal ends the process.
pub struct Doomed(PathBuf);

/// Dooms a file or a folder of this process.
pub fn doomed(path: &Path) -> Doomed {
    lock(&DOOMED).push(path.into());
    Doomed(path.into())
}

impl Doomed {
    /// Lets it stay, under whatever name it has by now.
    pub fn keep(self) {
        forget(&self.0);
        std::mem::forget(self);
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        delete(&self.0);
        forget(&self.0);
    }
}

fn forget(path: &Path) {
    lock(&DOOMED).retain(|other| other != path);
}

/// Whatever remains is not worth a second failure.
fn delete(path: &Path) {
    for _ in 0..TRIES {
        let deleted = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        // Another thread may be making a file in the folder at this moment.
        if deleted.is_ok() || !path.exists() {
            break;
        }
    }
}

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
