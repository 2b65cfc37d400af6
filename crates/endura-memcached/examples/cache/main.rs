//! Measures a cache that is too small for its keys, beside memcached: hit rates, commands a second, what a kill costs, and
//! what it costs that the sizes of values change.
//! It starts both servers, asks for keys by Zipf's law, and stores what is absent.
//!
//!     cargo build --release -p endura-memcached
//!     cargo run --release -p endura-memcached --example cache -- target/release/endura-memcached
//!
//! `--restarts` shows hit rates second by second after a kill and after a deploy, of both servers.
//! `--memory 64M --seconds 3` is a short run. The pool lies in `--folder`, a new folder in it.

#![allow(clippy::unwrap_used, reason = "an example that fails ends")]
#![allow(clippy::print_stdout, reason = "an example prints")]

mod client;
mod restarts;
mod servers;

use std::io::Result;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use endura_console::text::{grouped, parse_size};

use client::{Client, Outcome};
use servers::Servers;

#[derive(Parser)]
pub(crate) struct Args {
    /// The program `endura-memcached`
    program: PathBuf,
    /// The memory of each server
    #[arg(short, long, value_parser = parse_size, default_value = "1G")]
    memory: u64,
    /// How many times more bytes the items of all keys have than fit
    #[arg(long, default_value_t = 10.0)]
    times: f64,
    /// The skew of Zipf's law
    #[arg(long, default_value_t = 0.99)]
    skew: f64,
    /// The fewest bytes of a value
    #[arg(long, default_value_t = 50)]
    least: usize,
    /// The most bytes of a value
    #[arg(long, default_value_t = 5_000)]
    most: usize,
    /// The fewest bytes of a value after the sizes have changed
    #[arg(long, default_value_t = 5_000)]
    least_later: usize,
    /// The most bytes of a value after the sizes have changed
    #[arg(long, default_value_t = 50_000)]
    most_later: usize,
    /// Connections, a thread each
    #[arg(short, long, default_value_t = 8)]
    connections: u64,
    /// Keys that a connection asks for at once
    #[arg(short, long, default_value_t = 16)]
    pipeline: usize,
    /// Rounds of each server
    #[arg(short, long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of a round
    #[arg(short, long, default_value_t = 5.0)]
    seconds: f64,
    /// How many times more bytes than fit are stored before the first round
    #[arg(long, default_value_t = 2.0)]
    warm: f64,
    /// Where the pool lies
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Measure only what restarts cost, of this server and of memcached
    #[arg(long)]
    restarts: bool,
    /// Threads of each server
    #[arg(short, long, default_value_t = 2)]
    threads: usize,
}

/// The keys of a run.
pub(crate) struct Keys {
    /// Keys by Zipf's law, in the order in which they are asked for.
    drawn: Vec<u32>,
    /// The first bytes of a key.
    pub(crate) prefix: &'static str,
    least: usize,
    most: usize,
}

impl Keys {
    fn new(args: &Args, prefix: &'static str, (least, most): (usize, usize)) -> Self {
        let bytes = (least + most) as f64 / 2.0;
        let count = (args.memory as f64 * args.times / bytes) as u32;
        let mut sum = 0.0;
        let upper: Vec<f64> = (1..=count)
            .map(|rank| {
                sum += f64::from(rank).powf(-args.skew);
                sum
            })
            .collect();
        let mut rng = fastrand::Rng::with_seed(7);
        let draw = |_| {
            let at = rng.f64() * sum;
            upper.partition_point(|&upper| upper <= at) as u32
        };
        Self { drawn: (0..10_000_000).map(draw).collect(), prefix, least, most }
    }

    pub(crate) fn at(&self, place: usize) -> u32 {
        self.drawn[place % self.drawn.len()]
    }

