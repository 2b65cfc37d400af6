//! A connection that asks for keys, and stores those that are absent.

use std::io::{BufRead, BufReader, Error, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use endura_console::text::grouped;

use super::Keys;

/// What was done.
#[derive(Default, Clone)]
pub(crate) struct Outcome {
    pub(crate) asked: u64,
    pub(crate) hits: u64,
    pub(crate) sets: u64,
    pub(crate) refused: u64,
    pub(crate) stored_bytes: u64,
    pub(crate) seconds: f64,
    /// The longest time from a request to its last reply.
    pub(crate) longest: Duration,
}

impl Outcome {
    pub(crate) fn add(&mut self, other: &Self) {
        self.asked += other.asked;
        self.hits += other.hits;
        self.sets += other.sets;
        self.refused += other.refused;
        self.stored_bytes += other.stored_bytes;
        self.longest = self.longest.max(other.longest);
    }

    /// In percent.
    pub(crate) fn hit_rate(&self) -> f64 {
        100.0 * self.hits as f64 / self.asked.max(1) as f64
    }

    pub(crate) fn rate(&self) -> f64 {
        (self.asked + self.sets) as f64 / self.seconds
    }

    pub(crate) fn set_rate(&self) -> f64 {
        self.sets as f64 / self.seconds
    }

    pub(crate) fn text(&self) -> String {
        let [asked, sets] = [self.asked, self.sets].map(grouped);
        format!(
            "{asked} gets, {:.2} % hits, {sets} sets of which {} were refused, {} commands/s, longest {} ms",
            self.hit_rate(),
            self.refused,
            grouped(self.rate() as u64),
            self.longest.as_millis()
        )
    }
}

/// A connection.
pub(crate) struct Client {
    stream: TcpStream,
    replies: BufReader<TcpStream>,
    said: Vec<u8>,
    line: Vec<u8>,
    data: Vec<u8>,
    absent: Vec<u32>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let replies = BufReader::with_capacity(256 << 10, stream.try_clone()?);
        let [said, line, data] = [(); 3].map(|()| Vec::new());
        Ok(Self { stream, replies, said, line, data, absent: Vec::new() })
    }

    fn send(&mut self) -> Result<()> {
        self.stream.write_all(&self.said)?;
        self.said.clear();
        Ok(())
    }

    fn read_line(&mut self) -> Result<()> {
        self.line.clear();
        self.replies.read_until(b'\n', &mut self.line)?;
        Ok(())
    }

    /// Asks for some keys at once, then stores at once those that are absent.
    pub(crate) fn ask(
        &mut self,
        keys: &Keys,
        place: usize,
        count: usize,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let begun = Instant::now();
        let (prefix, asked) = (keys.prefix, (place..place + count).map(|place| keys.at(place)));
        for key in asked.clone() {
            write!(self.said, "get {prefix}{key:012}\r\n")?;
        }
        self.send()?;
        self.absent.clear();
        for key in asked {
            if self.was_found(keys.bytes(key))? {
                outcome.hits += 1;
            } else {
                self.absent.push(key);
            }
        }
        outcome.asked += count as u64;
        for at in 0..self.absent.len() {
            let key = self.absent[at];
            let bytes = keys.bytes(key);
            write!(self.said, "set {prefix}{key:012} 0 0 {bytes}\r\n")?;
            self.said.extend(std::iter::repeat_n(b'v', bytes));
            self.said.extend_from_slice(b"\r\n");
            outcome.stored_bytes += bytes as u64;
        }
        self.send()?;
        for _ in 0..self.absent.len() {
            self.read_line()?;
            outcome.sets += 1;
            match self.line.as_slice() {
                b"STORED\r\n" => {}
                line if line.starts_with(b"SERVER_ERROR out of memory") => outcome.refused += 1,
                line => return Err(Error::other(String::from_utf8_lossy(line).into_owned())),
            }
        }
        outcome.longest = outcome.longest.max(begun.elapsed());
        Ok(())
    }

    fn was_found(&mut self, bytes: usize) -> Result<bool> {
        self.read_line()?;
        if self.line == b"END\r\n" {
            return Ok(false);
        }
        self.data.resize(bytes + 2 + 5, 0);
        self.replies.read_exact(&mut self.data)?;
        if !self.line.starts_with(b"VALUE ") || !self.data.ends_with(b"\r\nEND\r\n") {
            let line = String::from_utf8_lossy(&self.line).into_owned();
            return Err(Error::other(format!("the server answers {line:?}")));
        }
        Ok(true)
    }

    /// The lines of the reply to `stats`.
    pub(crate) fn stats(&mut self) -> Result<Vec<String>> {
        self.said.extend_from_slice(b"stats\r\n");
        self.send()?;
        let mut lines = Vec::new();
        loop {
            self.read_line()?;
            let line = String::from_utf8_lossy(&self.line).trim().to_owned();
            if line == "END" {
                return Ok(lines);
            }
            lines.push(line);
        }
    }
}
