//! Hit rates second by second after a server was killed, or stopped for a deploy, and started again: this server, memcached,
//! and memcached with `-e`, which keeps its items in a file on a tmpfs across a clean stop.

use std::fs;
use std::io::{Error, Result};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::client::{Client, Outcome};
use super::servers::{endura, memcached};
use super::{Args, Keys, Until, round};

/// The seconds that are shown.
const SECONDS: u64 = 12;
/// The longest that a server takes to stop.
const PATIENCE: Duration = Duration::from_secs(60);

type Start = fn(&Args, &Path) -> Result<(Child, SocketAddr)>;

fn kept_by_memcached(args: &Args, folder: &Path) -> Result<(Child, SocketAddr)> {
    let file = folder.join("memory").display().to_string();
    memcached(args, &["-e", &file])
}

pub(crate) fn run(args: &Args, keys: &Keys) -> Result<()> {
    let without_a_file: Start = |args, _| memcached(args, &[]);
    let cases: [(&str, Start, Signal); 5] = [
        ("endura-memcached, kill -9", endura, Signal::SIGKILL),
        ("endura-memcached, a deploy (SIGTERM)", endura, Signal::SIGTERM),
        ("memcached, kill -9 or a deploy", without_a_file, Signal::SIGKILL),
        ("memcached -e, a deploy (SIGUSR1)", kept_by_memcached, Signal::SIGUSR1),
        ("memcached -e, kill -9", kept_by_memcached, Signal::SIGKILL),
    ];
    for (name, start, signal) in cases {
        // memcached maps its file from a tmpfs.
        let folder = TempDir::new_in(args.folder.as_deref().unwrap_or(Path::new("/dev/shm")))?;
        println!("{name}:");
        case(args, keys, folder.path(), start, signal)?;
    }
    Ok(())
}

fn case(args: &Args, keys: &Keys, folder: &Path, start: Start, signal: Signal) -> Result<()> {
    let (mut child, address) = start(args, folder)?;
    let stored = Until::Stored((args.warm * args.memory as f64) as u64);
    round(address, args, keys, stored)?;
    let before = round(address, args, keys, Until::after(args.seconds))?;
    let stopped = Instant::now();
    kill(Pid::from_raw(child.id() as i32), signal)?;
    while child.try_wait()?.is_none() {
        if stopped.elapsed() > PATIENCE {
            child.kill()?;
            return Err(Error::other("the server does not stop"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    if signal == Signal::SIGUSR1 {
        // memcached does not take a file that was left in the same second.
        std::thread::sleep(Duration::from_millis(1_100));
    }
    let (mut child, address) = start(args, folder)?;
    let shown = after(args, keys, address, stopped, &before);
    child.kill()?;
    child.wait()?;
    let _ = fs::remove_dir_all(folder);
    shown
}

fn after(
    args: &Args,
    keys: &Keys,
    address: SocketAddr,
    stopped: Instant,
    before: &Outcome,
) -> Result<()> {
    let ready = stopped.elapsed();
    let (mut client, mut first) = (Client::connect(address)?, Outcome::default());
    let mut place = 0;
    while first.hits == 0 && stopped.elapsed() < Duration::from_secs(1) + ready {
        client.ask(keys, place, 1, &mut first)?;
        place += 1;
    }
    let hit = if first.hits > 0 { stopped.elapsed().as_millis().to_string() } else { "…".into() };
    println!("  ready after {} ms, the first hit after {hit} ms", ready.as_millis());
    bar("before", before.hit_rate());
    for second in 1..=SECONDS {
        let end = stopped + Duration::from_secs(second);
        if Instant::now() > end {
            println!("  {second:>6} down");
            continue;
        }
        let outcome = round(address, args, keys, Until::Time(end))?;
        bar(&second.to_string(), outcome.hit_rate());
    }
    Ok(())
}

fn bar(name: &str, percent: f64) {
    println!("  {name:>6} {percent:5.1} {}", "█".repeat((percent / 2.0).round() as usize));
}