    /// The bytes of the value of a key, which has nothing to do with how often it is asked for.
    pub(crate) fn bytes(&self, key: u32) -> usize {
        let spread = (u64::from(key) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.least + spread as usize % (self.most - self.least + 1)
    }
}

/// All connections until a time, or until they have stored so many bytes.
fn round(address: SocketAddr, args: &Args, keys: &Keys, until: Until) -> Result<Outcome> {
    let begun = Instant::now();
    let work = |seed: u64| -> Result<Outcome> {
        let mut client = Client::connect(address)?;
        let (mut outcome, mut rng) = (Outcome::default(), fastrand::Rng::with_seed(seed));
        let mut place = rng.usize(..usize::MAX / 2);
        while !until.has_come(&outcome, args.connections) {
            if outcome.asked % 4_096 < args.pipeline as u64 {
                place = rng.usize(..usize::MAX / 2);
            }
            client.ask(keys, place, args.pipeline, &mut outcome)?;
            place += args.pipeline;
        }
        Ok(outcome)
    };
    let work = &work;
    let mut all = Outcome::default();
    thread::scope(|scope| {
        let seed = fastrand::u64(..);
        let threads: Vec<_> =
            (0..args.connections).map(|n| scope.spawn(move || work(seed ^ n))).collect();
        threads.into_iter().try_for_each(|thread| {
            all.add(&thread.join().unwrap()?);
            Result::Ok(())
        })
    })?;
    all.seconds = begun.elapsed().as_secs_f64();
    Ok(all)
}

#[derive(Clone, Copy)]
enum Until {
    Time(Instant),
    Stored(u64),
}

impl Until {
    fn has_come(self, outcome: &Outcome, connections: u64) -> bool {
        match self {
            Self::Time(at) => Instant::now() >= at,
            Self::Stored(bytes) => outcome.stored_bytes * connections >= bytes,
        }
    }

    fn after(seconds: f64) -> Self {
        Self::Time(Instant::now() + Duration::from_secs_f64(seconds))
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<()> {
    let args = Args::parse();
    let keys = Keys::new(&args, "key-", (args.least, args.most));
    if args.restarts {
        return restarts::run(&args, &keys);
    }
    let mut servers = Servers::start(&args)?;
    for (name, address) in servers.addresses() {
        let stored = Until::Stored((args.warm * args.memory as f64) as u64);
        let warm = round(address, &args, &keys, stored)?;
        println!("{name}: warmed by {}", warm.text());
    }
    let mut rounds = [Vec::new(), Vec::new()];
    for number in 0..args.rounds {
        for i in 0..2 {
            let which = (i + number) % 2;
            let (name, address) = servers.addresses()[which];
            let outcome = round(address, &args, &keys, Until::after(args.seconds))?;
            println!("{name}: {}", outcome.text());
            rounds[which].push(outcome);
        }
    }
    let of = |which: usize, what: fn(&Outcome) -> f64| {
        median(&mut rounds[which].iter().map(what).collect::<Vec<_>>())
    };
    for (which, (name, _)) in servers.addresses().into_iter().enumerate() {
        println!(
            "{name}: median of {} rounds: {:.2} % hits, {} commands/s, {} sets/s",
            args.rounds,
            of(which, Outcome::hit_rate),
            grouped(of(which, Outcome::rate) as u64),
            grouped(of(which, Outcome::set_rate) as u64),
        );
    }
    println!(
        "endura-memcached has {:+.2} % hits, and does {:.2} times the commands",
        of(1, Outcome::hit_rate) - of(0, Outcome::hit_rate),
        of(1, Outcome::rate) / of(0, Outcome::rate)
    );
    servers.print_stats()?;
    kill(&args, &keys, &mut servers)?;
    change(&args, &servers)
}

/// What a kill costs: the time to the first hit, and the hit rate of each second after it.
fn kill(args: &Args, keys: &Keys, servers: &mut Servers) -> Result<()> {
    let killed = Instant::now();
    servers.kill_and_start(args)?;
    let (_, address) = servers.addresses()[1];
    let started = killed.elapsed();
    let (mut client, mut outcome) = (Client::connect(address)?, Outcome::default());
    let mut place = 0;
    while outcome.hits == 0 {
        client.ask(keys, place, 1, &mut outcome)?;
        place += 1;
    }
    println!(
        "after kill -9: ready {} ms after the kill, the first hit {} ms after it",
        started.as_millis(),
        killed.elapsed().as_millis()
    );
    for second in 1..=8 {
        let outcome = round(address, args, keys, Until::after(1.0))?;
        println!("second {second} after the kill: {}", outcome.text());
    }
    servers.print_stats()
}

/// What it costs that all values have other sizes than before: the hit rate and the longest wait of each second.
fn change(args: &Args, servers: &Servers) -> Result<()> {
    let keys = Keys::new(args, "other-", (args.least_later, args.most_later));
    for (name, address) in servers.addresses() {
        for second in 1..=8 {
            let outcome = round(address, args, &keys, Until::after(1.0))?;
            println!("{name}: second {second} with other sizes: {}", outcome.text());
        }
    }
    servers.print_stats()
}
