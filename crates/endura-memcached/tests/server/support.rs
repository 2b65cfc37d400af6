//! A server as a child process, and a client of it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Result, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use endura::Pool;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The longest that a client waits for a reply.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The command line of a server.
pub(crate) fn command(pool: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_endura-memcached"));
    command.arg(pool).args(["--port", "0", "--memory", "64M"]).args(more);
    command
}

/// A server that is expected not to start; its exit code, none if it runs, and what it says.
pub(crate) fn refused(pool: &Path, more: &[&str]) -> (Option<i32>, String) {
    let mut child = command(pool, more).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(5);
    while child.try_wait().unwrap().is_none() && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    // One that runs is ended, and fails the test.
    let _ = child.kill();
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// Verifies the pool of a server that has ended, and returns its entries. No key may be there twice. It writes nothing, so
/// the next server finds the pool as the last one has left it.
pub(crate) fn contents(pool: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let pool = Pool::options().read_only(true).open_existing(pool).unwrap();
    pool.verify().unwrap();
    let (mut entries, mut count) = (BTreeMap::new(), 0);
    for entry in pool.map::<[u8], [u8]>("memcached items").unwrap().iter() {
        let (key, value) = entry.unwrap();
        count += 1;
        entries.insert(key, value);
        assert_eq!(entries.len(), count, "a key is there twice");
    }
    pool.close().unwrap();
    entries
}

/// A server that runs.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

impl Running {
    pub(crate) fn start(pool: &Path, more: &[&str]) -> Self {
        let mut child = command(pool, more).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().parse();
        Self { child, address: address.unwrap_or_else(|_| panic!("{line}")) }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.address).unwrap()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Kills the server while others use it.
    pub(crate) fn kill_in_place(&self) {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGKILL).unwrap();
    }

    /// Ends the server by SIGTERM, as which it must close the pool.
    pub(crate) fn terminate(mut self) {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    /// A line of `/proc/<pid>/status` in KiB.
    pub(crate) fn status(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that fails leaves no server behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An item as `get` shows it: key, flags, number of the store (0 for none), data.
pub(crate) type Shown = (String, u32, u64, Vec<u8>);

/// A client.
pub(crate) struct Client(pub(crate) BufReader<TcpStream>);

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self(BufReader::new(stream)))
    }

    pub(crate) fn say(&mut self, text: impl AsRef<[u8]>) -> Result<()> {
        self.0.get_mut().write_all(text.as_ref())
    }

    pub(crate) fn line(&mut self) -> Result<String> {
        let mut line = Vec::new();
        match self.0.read_until(b'\n', &mut line)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(String::from_utf8_lossy(&line).trim_end().to_owned()),
        }
    }

    pub(crate) fn ask(&mut self, text: impl AsRef<[u8]>) -> Result<String> {
        self.say(text)?;
        self.line()
    }

    /// The items that a `get` or one of its kin shows.
    pub(crate) fn items(&mut self, text: &str) -> Result<Vec<Shown>> {
        self.say(text)?;
        let mut items = Vec::new();
        loop {
            let line = self.line()?;
            let words: Vec<&str> = line.split(' ').collect();
            let (key, flags, bytes) = match words[..] {
                ["END"] => return Ok(items),
                ["VALUE", key, flags, bytes] | ["VALUE", key, flags, bytes, _] => {
                    (key, flags, bytes)
                }
                _ => panic!("to {text:?}: {line:?}"),
            };
            let cas = words.get(4).map_or(0, |cas| cas.parse().unwrap());
            let mut data = vec![0; bytes.parse::<usize>().unwrap() + 2];
            self.0.read_exact(&mut data)?;
            assert!(data.ends_with(b"\r\n"), "to {text:?}");
            data.truncate(data.len() - 2);
            items.push((key.to_owned(), flags.parse().unwrap(), cas, data));
        }
    }

    /// The data of an item.
    pub(crate) fn get(&mut self, key: &str) -> Option<String> {
        let (_, _, _, data) = self.items(&format!("get {key}\r\n")).unwrap().pop()?;
        Some(String::from_utf8(data).unwrap())
    }

    /// Sends nothing further, and returns all that still comes. None if the server does not end the connection in time.
    pub(crate) fn rest(self) -> Option<Vec<u8>> {
        self.rest_or_reset().map(|(rest, _)| rest)
    }

    /// The same, and whether the server has ended the connection while input was under way. Then replies may be lost.
    pub(crate) fn rest_or_reset(mut self) -> Option<(Vec<u8>, bool)> {
        // The server may have closed the socket already.
        let _ = self.0.get_mut().shutdown(Shutdown::Write);
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => Some((rest, false)),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Some((rest, true)),
            Err(_) => None,
        }
    }
}

/// How long a test tries random input.
pub(crate) fn fuzz_seconds() -> Duration {
    Duration::from_secs(from_environment("ENDURA_FUZZ_SECONDS", 3))
}

/// A number in the environment.
pub(crate) fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// A figure of `stats`.
pub(crate) fn stat(client: &mut Client, name: &str) -> u64 {
    client.say("stats\r\n").unwrap();
    let mut found = None;
    loop {
        let line = client.line().unwrap();
        if line == "END" {
            return found.unwrap_or_else(|| panic!("no {name}"));
        }
        let mut words = line.split(' ').skip(1);
        if words.next() == Some(name) {
            found = words.next().and_then(|value| value.parse().ok());
        }
    }
}
