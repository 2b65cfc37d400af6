//! Signals that ask the process to end: its temporary files are deleted first.
//!
//! The signals are blocked in all threads, and one thread waits for them. It waits for the end of a [`Section`],
//! deletes the [registered](doomed) files, and then lets the signal have its default effect: a process that waits for
//! this one sees the usual end. Child processes start with no signal blocked.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{SigSet, Signal, raise};

/// The signals that ask a process to end.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// The number of attempts at a deletion.
const TRIES: u32 = 100;

static SECTION: Mutex<()> = Mutex::new(());
static DOOMED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Blocks the signals, and starts the thread that waits for them. Must be called before other threads are started. From
/// then on file limits [give errors](limit_files_by_errors) instead of signals.
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
        // Without the thread the signals must end the process as usual.
        let _ = blocked.thread_unblock();
    }
}

/// Makes a write beyond `ulimit -f` an error, instead of the end of the process. Must be called before other threads
/// are started.
pub fn limit_files_by_errors() {
    let mut blocked = SigSet::empty();
    // While the signal is blocked it has no effect, and the write that raises it fails with EFBIG.
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

/// While a section exists, no signal ends the process.
pub struct Section(#[allow(dead_code, reason = "held")] MutexGuard<'static, ()>);

/// Starts a section of work that is not interrupted. The section must wait for nothing but the disk.
pub fn section() -> Section {
    Section(lock(&SECTION))
}

/// A file or folder that is deleted when this is dropped, or when a signal ends the process.
pub struct Doomed(PathBuf);

/// Registers a file or a folder of this process for deletion.
pub fn doomed(path: &Path) -> Doomed {
    lock(&DOOMED).push(path.into());
    Doomed(path.into())
}

impl Doomed {
    /// Keeps the file, whatever its name is by now.
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

/// Deletes a file or a folder. Errors are not reported: a file that remains is not worth a second failure.
fn delete(path: &Path) {
    for _ in 0..TRIES {
        let deleted = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        // Another thread may be creating a file in the folder at this moment.
        if deleted.is_ok() || !path.exists() {
            break;
        }
    }
}

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
