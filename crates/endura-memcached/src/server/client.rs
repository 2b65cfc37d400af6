//! One client's socket.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use rustix::event::epoll::EventFlags;

use crate::protocol::{Connection, Context};
use crate::store::Counter;

/// A socket, and what was said there.
#[derive(Debug)]
pub(super) struct Client {
    stream: TcpStream,
    connection: Connection,
    /// What epoll waits for.
    pub(super) waits_for: EventFlags,
}

impl Client {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, connection: Connection::default(), waits_for: EventFlags::IN })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// What it waits for after what can be done now is done; none if the client is to be forgotten.
    pub(super) fn serve(&mut self, context: &Context, buffer: &mut [u8]) -> Option<EventFlags> {
        // One piece a turn: so no client keeps the others waiting.
        if self.connection.wants_input() && !self.read(context, buffer) {
            return None;
        }
        loop {
            self.connection.work(context);
            if self.connection.output().is_empty() {
                return (!self.connection.ends()).then_some(EventFlags::IN);
            }
            match self.write(context) {
                Ok(true) => {}
                Ok(false) if self.connection.wants_input() => {
                    return Some(EventFlags::IN | EventFlags::OUT);
                }
                Ok(false) => return Some(EventFlags::OUT),
                Err(_) => return None,
            }
        }
    }

    /// Reads a piece; false if nothing comes any more.
    fn read(&mut self, context: &Context, buffer: &mut [u8]) -> bool {
        match self.stream.read(buffer) {
            Ok(0) => false,
            Ok(bytes) => {
                context.counters.add(Counter::BytesRead, bytes as u64);
                self.connection.receive(&buffer[..bytes]);
                true
            }
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }

    /// Sends what there is; false if the client has to take some first.
    fn write(&mut self, context: &Context) -> io::Result<bool> {
        while !self.connection.output().is_empty() {
            match self.stream.write(self.connection.output()) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => {
                    context.counters.add(Counter::BytesWritten, bytes as u64);
                    self.connection.has_sent(bytes);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
