//! The program `endura-memcached`: its arguments and signals. The server itself is the library of this crate.

#![forbid(unsafe_code)]

use std::net::{IpAddr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use clap::Parser;
use endura::{Checkpoints, Pool};
use endura_console::outcome::{Answer, Failure, Result, arguments, exit, tell};
use endura_console::text::{duration, parse_size};
use endura_memcached::{Config, MAX_ITEM, Server, StoreOptions, allow_connections};
use nix::sys::signal::{SigSet, Signal};

const ABOUT: &str = "\
Items are stored in the pool, a file that is created if it does not exist. They
survive the process: after `kill -9` the next start serves everything that was
acknowledged. SIGTERM and Ctrl-C close the pool. After a power loss the next
start takes the pool back to its last checkpoint.

A store into a full pool is answered with SERVER_ERROR, as by `memcached -M`:
nothing is evicted. Expired items are removed in the background.";

/// A server of memcached's text protocol whose items survive the process.
#[derive(Parser)]
#[command(name = "endura-memcached", version, after_help = ABOUT, args_override_self = true)]
struct Args {
    /// The pool with the items
    pool: PathBuf,
    /// The address to listen on
    #[arg(short, long, default_value = "127.0.0.1")]
    listen: IpAddr,
    /// The TCP port
    #[arg(short, long, default_value_t = 11211)]
    port: u16,
    /// The largest size of the pool, as 512M or 4G
    #[arg(short, long, value_parser = parse_memory, default_value = "1G")]
    memory: u64,
    /// The most clients at a time
    #[arg(short, long, default_value_t = 1024)]
    connections: usize,
    /// Threads that serve clients
    #[arg(short, long, default_value_t = 4, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=256))]
    threads: usize,
    /// The most bytes of an item's data
    #[arg(short = 'I', long, value_parser = parse_item, default_value = "1M")]
    max_item_size: usize,
    /// Make a checkpoint every SECONDS from now on; with 0 only when the server stops; `off` for none: a power loss may then
    /// cost the pool [default: as the pool was left; 30 for a new one]
    #[arg(long, value_name = "SECONDS", value_parser = Checkpoints::from_str)]
    checkpoint_every: Option<Checkpoints>,
}

fn parse_memory(text: &str) -> std::result::Result<u64, String> {
    const LEAST: u64 = 4 << 20;
    match parse_size(text)? {
        // memcached counts in MiB, this program in bytes.
        size if size < LEAST => Err(format!("less than 4M; for {text} MiB write {text}M")),
        size => Ok(size),
    }
}

fn parse_item(text: &str) -> std::result::Result<usize, String> {
    match usize::try_from(parse_size(text)?) {
        Ok(size) if (1..=MAX_ITEM).contains(&size) => Ok(size),
        _ => Err(format!("not between 1 and {MAX_ITEM} bytes")),
    }
}

fn main() -> ExitCode {
    match arguments::<Args>("endura-memcached") {
        Ok(args) => exit("endura-memcached", run(&args)),
        Err(code) => code,
    }
}

fn run(args: &Args) -> Result {
    end_with_a_panic();
    // Threads that start later inherit the blocked signals.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    let failed = |what: &str, error: nix::Error| Failure::Message(format!("{what}: {error}"));
    signals.thread_block().map_err(|error| failed("blocking signals", error))?;
    allow_connections(args.connections).map_err(|error| Failure::Usage(error.to_string()))?;
    let pool = Pool::options().max_size(args.memory);
    let pool = match &args.checkpoint_every {
        None => pool,
        Some(when) => pool.checkpoints(when.clone()),
    };
    let config = Config {
        threads: args.threads,
        max_connections: args.connections,
        store: StoreOptions { pool, max_item: args.max_item_size },
        report: |sentence| tell(format_args!("endura-memcached: {sentence}")),
    };
    let address = (args.listen, args.port);
    let listener = TcpListener::bind(address).map_err(|error| {
        let (listen, port) = address;
        Failure::Message(format!("listening on {listen}, port {port}: {error}"))
    })?;
    let server = Server::start(&args.pool, listener, &config)
        .map_err(|error| Failure::at(&args.pool, &error))?;
    if let Some(at) = server.restored() {
        let age = duration(at.elapsed().unwrap_or_default());
        tell(format_args!(
            "endura-memcached: the machine went down while the pool was open: taken back to its checkpoint of {age} \
             ago; later writes are lost"
        ));
    }
    tell(format_args!("endura-memcached: ready on {}", server.address()));
    signals.wait().map_err(|error| failed("waiting for a signal", error))?;
    let lost = server.stop().map_err(|error| Failure::at(&args.pool, &error))?;
    if let Some(error) = lost {
        tell(format_args!(
            "endura-memcached: the pool is closed, and its last checkpoint could not be made: {error}"
        ));
    }
    Ok(Answer::Yes)
}

/// Lets a panic of any thread end the process. A server that lacks a thread would answer some clients and not others,
/// and the next start has everything that was acknowledged.
fn end_with_a_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
}
