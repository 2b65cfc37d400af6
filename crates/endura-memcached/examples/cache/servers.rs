//! The two servers, as child processes.

use std::io::{BufRead, BufReader, Error, Result};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::Args;
use super::client::Client;

/// The figures of `stats` that tell of evictions.
const TOLD: [&str; 7] = [
    "curr_items",
    "bytes",
    "limit_maxbytes",
    "evictions",
    "evicted_unfetched",
    "reclaimed",
    "total_items",
];

/// memcached and endura-memcached.
pub(crate) struct Servers {
    children: [Child; 2],
    addresses: [SocketAddr; 2],
    folder: TempDir,
}

impl Servers {
    pub(crate) fn start(args: &Args) -> Result<Self> {
        let folder = match &args.folder {
            Some(folder) => TempDir::new_in(folder)?,
            None => TempDir::new()?,
        };
        let (other, first) = memcached(args, &[])?;
        let (child, second) = endura(args, folder.path())?;
        Ok(Self { children: [other, child], addresses: [first, second], folder })
    }

    pub(crate) fn addresses(&self) -> [(&'static str, SocketAddr); 2] {
        [("memcached", self.addresses[0]), ("endura-memcached", self.addresses[1])]
    }

    /// Kills endura-memcached, and starts it again.
    pub(crate) fn kill_and_start(&mut self, args: &Args) -> Result<()> {
        self.children[1].kill()?;
        self.children[1].wait()?;
        (self.children[1], self.addresses[1]) = endura(args, self.folder.path())?;
        Ok(())
    }

    pub(crate) fn print_stats(&self) -> Result<()> {
        for (name, address) in self.addresses() {
            let is_told = |line: &String| {
                let name = line.split(' ').nth(1).unwrap_or_default();
                TOLD.contains(&name)
            };
            let lines = Client::connect(address)?.stats()?;
            let told: Vec<_> = lines.iter().filter(|line| is_told(line)).collect();
            let told: Vec<_> = told.iter().map(|line| line.trim_start_matches("STAT ")).collect();
            println!("{name}: {}", told.join(", "));
        }
        Ok(())
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts memcached, with more options.
pub(crate) fn memcached(args: &Args, more: &[&str]) -> Result<(Child, SocketAddr)> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let (port, memory) = (address.port().to_string(), (args.memory >> 20).to_string());
    let threads = args.threads.to_string();
    // A file of `-e` belongs to the user who runs this.
    let user = ["-u", "root"];
    let options = ["-l", "127.0.0.1", "-U", "0", "-p", &port, "-m", &memory, "-t", &threads];
    let child = Command::new("memcached").args(options).args(user).args(more).spawn()?;
    for _ in 0..100 {
        if TcpStream::connect(address).is_ok() {
            return Ok((child, address));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Err(Error::other("memcached does not start"))
}

/// Starts endura-memcached.
pub(crate) fn endura(args: &Args, folder: &Path) -> Result<(Child, SocketAddr)> {
    let (memory, threads) = (args.memory.to_string(), args.threads.to_string());
    let options = ["--port", "0", "--memory", &memory, "--threads", &threads];
    let mut child = Command::new(&args.program)
        .arg(folder.join("pool"))
        .args(options)
        .stderr(Stdio::piped())
        .spawn()?;
    let said = child.stderr.take().ok_or(Error::other("no standard error"))?;
    let mut lines = BufReader::new(said).lines();
    while let Some(line) = lines.next().transpose()? {
        if line.contains("ready on") {
            let address = line.rsplit(' ').next().and_then(|address| address.parse().ok());
            // What it says later is shown.
            thread::spawn(move || lines.map_while(Result::ok).for_each(|line| println!("{line}")));
            return Ok((child, address.ok_or(Error::other(line))?));
        }
        println!("{line}");
    }
    Err(Error::other("endura-memcached does not start"))
}
