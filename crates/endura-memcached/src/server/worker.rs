//! A thread that serves clients: it accepts connections, and waits for all of its clients at once.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;

use super::client::Client;
use super::inbox::Inbox;
use super::socket::{Listener, Stream};
use crate::clock::now;
use crate::protocol::{Context, Facts};
use crate::store::{Counter, Counters};

/// The most bytes that are read at once.
const PIECE: usize = 64 << 10;
/// The most events that are handled before the clock is read again.
const EVENTS: usize = 256;
/// The pause of a worker when the system has no further file for a client.
const PAUSE: Duration = Duration::from_millis(10);

/// The event that ends all workers.
#[derive(Debug)]
pub(super) struct Stop(OwnedFd);

impl Stop {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Ends the workers. None of them reads the event, so that each sees it.
    pub(super) fn stop(&self) -> io::Result<()> {
        rustix::io::write(&self.0, &1_u64.to_ne_bytes())?;
        Ok(())
    }
}

// The subject of an event: one of these, or the number of a client or a listener.
const STOP: u64 = 0;
const INBOX: u64 = 1;
const FIRST_CLIENT: u64 = 2;
/// The first listener; the numbers after it are those of the others.
const LISTENERS: u64 = 1 << 63;

/// The state that the workers share.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) listeners: Vec<Listener>,
    pub(super) stop: Stop,
    /// The inboxes of all workers.
    pub(super) inboxes: Vec<Arc<Inbox>>,
}

/// A thread that serves clients.
#[derive(Debug)]
pub(super) struct Worker {
    epoll: OwnedFd,
    common: Arc<Common>,
    inbox: Arc<Inbox>,
    clients: HashMap<u64, Client>,
    next: u64,
    context: Context,
    buffer: Vec<u8>,
}

impl Worker {
    /// Makes the worker with this number.
    pub(super) fn new(
        common: &Arc<Common>,
        number: usize,
        (facts, counters): (Arc<Facts>, Arc<Counters>),
    ) -> io::Result<Self> {
        let (common, inbox) = (Arc::clone(common), Arc::clone(&common.inboxes[number]));
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        // A new client wakes one of the workers that wait.
        let accepts = EventFlags::IN | EventFlags::EXCLUSIVE;
        for (number, listener) in (LISTENERS..).zip(&common.listeners) {
            epoll::add(&epoll, listener, EventData::new_u64(number), accepts)?;
        }
        epoll::add(&epoll, &common.stop.0, EventData::new_u64(STOP), EventFlags::IN)?;
        epoll::add(&epoll, inbox.bell(), EventData::new_u64(INBOX), EventFlags::IN)?;
        Ok(Self {
            epoll,
            common,
            inbox,
            clients: HashMap::new(),
            next: FIRST_CLIENT,
            context: Context { facts, counters, now: now() },
            buffer: vec![0; PIECE],
        })
    }

    /// Serves until it is stopped.
    pub(super) fn run(mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.context.wake();
            for event in events.drain(..) {
                match event.data.u64() {
                    STOP => return Ok(()),
                    listener @ LISTENERS.. => self.accept((listener - LISTENERS) as usize),
                    INBOX => self.inbox.take().into_iter().for_each(|it| self.welcome(it)),
                    client => self.serve(client),
                }
            }
        }
    }

    fn accept(&self, listener: usize) {
        match self.common.listeners[listener].accept() {
            Ok(stream) => self.admit(stream),
            Err(error) => match error.kind() {
                // Another worker was faster, or the client has gone already.
                ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                // The system has no file for the client until another one leaves, and epoll reports the listener again at once.
                _ => std::thread::sleep(PAUSE),
            },
        }
    }

    /// Gives a client to a worker, or turns it away.
    fn admit(&self, mut stream: Stream) {
        let facts = &self.context.facts;
        // Relaxed, because the number is only a bound and a figure.
        if facts.connections.fetch_add(1, Ordering::Relaxed) >= facts.max_connections {
            facts.connections.fetch_sub(1, Ordering::Relaxed);
            self.context.counters.count(Counter::Rejected);
            // The client may be gone.
            let _ = stream.write_all(b"ERROR Too many open connections\r\n");
            return;
        }
        self.context.counters.count(Counter::Connections);
        Inbox::emptiest(&self.common.inboxes).unwrap_or(&self.inbox).give(stream);
    }

    fn welcome(&mut self, stream: Stream) {
        let added = Client::new(stream).and_then(|client| {
            let data = EventData::new_u64(self.next);
            epoll::add(&self.epoll, client.stream(), data, client.waits_for)?;
            Ok(client)
        });
        match added {
            Ok(client) => {
                self.clients.insert(self.next, client);
                self.next += 1;
            }
            // The system can take no further client; the others stay.
            Err(_) => self.leave(),
        }
    }

    fn serve(&mut self, number: u64) {
        // The client may have left earlier in this turn.
        let Some(client) = self.clients.get_mut(&number) else { return };
        let waits_for = client.serve(&self.context, &mut self.buffer);
        let stays = waits_for.is_some_and(|waits_for| {
            if waits_for == client.waits_for {
                return true;
            }
            client.waits_for = waits_for;
            let data = EventData::new_u64(number);
            epoll::modify(&self.epoll, client.stream(), data, waits_for).is_ok()
        });
        if !stays {
            // A closed socket leaves epoll by itself.
            self.clients.remove(&number);
            self.leave();
        }
    }

    fn leave(&self) {
        self.inbox.leave();
        // Relaxed, because the number is only a bound and a figure.
        self.context.facts.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
