//! Loads one or two servers of memcached's text protocol and prints what they do. With two it alternates between them, so
//! that a change of the machine meets both, and prints the ratio of the medians.
//!
//!     cargo run --release -p endura-memcached --example load -- 127.0.0.1:11211 127.0.0.1:11212 --rounds 7
//!
//! Each connection is a thread. It sends `--pipeline` commands at once, reads all replies, checks them, and goes on. The
//! keys are uniformly distributed over `--keys`; all of them are stored before the first round.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::io::{BufRead, BufReader, Error, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use endura_console::text::grouped;

#[derive(Parser)]
struct Args {
    /// One or two addresses of servers
    #[arg(required = true, num_args = 1..=2)]
    addresses: Vec<SocketAddr>,
    /// Connections, a thread each
    #[arg(short, long, default_value_t = 16)]
    connections: u64,
    /// Commands that a connection sends at once
    #[arg(short, long, default_value_t = 1)]
    pipeline: usize,
    /// The share of `get` among the commands, in percent; the others are `set`
    #[arg(short, long, default_value_t = 90)]
    gets: u8,
    /// Keys
    #[arg(short, long, default_value_t = 100_000)]
    keys: u64,
    /// Bytes of a value
    #[arg(short, long, default_value_t = 100)]
    value: usize,
    /// Rounds of each server
    #[arg(short, long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of a round
    #[arg(short, long, default_value_t = 5.0)]
    seconds: f64,
    /// Store no keys before the first round
    #[arg(long)]
    no_fill: bool,
}

/// What one round of one server, or one connection in it, has done.
#[derive(Default, Clone)]
struct Outcome {
    commands: u64,
    hits: u64,
    misses: u64,
    /// Commands per second.
    rate: f64,
    /// Microseconds from the write of a batch to its last reply.
    micros: Vec<u32>,
}

impl Outcome {
    /// The time within which this share of the batches were answered.
    fn within(&self, share: f64) -> u32 {
        let at = (self.micros.len() as f64 * share) as usize;
        self.micros.get(at.min(self.micros.len().saturating_sub(1))).copied().unwrap_or(0)
    }
}

/// A connection with its buffers.
struct Connection {
    stream: TcpStream,
    replies: BufReader<TcpStream>,
    said: Vec<u8>,
    line: Vec<u8>,
    data: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq)]
enum Sent {
    Get,
    Set,
}

impl Connection {
    fn open(address: SocketAddr, value: usize) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        // A server that hangs ends the run.
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let replies = BufReader::with_capacity(64 << 10, stream.try_clone()?);
        let (said, line, data) = (Vec::new(), Vec::new(), vec![b'v'; value + 2]);
        Ok(Self { stream, replies, said, line, data })
    }

    fn get(&mut self, key: u64) {
        // Writing to a vector does not fail.
        let _ = write!(self.said, "get key-{key:012}\r\n");
    }

    fn set(&mut self, key: u64) {
        let value = self.data.len() - 2;
        let _ = write!(self.said, "set key-{key:012} 0 0 {value}\r\n");
        self.said.extend(std::iter::repeat_n(b'v', value));
        self.said.extend_from_slice(b"\r\n");
    }

    fn send(&mut self) -> Result<()> {
        self.stream.write_all(&self.said)?;
        self.said.clear();
        Ok(())
    }

    fn line(&mut self) -> Result<&[u8]> {
        self.line.clear();
        self.replies.read_until(b'\n', &mut self.line)?;
        Ok(self.line.trim_ascii_end())
    }

    /// Reads a reply; returns whether the key was there.
    fn reply(&mut self, sent: Sent) -> Result<bool> {
        let line = self.line()?;
        match (sent, line) {
            (Sent::Set, b"STORED") => return Ok(true),
            (Sent::Get, b"END") => return Ok(false),
            (Sent::Get, line) if line.starts_with(b"VALUE key-") => {}
            (_, line) => {
                let text = String::from_utf8_lossy(line).into_owned();
                return Err(Error::other(format!("the server answers {text:?}")));
            }
        }
        self.replies.read_exact(&mut self.data)?;
        if !self.data.ends_with(b"\r\n") || self.line()? != b"END" {
            return Err(Error::other("the value has another length than was stored"));
        }
        Ok(true)
    }
}

