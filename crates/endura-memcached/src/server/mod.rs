//! Threads, sockets, the end.

mod client;
mod worker;

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use endura::Error;

use crate::protocol::Facts;
use crate::store::{Counters, Store, StoreOptions, Sweeper};
use worker::{Stop, Worker};

/// How a server listens and works.
#[derive(Debug, Clone)]
pub struct Config {
    /// Threads that serve clients.
    pub threads: usize,
    /// The most clients at a time; others are turned away.
    pub max_connections: usize,
    /// Where items are kept.
    pub store: StoreOptions,
}

/// A server that runs. It ends when it is [stopped](Self::stop).
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Arc<Stop>,
    workers: Vec<JoinHandle<io::Result<()>>>,
    sweeper: Sweeper,
    store: Arc<Store>,
}

impl Server {
    /// Opens the items in the pool at `path`, which is made if it is not there, and listens. Returns when clients can
    /// connect.
    ///
    /// # Errors
    ///
    /// Those of [`PoolOptions::open`](endura::PoolOptions::open); [`Error::Io`] if it cannot listen there.
    pub fn start(path: &Path, listen: impl ToSocketAddrs, config: &Config) -> endura::Result<Self> {
        let store = Arc::new(Store::open(path, &config.store)?);
        let failed = |doing: &str| {
            let doing = doing.to_owned();
            move |source| Error::Io { doing, source }
        };
        let listener = TcpListener::bind(listen).map_err(failed("listening"))?;
        listener.set_nonblocking(true).map_err(failed("listening"))?;
        let address = listener.local_addr().map_err(failed("listening"))?;
        let threads = config.threads.max(1);
        // The last one is the sweeper's.
        let counters: Vec<_> = (0..=threads).map(|_| Arc::new(Counters::default())).collect();
        let facts = Arc::new(Facts {
            store: Arc::clone(&store),
            counters: counters.clone(),
            connections: AtomicUsize::new(0),
            max_connections: config.max_connections,
            threads,
            since: Instant::now(),
        });
        let stop = Arc::new(Stop::new().map_err(failed("making an event"))?);
        let sweeper = Sweeper::start(&store, Arc::clone(&counters[threads]))
            .map_err(failed("starting a thread"))?;
        let listener = Arc::new(listener);
        let mut server = Self { address, stop, workers: Vec::new(), sweeper, store };
        for counters in counters.into_iter().take(threads) {
            let worker =
                Worker::new(Arc::clone(&listener), Arc::clone(&server.stop), (&facts, counters));
            let worker = worker.map_err(failed("making an epoll"))?;
            let thread = thread::Builder::new().name("endura-serve".into());
            let thread = thread.spawn(|| worker.run()).map_err(failed("starting a thread"))?;
            server.workers.push(thread);
        }
        Ok(server)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all connections, and closes the pool.
    ///
    /// # Errors
    ///
    /// Those of [`Pool::close`](endura::Pool::close), or the first of a thread.
    pub fn stop(self) -> endura::Result<()> {
        let failed = |source| Error::Io { doing: "serving clients".to_owned(), source };
        self.stop.stop().map_err(failed)?;
        let mut outcome = Ok(());
        for worker in self.workers {
            let ended = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and(ended.map_err(failed));
        }
        drop(self.sweeper);
        self.store.pool().close().and(outcome)
    }
}
