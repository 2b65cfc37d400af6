//! The sweeper: a thread that removes the entries of keys that are gone, while commands continue.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use endura::Result;

use super::catalogue::Catalogue;
use super::entries::Entries;

/// The handle of the thread that sweeps.
#[derive(Debug)]
pub(crate) struct Sweeper {
    tasks: Mutex<Sender<Task>>,
    shared: Arc<SweeperState>,
}

#[derive(Debug, Default)]
struct SweeperState {
    pending: AtomicU64,
    readers: Mutex<Readers>,
    /// Notified when a reader has ended.
    ended: Condvar,
}

/// Readers of entries whose keys may be removed meanwhile.
#[derive(Debug, Default)]
struct Readers {
    /// The number of children that save. They may read the entries of any key.
    children: u64,
    /// For each number, how many threads answer clients from its entries.
    threads: HashMap<u64, u64>,
}

/// A thread that reads the entries of one number. They are not swept until this is dropped.
#[derive(Debug)]
pub(crate) struct Reading {
    id: u64,
    shared: Arc<SweeperState>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        let mut readers = self.shared.readers();
        if let Some(threads) = readers.threads.get_mut(&self.id) {
            *threads -= 1;
            if *threads == 0 {
                readers.threads.remove(&self.id);
            }
        }
        self.shared.ended.notify_all();
    }
}

#[derive(Debug)]
enum Task {
    /// The entries of one number.
    One(u64),
    /// The entries of all numbers below `below` that are not in `alive`, which is sorted: those that a kill left.
    Strays { alive: Vec<u64>, below: u64 },
}

impl Sweeper {
    /// Starts the thread. It ends with the sweeper.
    pub(crate) fn start(catalogue: Arc<Catalogue>, entries: Arc<Entries>) -> std::io::Result<Self> {
        let (tasks, inbox) = channel();
        let shared = Arc::new(SweeperState::default());
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
        // If the thread has ended, by a panic or because the pool is closed, the entries stay until the next start.
        let _ = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).send(task);
    }

    /// The number of tasks that have not ended: keys, and at a start one for all strays.
    pub(crate) fn pending(&self) -> u64 {
        self.shared.pending.load(Ordering::Relaxed)
    }

    /// Keeps everything from being swept until [`let_go`](Self::let_go): the file of a child has the keys as of the fork,
    /// and their entries are read later.
    pub(crate) fn hold(&self) {
        self.shared.readers().children += 1;
    }

    pub(crate) fn let_go(&self) {
        let mut readers = self.shared.readers();
        readers.children = readers.children.saturating_sub(1);
        self.shared.ended.notify_all();
    }

    /// Keeps the entries of a key from being swept until the result is dropped. Must be called while the key exists,
    /// when no sweep of its entries has started. A sweep does not wait for readers that come after it has started.
    pub(crate) fn reading(&self, id: u64) -> Reading {
        *self.shared.readers().threads.entry(id).or_default() += 1;
        Reading { id, shared: Arc::clone(&self.shared) }
    }
}

impl SweeperState {
    fn readers(&self) -> MutexGuard<'_, Readers> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no child is saving and no thread reads the entries of this number.
    fn wait(&self, id: u64) {
        let is_read =
            |readers: &mut Readers| readers.children > 0 || readers.threads.contains_key(&id);
        drop(self.ended.wait_while(self.readers(), is_read));
    }
}

fn sweep(inbox: &Receiver<Task>, shared: &SweeperState, catalogue: &Catalogue, entries: &Entries) {
    while let Ok(task) = inbox.recv() {
        let swept = match &task {
            Task::One(id) => {
                shared.wait(*id);
                // The record goes first, because a number with a record must have its entries.
                catalogue.remove(*id).and_then(|()| entries.sweep(*id))
            }
            Task::Strays { alive, below } => sweep_strays(entries, shared, alive, *below),
        };
        shared.pending.fetch_sub(1, Ordering::Relaxed);
        // Entries that could not be swept are strays at the next start.
        if swept.is_err_and(|error| matches!(error, endura::Error::Closed { .. })) {
            return;
        }
    }
}

fn sweep_strays(entries: &Entries, shared: &SweeperState, alive: &[u64], below: u64) -> Result<()> {
    let sweep = |id| {
        shared.wait(id);
        entries.sweep(id)
    };
    let mut from = 0;
    while let Some(id) = entries.next_number(from)?.filter(|&id| id < below) {
        if alive.binary_search(&id).is_err() {
            sweep(id)?;
        }
        from = id + 1;
    }
    for id in entries.numbers_of_own()? {
        if id < below && alive.binary_search(&id).is_err() {
            sweep(id)?;
        }
    }
    Ok(())
}
