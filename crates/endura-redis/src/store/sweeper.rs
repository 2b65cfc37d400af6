//! Entries of keys that are gone, removed by a thread behind the commands.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use endura::Result;

use super::catalogue::Catalogue;
use super::entries::Entries;

/// The door to the thread that sweeps.
#[derive(Debug)]
pub(crate) struct Sweeper {
    tasks: Mutex<Sender<Task>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    pending: AtomicU64,
    /// How many are reading entries of keys that may be gone: children that are saved from.
    readers: Mutex<u64>,
    none: Condvar,
}

#[derive(Debug)]
enum Task {
    /// The entries of one number.
    One(u64),
    /// Those of all numbers below `below` that are not in `alive`, which is sorted: what a kill left.
    Strays { alive: Vec<u64>, below: u64 },
}

impl Sweeper {
    /// Starts the thread. It ends with the sweeper.
    pub(crate) fn start(catalogue: Arc<Catalogue>, entries: Arc<Entries>) -> std::io::Result<Self> {
        let (tasks, inbox) = channel();
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        thread::Builder::new()
            .name("endura-sweep".into())
            .spawn(move || sweep(&inbox, &of_thread, &catalogue, &entries))?;
        Ok(Self { tasks: Mutex::new(tasks), shared })
    }

    /// Sweeps the entries of a number, soon, and its record if there is one.
    pub(crate) fn one(&self, id: u64) {
        self.send(Task::One(id));
    }

    pub(crate) fn strays(&self, alive: Vec<u64>, below: u64) {
        self.send(Task::Strays { alive, below });
    }

    fn send(&self, task: Task) {
        self.shared.pending.fetch_add(1, Ordering::Relaxed);
        // The thread ends only with the process, or by a panic: then entries stay until the next start.
        let _ = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).send(task);
    }

    /// Keys that wait for it.
    pub(crate) fn pending(&self) -> u64 {
        self.shared.pending.load(Ordering::Relaxed)
    }

    /// Nothing is swept from now on, until [`let_go`](Self::let_go): a saved file has the keys of the moment of its
    /// fork, and their entries are read after it.
    pub(crate) fn hold(&self) {
        *self.shared.readers.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }

    pub(crate) fn let_go(&self) {
        let mut readers = self.shared.readers.lock().unwrap_or_else(PoisonError::into_inner);
        *readers = readers.saturating_sub(1);
        self.shared.none.notify_all();
    }
}

impl Shared {
    fn wait(&self) {
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.none.wait_while(readers, |readers| *readers > 0));
    }
}

fn sweep(inbox: &Receiver<Task>, shared: &Shared, catalogue: &Catalogue, entries: &Entries) {
    while let Ok(task) = inbox.recv() {
        shared.wait();
        let swept = match &task {
            // First the record: a number that has one has its entries.
            Task::One(id) => catalogue.remove(*id).and_then(|()| entries.sweep(*id)),
            Task::Strays { alive, below } => sweep_strays(entries, shared, alive, *below),
        };
        shared.pending.fetch_sub(1, Ordering::Relaxed);
        // What could not be swept is a stray at the next start.
        if swept.is_err_and(|error| matches!(error, endura::Error::Closed)) {
            return;
        }
    }
}

fn sweep_strays(entries: &Entries, shared: &Shared, alive: &[u64], below: u64) -> Result<()> {
    let mut from = 0;
    while let Some(id) = entries.next_number(from)?.filter(|&id| id < below) {
        if alive.binary_search(&id).is_err() {
            shared.wait();
            entries.sweep(id)?;
        }
        from = id + 1;
    }
    for id in entries.numbers_of_own()? {
        if id < below && alive.binary_search(&id).is_err() {
            entries.sweep(id)?;
        }
    }
    Ok(())
}
