//! Requests that are sent many at a time over one connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use crate::{Error, Result};

/// Requests that are under way at once.
const AT_ONCE: usize = 64;

/// The client of one connection.
pub(super) struct Client {
    stream: BufReader<TcpStream>,
    store: &'static str,
}

impl Client {
    pub(super) fn new(stream: TcpStream, store: &'static str) -> Self {
        Self { stream: BufReader::new(stream), store }
    }

    /// Sends requests and reads an answer to each by `answer`; million requests a second.
    pub(super) fn run(
        &mut self,
        requests: &[Vec<u8>],
        answer: fn(&mut Self) -> Result<()>,
    ) -> Result<f64> {
        let begun = Instant::now();
        for together in requests.chunks(AT_ONCE) {
            let sent = self.stream.get_mut().write_all(&together.concat());
            sent.map_err(|error| self.ended(&error.to_string()))?;
            for _ in together {
                answer(self)?;
            }
        }
        Ok(requests.len() as f64 / begun.elapsed().as_secs_f64() / 1e6)
    }

    pub(super) fn line(&mut self) -> Result<String> {
        let mut line = Vec::new();
        match self.stream.read_until(b'\n', &mut line) {
            Ok(0) => Err(self.ended("the connection was closed")),
            Ok(_) => Ok(String::from_utf8_lossy(&line).trim_end().to_owned()),
            Err(error) => Err(self.ended(&error.to_string())),
        }
    }

    /// Reads past so many bytes and the end of their line.
    pub(super) fn skip(&mut self, bytes: usize) -> Result<()> {
        let mut rest = vec![0; bytes + 2];
        self.stream.read_exact(&mut rest).map_err(|error| self.ended(&error.to_string()))
    }

    pub(super) fn ended(&self, what: &str) -> Error {
        Error::Peer { store: self.store, what: what.to_owned() }
    }
}

/// A request of Redis' protocol.
pub(super) fn redis(words: &[&str]) -> Vec<u8> {
    let mut request = format!("*{}\r\n", words.len());
    for word in words {
        request += &format!("${}\r\n{word}\r\n", word.len());
    }
    request.into_bytes()
}

/// One answer of Redis: a number, a line or a value.
pub(super) fn redis_answer(client: &mut Client) -> Result<()> {
    let line = client.line()?;
    match line.as_bytes().first() {
        Some(b'$') => match line[1..].parse::<usize>() {
            Ok(len) => client.skip(len),
            Err(_) => Err(client.ended("a key is not there")),
        },
        Some(b':' | b'+') => Ok(()),
        _ => Err(client.ended(&line)),
    }
}

/// One answer of memcached: to a set, or to a get of one key.
pub(super) fn memcached_answer(client: &mut Client) -> Result<()> {
    let line = client.line()?;
    if line == "STORED" {
        return Ok(());
    }
    let len = line.strip_prefix("VALUE ").and_then(|rest| rest.rsplit(' ').next()?.parse().ok());
    let Some(len) = len else { return Err(client.ended(&line)) };
    client.skip(len)?;
    let end = client.line()?;
    if end == "END" { Ok(()) } else { Err(client.ended(&end)) }
}