/// Stores all keys.
fn fill(address: SocketAddr, args: &Args) -> Result<()> {
    let mut connection = Connection::open(address, args.value)?;
    let keys: Vec<u64> = (0..args.keys).collect();
    for some in keys.chunks(64) {
        some.iter().for_each(|&key| connection.set(key));
        connection.send()?;
        for _ in some {
            connection.reply(Sent::Set)?;
        }
    }
    Ok(())
}

/// One connection's part of a round.
fn work(address: SocketAddr, args: &Args, seed: u64, until: Instant) -> Result<Outcome> {
    let mut connection = Connection::open(address, args.value)?;
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut outcome, mut sent) = (Outcome::default(), Vec::new());
    loop {
        sent.clear();
        for _ in 0..args.pipeline.max(1) {
            let key = rng.u64(..args.keys.max(1));
            if rng.u8(..100) < args.gets {
                connection.get(key);
                sent.push(Sent::Get);
            } else {
                connection.set(key);
                sent.push(Sent::Set);
            }
        }
        let begun = Instant::now();
        if begun >= until {
            return Ok(outcome);
        }
        connection.send()?;
        for &sent in &sent {
            let found = connection.reply(sent)?;
            outcome.hits += u64::from(sent == Sent::Get && found);
            outcome.misses += u64::from(!found);
        }
        outcome.commands += sent.len() as u64;
        outcome.micros.push(u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
}

/// A round of all connections.
fn round(address: SocketAddr, args: &Args, number: usize) -> Result<Outcome> {
    let begun = Instant::now();
    let until = begun + Duration::from_secs_f64(args.seconds);
    let parts: Result<Vec<Outcome>> = thread::scope(|scope| {
        let start = |i| scope.spawn(move || work(address, args, i * 1_000 + number as u64, until));
        let threads: Vec<_> = (0..args.connections.max(1)).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut all = Outcome::default();
    for part in parts? {
        all.commands += part.commands;
        all.hits += part.hits;
        all.misses += part.misses;
        all.micros.extend(part.micros);
    }
    all.rate = all.commands as f64 / begun.elapsed().as_secs_f64();
    all.micros.sort_unstable();
    Ok(all)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<()> {
    let args = Args::parse();
    for &address in args.addresses.iter().filter(|_| !args.no_fill) {
        fill(address, &args)?;
    }
    let mut outcomes = vec![Vec::new(); args.addresses.len()];
    for number in 0..args.rounds.max(1) {
        // Each is the first one in every second round.
        for i in 0..args.addresses.len() {
            let i = (i + number) % args.addresses.len();
            let outcome = round(args.addresses[i], &args, number)?;
            println!(
                "{}: {} commands/s, {} hits, {} misses; a batch within {} us (half), {} us (99 %)",
                args.addresses[i],
                grouped(outcome.rate as u64),
                grouped(outcome.hits),
                grouped(outcome.misses),
                grouped(outcome.within(0.5).into()),
                grouped(outcome.within(0.99).into()),
            );
            outcomes[i].push(outcome);
        }
    }
    let mut rates = Vec::new();
    for (address, rounds) in args.addresses.iter().zip(&outcomes) {
        let rate = median(rounds.iter().map(|round| round.rate));
        let [half, most] =
            [0.5, 0.99].map(|share| median(rounds.iter().map(|round| round.within(share).into())));
        println!(
            "{address}: median of {} rounds {} commands/s; a batch within {half:.0} us (half), {most:.0} us (99 %)",
            rounds.len(),
            grouped(rate as u64),
        );
        rates.push(rate);
    }
    if let [first, second] = rates[..] {
        println!("the second does {:.2} times the commands of the first", second / first);
    }
    Ok(())
}
