//! The program, by its socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

struct Running {
    child: Child,
    address: SocketAddr,
}

impl Running {
    fn start(pool: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_endura-memcached"))
            .arg(pool)
            .args(["--port", "0", "--memory", "64M"])
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().parse();
        Self { child, address: address.unwrap_or_else(|_| panic!("{line}")) }
    }

    fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Client(BufReader::new(stream))
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn terminate(mut self) {
        let pid = nix::unistd::Pid::from_raw(self.child.id() as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

struct Client(BufReader<TcpStream>);

impl Client {
    fn say(&mut self, text: &str) -> std::io::Result<()> {
        self.0.get_mut().write_all(text.as_bytes())
    }

    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        match self.0.read_line(&mut line)? {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }

    fn ask(&mut self, text: &str) -> std::io::Result<String> {
        self.say(text)?;
        self.line()
    }

    /// The data of an item.
    fn get(&mut self, key: &str) -> Option<String> {
        let line = self.ask(&format!("get {key}\r\n")).unwrap();
        if line == "END" {
            return None;
        }
        let bytes: usize = line.rsplit(' ').next().unwrap().parse().unwrap();
        let mut data = vec![0; bytes + 2];
        self.0.read_exact(&mut data).unwrap();
        assert_eq!(self.line().unwrap(), "END");
        data.truncate(bytes);
        Some(String::from_utf8(data).unwrap())
    }
}

/// What was acknowledged is there after each kill, and a counter that several clients count up has lost nothing and counted
/// nothing twice.
#[test]
fn a_killed_server_has_all_that_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    let mut counted = 0;
    for round in 0..5 {
        let server = Running::start(&pool, &["--threads", "2"]);
        let mut client = server.connect();
        if round == 0 {
            assert_eq!(client.ask("set n 0 0 1\r\n0\r\n").unwrap(), "STORED");
        }
        let (acknowledged, begun) = (AtomicU64::new(0), AtomicU64::new(0));
        let kept = AtomicU64::new(0);
        let ends = AtomicBool::new(false);
        thread::scope(|scope| {
            for writer in 0..3 {
                let mut client = server.connect();
                let (acknowledged, begun, kept, ends) = (&acknowledged, &begun, &kept, &ends);
                scope.spawn(move || {
                    for i in 0.. {
                        if ends.load(Ordering::Relaxed) {
                            break;
                        }
                        let set = format!("set r{round}w{writer}i{i} 0 0 3\r\nabc\r\n");
                        if client.ask(&set).is_err() {
                            break;
                        }
                        if writer == 0 {
                            kept.store(i + 1, Ordering::Relaxed);
                        }
                        begun.fetch_add(1, Ordering::Relaxed);
                        if client.ask("incr n 1\r\n").is_err() {
                            break;
                        }
                        acknowledged.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            thread::sleep(Duration::from_millis(200));
            server.kill();
            ends.store(true, Ordering::Relaxed);
        });
        let server = Running::start(&pool, &[]);
        let mut client = server.connect();
        let number: u64 = client.get("n").unwrap().parse().unwrap();
        let [acknowledged, begun] =
            [&acknowledged, &begun].map(|count| count.load(Ordering::Relaxed));
        assert!((counted + acknowledged..=counted + begun).contains(&number), "{number}");
        assert!(acknowledged > 0);
        counted = number;
        for i in 0..kept.load(Ordering::Relaxed) {
            assert_eq!(client.get(&format!("r{round}w0i{i}")).as_deref(), Some("abc"));
        }
        server.terminate();
    }
}

#[test]
fn clients_beyond_the_limit_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&folder.path().join("pool"), &["--connections", "2"]);
    let mut first = server.connect();
    let mut second = server.connect();
    assert!(first.ask("version\r\n").unwrap().starts_with("VERSION"));
    assert!(second.ask("version\r\n").unwrap().starts_with("VERSION"));
    let mut third = server.connect();
    assert_eq!(third.line().unwrap(), "ERROR Too many open connections");
    drop(first);
    thread::sleep(Duration::from_millis(100));
    assert!(server.connect().ask("version\r\n").unwrap().starts_with("VERSION"));
    second.say("stats\r\n").unwrap();
    let stats: Vec<String> =
        std::iter::from_fn(|| second.line().ok().filter(|line| line != "END")).collect();
    assert!(stats.iter().any(|line| line == "STAT rejected_connections 1"), "{stats:?}");
    server.terminate();
}

/// A client that does not read does not take the memory of the server, nor the time of the others.
#[test]
fn a_client_that_does_not_read_waits_alone() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&folder.path().join("pool"), &["--threads", "1"]);
    let mut slow = server.connect();
    let data = "d".repeat(1 << 20);
    let line = slow.ask(&format!("set a 0 0 {}\r\n{data}\r\n", data.len())).unwrap();
    assert_eq!(line, "STORED");
    for _ in 0..200 {
        slow.say("get a\r\n").unwrap();
    }
    let mut other = server.connect();
    assert!(other.ask("version\r\n").unwrap().starts_with("VERSION"));
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let rss = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kib: u64 = rss.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 40_000, "{kib} KiB");
    // And when it reads, all is there.
    for _ in 0..200 {
        assert_eq!(slow.line().unwrap(), format!("VALUE a 0 {}", data.len()));
        let mut found = vec![0; data.len() + 2];
        slow.0.read_exact(&mut found).unwrap();
        assert_eq!(slow.line().unwrap(), "END");
    }
    server.terminate();
}
