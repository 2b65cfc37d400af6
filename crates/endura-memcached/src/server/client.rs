//! One client's socket.

use std::io::{self, ErrorKind, Read, Write};

use rustix::event::epoll::EventFlags;

use super::socket::Stream;
use crate::protocol::{Connection, Context, TURN};
use crate::store::Counter;

/// The most bytes that are sent to a client before other clients have their turn.
const MOST_SENT: usize = 4 << 20;

/// A socket, and the dialogue on it.
#[derive(Debug)]
pub(super) struct Client {
    stream: Stream,
    connection: Connection,
    /// Whether the client sends nothing further. It may still read.
    has_ended: bool,
    /// The events that epoll waits for.
    pub(super) waits_for: EventFlags,
}

impl Client {
    pub(super) fn new(stream: Stream) -> io::Result<Self> {
        stream.prepare()?;
        let (connection, waits_for) = (Connection::default(), EventFlags::IN);
        Ok(Self { stream, connection, has_ended: false, waits_for })
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Serves the client for one turn. Returns what to wait for before the next turn, or none if the connection is over.
    pub(super) fn serve(&mut self, context: &Context, buffer: &mut [u8]) -> Option<EventFlags> {
        // One piece is read in each turn, so that no client keeps the others waiting.
        if self.wants_input() {
            self.read(context, buffer).ok()?;
        }
        let (mut turn, mut to_send) = (TURN, MOST_SENT);
        loop {
            self.connection.work(context, &mut turn);
            if !self.write(context, &mut to_send).ok()? {
                let input = if self.wants_input() { EventFlags::IN } else { EventFlags::empty() };
                return Some(input | EventFlags::OUT);
            }
            if !self.connection.has_work() {
                let is_over = self.connection.ends() || self.has_ended;
                return (!is_over).then_some(EventFlags::IN);
            }
            if turn == 0 || to_send == 0 {
                // The socket takes output, so the next turn comes as soon as the others have had theirs.
                return Some(EventFlags::OUT);
            }
        }
    }

    fn wants_input(&self) -> bool {
        !self.has_ended && self.connection.wants_input()
    }

    /// Reads a piece, or notes the end.
    fn read(&mut self, context: &Context, buffer: &mut [u8]) -> io::Result<()> {
        match self.stream.read(buffer) {
            Ok(0) => self.has_ended = true,
            Ok(bytes) => {
                context.counters.add(Counter::BytesRead, bytes as u64);
                self.connection.receive(&buffer[..bytes]);
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
        Ok(())
    }

    /// Sends replies; returns false if the client has to read some first, or has had its share of this turn.
    fn write(&mut self, context: &Context, to_send: &mut usize) -> io::Result<bool> {
        while !self.connection.output().is_empty() {
            if *to_send == 0 {
                return Ok(false);
            }
            match self.stream.write(self.connection.output()) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => {
                    context.counters.add(Counter::BytesWritten, bytes as u64);
                    self.connection.has_sent(bytes);
                    *to_send = to_send.saturating_sub(bytes);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::time::{Duration, Instant};

    use endura::Pool;

    use super::*;
    use crate::protocol::Facts;
    use crate::store::{Counters, Store, StoreOptions};

    /// A client with much to do is not served to the end at once, but in several turns.
    #[test]
    fn a_turn_ends_before_the_work() {
        let folder = tempfile::tempdir().unwrap();
        let options =
            StoreOptions { pool: Pool::options().max_size(64 << 20), max_item: 1000, evicts: true };
        let store = Store::open(&folder.path().join("pool"), &options, 1).unwrap();
        let counters = Arc::new(Counters::default());
        let facts = Facts {
            store: Arc::new(store),
            counters: vec![Arc::clone(&counters)],
            connections: AtomicUsize::new(1),
            max_connections: 1,
            threads: 1,
            since: Instant::now(),
        };
        let context = Context { facts: Arc::new(facts), counters, now: 1 };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut client = Client::new(Stream::Tcp(listener.accept().unwrap().0)).unwrap();
        let line = format!("get{}\r\n", " k".repeat(3 * TURN));
        peer.write_all(line.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let mut buffer = vec![0; 64 << 10];
        let mut turns = 0;
        while client.serve(&context, &mut buffer) == Some(EventFlags::OUT) {
            turns += 1;
        }
        assert!((2..6).contains(&turns), "{turns} turns");
        assert_eq!(context.counters.get(Counter::GetMisses), 3 * TURN as u64);
    }
}
