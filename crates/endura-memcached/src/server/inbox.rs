//! Clients that wait for a worker. The kernel would give most new clients to the worker that waited last, so that one
//! worker would serve them all. Here the worker with the fewest clients gets the next one.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;

use super::socket::Stream;

/// The inbox of one worker.
#[derive(Debug)]
pub(super) struct Inbox {
    waiting: Mutex<Vec<Stream>>,
    /// Wakes the worker.
    bell: OwnedFd,
    /// The number of clients of the worker, waiting ones included.
    clients: AtomicUsize,
}

impl Inbox {
    pub(super) fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { waiting: Mutex::default(), bell, clients: AtomicUsize::new(0) })
    }

    /// The inbox of the worker with the fewest clients. Relaxed, because the second-best worker would do too.
    pub(super) fn emptiest(all: &[Arc<Self>]) -> Option<&Self> {
        let of = |inbox: &&Arc<Self>| inbox.clients.load(Ordering::Relaxed);
        all.iter().min_by_key(of).map(|inbox| &**inbox)
    }

    /// The event that epoll waits for.
    pub(super) fn bell(&self) -> &OwnedFd {
        &self.bell
    }

    /// Gives the worker a client.
    pub(super) fn give(&self, client: Stream) {
        self.clients.fetch_add(1, Ordering::Relaxed);
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(client);
        // The write fails only if the bell rings already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Takes the clients that wait.
    pub(super) fn take(&self) -> Vec<Stream> {
        // The bell is silenced first, so that it rings again for a client that comes later.
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that a client has left.
    pub(super) fn leave(&self) {
        self.clients.fetch_sub(1, Ordering::Relaxed);
    }
}
