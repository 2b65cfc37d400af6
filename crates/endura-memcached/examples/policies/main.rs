//! Compares policies of eviction by their hit rates. Each request asks for a key, and stores it if it is absent.
//!
//!     cargo run --release -p endura-memcached --example policies

#![allow(clippy::print_stdout, reason = "an example prints")]

mod hand;
mod queues;
mod segments;
mod trace;

use clap::Parser;

use trace::Trace;

#[derive(Parser)]
pub(crate) struct Args {
    /// Keys
    #[arg(long, default_value_t = 200_000)]
    keys: u32,
    /// The share of the keys that fit, in percent
    #[arg(long, default_value_t = 10)]
    fit: u32,
    /// Requests of a trace
    #[arg(long, default_value_t = 4_000_000)]
    requests: usize,
}

/// A cache with a policy.
pub(crate) trait Cache {
    /// Asks for a key, and stores it if it is absent; returns whether it was there.
    fn ask(&mut self, key: u32, bytes: u64) -> bool;
}

type Make = fn(u64, usize) -> Box<dyn Cache>;

const POLICIES: [(&str, Make); 8] = [
    ("LRU", |room, keys| Box::new(segments::Lru::new(room, keys))),
    ("segmented LRU, as memcached", |room, keys| Box::new(segments::Segmented::new(room, keys))),
    ("CLOCK", |room, keys| Box::new(queues::Clock::new(room, keys))),
    ("CLOCK in key order", |room, keys| Box::new(hand::Bit::new(room, keys))),
    ("SIEVE", |room, keys| Box::new(queues::Sieve::new(room, keys))),
    ("S3-FIFO", |room, keys| Box::new(queues::S3Fifo::new(room, keys))),
    ("a hand in key order, and counters: the eighth that is worth least", |room, keys| {
        Box::new(hand::Hand::new(room, keys, 1.0 / 8.0))
    }),
    ("the same, the quarter", |room, keys| Box::new(hand::Hand::new(room, keys, 1.0 / 4.0))),
];

/// The hits of a policy on a trace, in percent of the requests that count.
fn hits(make: Make, trace: &Trace, room: u64) -> f64 {
    let mut cache = make(room, trace.sizes.len());
    let (mut hits, mut all) = (0_u64, 0_u64);
    for (number, &key) in trace.keys.iter().enumerate() {
        let is_hit = cache.ask(key, trace.sizes[key as usize]);
        if number >= trace.keys.len() / 4 && key < trace.scanned_from {
            hits += u64::from(is_hit);
            all += 1;
        }
    }
    100.0 * hits as f64 / all as f64
}

fn main() {
    let args = Args::parse();
    let traces = Trace::all(&args);
    print!("| policy |");
    traces.iter().for_each(|(name, _)| print!(" {name} |"));
    print!("\n| --- |");
    traces.iter().for_each(|_| print!(" --- |"));
    println!();
    for (name, make) in POLICIES {
        print!("| {name} |");
        for (_, trace) in &traces {
            let room =
                trace.sizes[..args.keys as usize].iter().sum::<u64>() * u64::from(args.fit) / 100;
            print!(" {:.1} |", hits(make, trace, room));
        }
        println!();
    }
}
