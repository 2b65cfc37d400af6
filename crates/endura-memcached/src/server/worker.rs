//! A thread that serves clients: it accepts them, and waits for all of its own at once.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;

use super::client::Client;
use crate::clock::now;
use crate::protocol::{Context, Facts};
use crate::store::{Counter, Counters};

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;
/// Clients that are looked at in one turn.
const EVENTS: usize = 256;
/// How long a worker rests when the process has no more file descriptors.
const PAUSE: Duration = Duration::from_millis(10);

/// The event that ends all workers.
#[derive(Debug)]
pub(super) struct Stop(OwnedFd);

impl Stop {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Nobody reads it, so that each worker sees it.
    pub(super) fn stop(&self) -> io::Result<()> {
        rustix::io::write(&self.0, &1_u64.to_ne_bytes())?;
        Ok(())
    }
}

// What an event is about: these, or a client's number.
const LISTENER: u64 = 0;
const STOP: u64 = 1;
const FIRST_CLIENT: u64 = 2;

/// A thread that serves clients.
#[derive(Debug)]
pub(super) struct Worker {
    epoll: OwnedFd,
    listener: Arc<TcpListener>,
    /// Kept open for as long as epoll knows it.
    _stop: Arc<Stop>,
    clients: HashMap<u64, Client>,
    next: u64,
    context: Context,
    buffer: Vec<u8>,
}

impl Worker {
    pub(super) fn new(
        listener: Arc<TcpListener>,
        stop: Arc<Stop>,
        (facts, counters): (&Arc<Facts>, Arc<Counters>),
    ) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        // Of all that wait for a client one is woken.
        let accepts = EventFlags::IN | EventFlags::EXCLUSIVE;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), accepts)?;
        epoll::add(&epoll, &stop.0, EventData::new_u64(STOP), EventFlags::IN)?;
        Ok(Self {
            epoll,
            listener,
            _stop: stop,
            clients: HashMap::new(),
            next: FIRST_CLIENT,
            context: Context { facts: Arc::clone(facts), counters, now: now() },
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
            self.context.now = now();
            for event in events.drain(..) {
                match event.data.u64() {
                    STOP => return Ok(()),
                    LISTENER => self.accept()?,
                    client => self.serve(client)?,
                }
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        match self.listener.accept() {
            Ok((stream, _)) => self.welcome(stream),
            Err(error) => match error.kind() {
                // Another worker was faster, or the client has gone already.
                ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {
                    Ok(())
                }
                // Until somebody goes, nothing can be done about it.
                _ => {
                    std::thread::sleep(PAUSE);
                    Ok(())
                }
            },
        }
    }

    fn welcome(&mut self, mut stream: TcpStream) -> io::Result<()> {
        let facts = &self.context.facts;
        // Relaxed: a bound, and figures.
        if facts.connections.fetch_add(1, Ordering::Relaxed) >= facts.max_connections {
            facts.connections.fetch_sub(1, Ordering::Relaxed);
            self.context.counters.count(Counter::Rejected);
            // Whether it hears that or not.
            let _ = stream.write_all(b"ERROR Too many open connections\r\n");
            return Ok(());
        }
        self.context.counters.count(Counter::Connections);
        let number = self.next;
        let client = match Client::new(stream) {
            Ok(client) => client,
            Err(_) => {
                self.context.facts.connections.fetch_sub(1, Ordering::Relaxed);
                return Ok(());
            }
        };
        epoll::add(&self.epoll, client.stream(), EventData::new_u64(number), client.waits_for)?;
        self.next += 1;
        self.clients.insert(number, client);
        Ok(())
    }

    fn serve(&mut self, number: u64) -> io::Result<()> {
        // It may have gone in the same turn.
        let Some(client) = self.clients.get_mut(&number) else { return Ok(()) };
        match client.serve(&self.context, &mut self.buffer) {
            Some(waits_for) if waits_for == client.waits_for => Ok(()),
            Some(waits_for) => {
                client.waits_for = waits_for;
                let data = EventData::new_u64(number);
                Ok(epoll::modify(&self.epoll, client.stream(), data, waits_for)?)
            }
            None => {
                // The end of the socket takes it out of epoll.
                self.clients.remove(&number);
                self.context.facts.connections.fetch_sub(1, Ordering::Relaxed);
                Ok(())
            }
        }
    }
}
