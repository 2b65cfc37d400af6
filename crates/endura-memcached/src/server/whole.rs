//! `Server`: all threads together, from the start to the stop.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use endura::{Error, Restored};

use super::checkpoints::Known;
use super::inbox::Inbox;
use super::socket::Listener;
use super::worker::{Common, Stop, Worker};
use crate::clock::now;
use crate::protocol::Facts;
use crate::store::{Counters, Evictor, Store, StoreOptions, Sweeper};

/// The options of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Threads that serve clients.
    pub threads: usize,
    /// The most clients at a time. Others are turned away.
    pub max_connections: usize,
    /// Where items are kept.
    pub store: StoreOptions,
    /// Called with a sentence when checkpoints begin to fail, and when they can be made again.
    pub report: fn(&str),
}

/// A server that runs until it is [stopped](Self::stop).
#[derive(Debug)]
pub struct Server {
    addresses: Vec<String>,
    common: Arc<Common>,
    workers: Vec<JoinHandle<io::Result<()>>>,
    sweeper: Sweeper,
    evictor: Evictor,
    store: Arc<Store>,
}

impl Server {
    /// Opens the items in the pool at `path`, which is created if it does not exist, and serves clients of all `listeners`.
    /// Clients that connect before the items are open wait until they are.
    ///
    /// # Errors
    ///
    /// Those of [`PoolOptions::open`](endura::PoolOptions::open); [`Error::Io`] if the system has no further threads or
    /// files.
    pub fn start(path: &Path, listeners: Vec<Listener>, config: &Config) -> endura::Result<Self> {
        let (known, report) = (Known::default(), config.report);
        let of_listener = known.clone();
        let mut options = config.store.clone();
        options.pool = options.pool.on_event(move |event| {
            if let Some(sentence) = of_listener.sentence(event) {
                report(&sentence);
            }
        });
        let store = Arc::new(Store::open(path, &options, now())?);
        known.set(&store);
        let failed = |doing: &str| {
            let doing = doing.to_owned();
            move |source| Error::Io { doing, source }
        };
        let addresses = ready(&listeners).map_err(failed("listening"))?;
        let threads = config.threads.max(1);
        let mut counters: Vec<_> = (0..threads).map(|_| Arc::new(Counters::default())).collect();
        counters.push(Arc::clone(store.counters()));
        let facts = Arc::new(Facts {
            store: Arc::clone(&store),
            counters: counters.clone(),
            connections: AtomicUsize::new(0),
            max_connections: config.max_connections,
            threads,
            since: Instant::now(),
        });
        let inboxes = (0..threads).map(|_| Inbox::new().map(Arc::new)).collect::<io::Result<_>>();
        let inboxes = inboxes.map_err(failed("making an event"))?;
        let stop = Stop::new().map_err(failed("making an event"))?;
        let common = Arc::new(Common { listeners, stop, inboxes });
        let worker = |(number, counters): (usize, &Arc<Counters>)| {
            Worker::new(&common, number, (Arc::clone(&facts), Arc::clone(counters)))
        };
        let workers = counters[..threads].iter().enumerate().map(worker);
        let workers = workers.collect::<io::Result<Vec<_>>>().map_err(failed("making an epoll"))?;
        let sweeper = Sweeper::start(&store).map_err(failed("starting a thread"))?;
        let evictor = Evictor::start(&store).map_err(failed("starting a thread"))?;
        let mut server = Self { addresses, common, workers: Vec::new(), sweeper, evictor, store };
        for worker in workers {
            let thread = thread::Builder::new().name("endura-serve".into());
            match thread.spawn(|| worker.run()) {
                Ok(thread) => server.workers.push(thread),
                Err(error) => {
                    // The caller gets the first failure.
                    let _ = server.stop();
                    return Err(failed("starting a thread")(error));
                }
            }
        }
        Ok(server)
    }

    /// The addresses that the server listens on, and the path of a Unix socket.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// What the start restored from a checkpoint, if it had to: after a power loss, or because the pool was missing.
    pub fn restored(&self) -> Option<Restored> {
        self.store.pool().stats().ok()?.restored
    }

    /// Ends all connections, and closes the pool. If the last checkpoint of the pool could not be made, returns why. A
    /// power loss in a later session may then take the pool back to an earlier checkpoint, or cost the pool.
    ///
    /// # Errors
    ///
    /// Those of [`Pool::close`](endura::Pool::close), or the first error of a thread.
    pub fn stop(self) -> endura::Result<Option<Error>> {
        let failed = |source| Error::Io { doing: "serving clients".to_owned(), source };
        self.common.stop.stop().map_err(failed)?;
        let mut outcome = Ok(());
        for worker in self.workers {
            let ended = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and(ended.map_err(failed));
        }
        drop((self.sweeper, self.evictor));
        let closed = self.store.pool().close()?;
        outcome.map(|()| closed.checkpoint_error)
    }
}

/// Prepares the listeners for workers, which wait for all of them at once; returns their addresses.
fn ready(listeners: &[Listener]) -> io::Result<Vec<String>> {
    listeners.iter().map(Listener::prepare).collect()
}
