//! The program `endura-memcached`.

#![forbid(unsafe_code)]

use std::io::{Write, stderr};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use endura::Pool;
use endura_console::outcome::{Answer, Failure, Result, arguments, exit};
use endura_console::text::parse_size;
use endura_memcached::{Config, Server, StoreOptions};
use nix::sys::signal::{SigSet, Signal};

const ABOUT: &str = "\
Items are in the pool, a file that is made if it is not there. They survive the
process: after `kill -9` the next start has all that was acknowledged. SIGTERM
and Ctrl-C close the pool. On a disk a power loss takes it back to its last
checkpoint.

When the pool is full a store is answered with SERVER_ERROR, as by memcached
with -M: nothing is evicted. Expired items are removed by and by.";

/// A server of memcached's text protocol whose items survive the process.
#[derive(Parser)]
#[command(name = "endura-memcached", version, after_help = ABOUT)]
struct Args {
    /// The pool with the items
    pool: PathBuf,
    /// The address to listen on
    #[arg(short, long, default_value = "127.0.0.1")]
    listen: IpAddr,
    /// The TCP port
    #[arg(short, long, default_value_t = 11211)]
    port: u16,
    /// The largest size of the pool
    #[arg(short, long, value_parser = parse_size, default_value = "1G")]
    memory: u64,
    /// The most clients at a time
    #[arg(short, long, default_value_t = 1024)]
    connections: usize,
    /// Threads that serve clients
    #[arg(short, long, default_value_t = 4, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=256))]
    threads: usize,
    /// The most bytes of an item's data
    #[arg(short = 'I', long, value_parser = parse_size, default_value = "1M")]
    max_item_size: u64,
}

fn main() -> ExitCode {
    match arguments::<Args>("endura-memcached") {
        Ok(args) => exit("endura-memcached", run(&args)),
        Err(code) => code,
    }
}

fn run(args: &Args) -> Result {
    // Threads that start later inherit it.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    let failed = |what: &str, error: nix::Error| Failure::Message(format!("{what}: {error}"));
    signals.thread_block().map_err(|error| failed("blocking signals", error))?;
    let config = Config {
        threads: args.threads,
        max_connections: args.connections,
        store: StoreOptions {
            pool: Pool::options().max_size(args.memory),
            max_item: usize::try_from(args.max_item_size).unwrap_or(usize::MAX),
        },
    };
    let server = Server::start(&args.pool, (args.listen, args.port), &config)
        .map_err(|error| Failure::at(&args.pool, &error))?;
    // Nobody has to read it.
    let _ = writeln!(stderr(), "endura-memcached: ready on {}", server.address());
    signals.wait().map_err(|error| failed("waiting for a signal", error))?;
    server.stop().map_err(|error| Failure::at(&args.pool, &error))?;
    Ok(Answer::Yes)
}
