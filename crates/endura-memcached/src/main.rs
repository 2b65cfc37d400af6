//! The program `endura-memcached`: its arguments and signals. The server itself is the library of this crate.

#![forbid(unsafe_code)]

mod listen;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use clap::Parser;
use endura::{Checkpoints, Pool, Restored};
use endura_console::outcome::{Answer, Failure, Result, arguments, exit, says_where, tell};
use endura_console::text::{parse_size, printable};
use endura_memcached::{
    Config, Listener, MAX_ITEM, Server, StoreOptions, allow_connections, in_words, sentence,
};
use nix::sys::signal::{SigSet, Signal};

const ABOUT: &str = "\
Examples:
  endura-memcached cache.endura
  endura-memcached /srv/cache.endura -m 4G -l 10.0.0.5,localhost

Items are stored in the pool, a file that is created if it does not exist. They survive the process: after `kill -9` the \
next start serves everything that was acknowledged. SIGTERM and Ctrl-C close the pool. After a power loss the next start \
takes the pool back to its last checkpoint.

When the pool is full, items that were not fetched of late make way for new ones, unless `--disable-evictions` is given. \
Expired items are removed in the background.";

/// A server of memcached's text protocol whose items survive the process.
#[derive(Parser)]
#[command(name = "endura-memcached", version, after_help = ABOUT, args_override_self = true)]
struct Args {
    /// The pool with the items
    pool: PathBuf,
    /// The addresses to listen on, or names of hosts, separated by commas; every client that reaches one may do
    /// everything
    #[arg(short, long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    listen: String,
    /// The TCP port
    #[arg(short, long, default_value_t = 11211)]
    port: u16,
    /// Listen on this Unix socket, and not on TCP
    #[arg(short = 's', long, value_name = "PATH")]
    unix_socket: Option<PathBuf>,
    /// Who has access to the Unix socket: bits of a file's mode, in octal
    #[arg(short = 'a', long, value_name = "MODE", value_parser = parse_mask, default_value = "0700")]
    access_mask: u32,
    /// The largest size of the pool, as 512M or 4G
    #[arg(short, long, value_name = "SIZE", value_parser = parse_memory, default_value = "1G")]
    memory: u64,
    /// Refuse to store an item when the pool is full, and evict none
    #[arg(short = 'M', long)]
    disable_evictions: bool,
    /// The most clients at a time
    #[arg(short, long, value_name = "NUMBER", default_value_t = 1024)]
    connections: usize,
    /// Threads that serve clients
    #[arg(short, long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=256))]
    threads: usize,
    /// The most bytes of an item's data
    #[arg(short = 'I', long, value_name = "SIZE", value_parser = parse_item, default_value = "1M")]
    max_item_size: usize,
    /// Seconds between checkpoints from now on, 0.001 to 4,000,000; 0: only when the server stops; `off` disables them, and a
    /// power failure may then destroy the pool [default: as the pool was left; 30 for a new one]
    #[arg(long, value_name = "SECONDS", value_parser = parse_checkpoints)]
    checkpoint_every: Option<Checkpoints>,
    /// The file of the checkpoints, on a local disk; give it at each start [default: POOL.checkpoint]
    #[arg(long, value_name = "PATH")]
    checkpoint_file: Option<PathBuf>,
    /// Changes nothing: what the operator has to know is always on standard error
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
    #[arg(short = 'u', long, hide = true)]
    user: Option<String>,
    #[arg(short = 'd', long, hide = true)]
    daemon: bool,
}

fn parse_memory(text: &str) -> std::result::Result<u64, String> {
    const LEAST: u64 = 4 << 20;
    match parse_size(text)? {
        // memcached counts in MiB, this program in bytes.
        size if size < LEAST => match text.parse::<u64>() {
            Ok(number) => Err(format!("less than 4M; for {number} MiB write {number}M")),
            Err(_) => Err("less than 4M, the smallest pool".into()),
        },
        size => Ok(size),
    }
}

fn parse_mask(text: &str) -> std::result::Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mask) if mask <= 0o777 => Ok(mask),
        _ => Err("not an octal number up to 0777".into()),
    }
}

fn parse_checkpoints(text: &str) -> std::result::Result<Checkpoints, String> {
    Checkpoints::from_str(text).map_err(|error| in_words(&error))
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
    refuse_habits(args)?;
    end_with_a_panic();
    // Threads that start later inherit the blocked signals.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    let failed = |what: &str, error: nix::Error| Failure::Message(format!("{what}: {error}"));
    signals.thread_block().map_err(|error| failed("blocking signals", error))?;
    allow_connections(args.connections).map_err(|error| Failure::Usage(error.to_string()))?;
    let pool = Pool::options().max_size(args.memory);
    let pool = match chosen(args)? {
        None => pool,
        Some(checkpoints) => pool.checkpoints(checkpoints),
    };
    let config = Config {
        threads: args.threads,
        max_connections: args.connections,
        store: StoreOptions { pool, max_item: args.max_item_size, evicts: !args.disable_evictions },
        report: |sentence| tell(format_args!("endura-memcached: {sentence}")),
    };
    let listeners: Vec<Listener> = match &args.unix_socket {
        Some(path) => vec![listen::at(path, args.access_mask)?.into()],
        None => listen::on(&args.listen, args.port)?.into_iter().map(Into::into).collect(),
    };
    let server = Server::start(&args.pool, listeners, &config)
        .map_err(|error| at_pool(&args.pool, &error))?;
    if let Some(restored) = server.restored() {
        let text = printable(&told(&args.pool, &restored), true);
        tell(format_args!("endura-memcached: {text}"));
    }
    tell(format_args!("endura-memcached: ready on {}", server.addresses().join(", ")));
    signals.wait().map_err(|error| failed("waiting for a signal", error))?;
    let lost = server.stop().map_err(|error| at_pool(&args.pool, &error))?;
    if let Some(path) = &args.unix_socket {
        // One that is left is removed by the next start.
        let _ = std::fs::remove_file(path);
    }
    if let Some(error) = lost {
        tell(format_args!(
            "endura-memcached: the pool is closed, and its last checkpoint could not be made: {}",
            sentence(&error)
        ));
    }
    Ok(Answer::Yes)
}

/// Fails for options of memcached that this program leaves to others.
fn refuse_habits(args: &Args) -> Result<()> {
    let text = if let Some(user) = &args.user {
        format!(
            "`-u` is not an option here: start the server as that user, by `User={user}` in a unit of systemd, or by \
             `setpriv --reuid={user} --regid={user} --init-groups endura-memcached ...`"
        )
    } else if args.daemon {
        "`-d` is not an option here: start the server as a unit of systemd, or by \
         `setsid nohup endura-memcached ... >LOG 2>&1 &`"
            .into()
    } else {
        return Ok(());
    };
    Err(Failure::Usage(text))
}

/// The checkpoints that the arguments choose, if they choose any.
fn chosen(args: &Args) -> Result<Option<Checkpoints>> {
    let off = args.checkpoint_every == Some(Checkpoints::off());
    match &args.checkpoint_file {
        None => Ok(args.checkpoint_every.clone()),
        Some(_) if off => Err(Failure::Usage(
            "`--checkpoint-every off` excludes `--checkpoint-file`: leave one of them out".into(),
        )),
        Some(file) => {
            let when = args.checkpoint_every.clone().unwrap_or_else(Checkpoints::as_left);
            Ok(Some(when.in_file(file)))
        }
    }
}

/// A failure of the library that concerns the pool.
fn at_pool(path: &Path, error: &endura::Error) -> Failure {
    let (text, path) = (sentence(error), path.display().to_string());
    let text = if says_where(&text, &path) { text } else { format!("{path}: {text}") };
    Failure::Pool { code: error.code(), text }
}

/// What an open has restored, as a sentence.
fn told(pool: &Path, restored: &Restored) -> String {
    let (pool, age) = (pool.display(), restored.at.elapsed().unwrap_or_default().as_secs());
    let text = match restored.reason {
        None => {
            format!("{pool}: the pool was missing: made anew from its checkpoint of {age} s ago")
        }
        Some(reason) => format!(
            "{pool}: taken back to its checkpoint of {age} s ago, because {}; later writes are lost",
            in_words(reason)
        ),
    };
    match &restored.kept {
        Some(kept) => format!("{text}; the pool as it was found is {}", kept.display()),
        None => text,
    }
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
