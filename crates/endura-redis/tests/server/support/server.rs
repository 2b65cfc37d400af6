//! A server, started and killed.

use std::fs;
use std::io::{self, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::client::{Client, Reply};

/// A running server. It is killed when it is dropped.
pub(crate) struct Server {
    folder: PathBuf,
    process: Child,
    port: u16,
    pub(crate) options: Vec<String>,
}

/// The module, as Cargo has built it for this test.
pub(crate) fn module() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let places = program
        .ancestors()
        .skip(1)
        .take(3)
        .flat_map(|folder| [folder.to_owned(), folder.join("deps")]);
    let newest = places.map(|folder| folder.join("libendura_redis.so")).filter_map(|path| {
        let time = fs::metadata(&path).and_then(|meta| meta.modified()).ok()?;
        Some((time, path))
    });
    newest.max().expect("the module is built beside its tests").1
}

/// The server that is tested: `redis-server`, or the program that `ENDURA_REDIS_SERVER` names.
pub(crate) fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        std::env::var("ENDURA_REDIS_SERVER").unwrap_or_else(|_| "redis-server".into())
    })
}

/// What the server that is tested says of its version, such as `Redis server v=7.0.15 ...`.
pub(crate) fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let output = Command::new(program()).arg("--version").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    })
}

/// Whether the server that is tested is Valkey.
pub(crate) fn is_valkey() -> bool {
    version().starts_with("Valkey")
}

/// Whether the server that is tested is a Redis before 7.2, which has no WAITAOF and lets no module declare categories.
pub(crate) fn is_before_7_2() -> bool {
    ["v=7.0", "v=7.1"].iter().any(|old| version().contains(old))
}

/// A port of this machine that nobody has.
pub(crate) fn free_port() -> u16 {
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        // The bus of a cluster is 10,000 above.
        if port < 50_000 && TcpListener::bind(("127.0.0.1", port + 10_000)).is_ok() {
            return port;
        }
    }
}

impl Server {
    /// Starts one in a folder, with options as on the command line of `redis-server`: `--save "" --appendonly no` if none
    /// are given.
    pub(crate) fn start(folder: &Path, options: &[&str]) -> Self {
        Self::start_with(folder, 0, &["data.endura"], options)
    }

    pub(crate) fn start_with(folder: &Path, port: u16, module: &[&str], options: &[&str]) -> Self {
        fs::create_dir_all(folder).unwrap();
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let module: Vec<String> = module.iter().map(ToString::to_string).collect();
        let options = [
            vec!["--loadmodule".into()],
            vec![self::module().display().to_string()],
            module,
            options,
        ]
        .concat();
        let process = spawn(folder, port, &options);
        let mut server = Self { folder: folder.to_owned(), process, port, options };
        server.wait();
        server
    }

    /// With a file of options, which loads the module.
    pub(crate) fn with_file(folder: &Path, file: &Path) -> Self {
        Self::plain(folder, &[&file.display().to_string()])
    }

    /// Without the module: to compare with.
    pub(crate) fn plain(folder: &Path, options: &[&str]) -> Self {
        fs::create_dir_all(folder).unwrap();
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let process = spawn(folder, 0, &options);
        let mut server = Self { folder: folder.to_owned(), process, port: 0, options };
        server.wait();
        server
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Waits until its log has this.
    pub(crate) fn wait_for_log(&self, text: &str) {
        let begin = Instant::now();
        while !self.log().contains(text) {
            assert!(begin.elapsed() < Duration::from_secs(60), "no `{text}`: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn client(&self) -> Client {
        self.try_client().unwrap_or_else(|error| panic!("{error}: {}", self.log()))
    }

    pub(crate) fn try_client(&self) -> io::Result<Client> {
        Client::at(&self.folder.join("socket"))
    }

    /// Waits until it answers a PING.
    fn wait(&mut self) {
        let begin = Instant::now();
        loop {
            let pong = self.try_client().and_then(|mut client| client.ask(&[b"PING"]));
            if pong.is_ok_and(|pong| pong == Reply::Simple("PONG".into())) {
                return;
            }
            if let Some(status) = self.process.try_wait().unwrap() {
                panic!("the server ended ({status}): {}", self.log());
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "no server: {}", self.log());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Waits until it has ended by itself; whether it said that something failed.
    pub(crate) fn ended(&mut self) -> bool {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.code() == Some(1);
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "it goes on: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts it again in the same folder with the same options.
    pub(crate) fn again(&mut self) {
        let _ = fs::remove_file(self.folder.join("socket"));
        self.process = spawn(&self.folder, self.port, &self.options);
        self.wait();
    }

    /// Kills it, and takes its pool away.
    pub(crate) fn lose_pool(&mut self) {
        self.kill();
        fs::remove_file(self.folder.join("data.endura")).unwrap();
        self.lose_checkpoint();
    }

    /// Takes the checkpoint away, if there is one: what is put in place of the pool is not of it.
    pub(crate) fn lose_checkpoint(&self) {
        let _ = fs::remove_file(self.folder.join("data.endura.checkpoint"));
    }

    /// From now on steps that can fail do, after so many that do not.
    pub(crate) fn fail_after(&self, steps: u32) {
        fs::write(self.folder.join("failures"), steps.to_string()).unwrap();
    }

    /// Nothing fails any more that was made to.
    pub(crate) fn fail_no_more(&self) {
        fs::remove_file(self.folder.join("failures")).unwrap();
    }

    /// Starts it, and kills it after a while, whether it has answered by then or not.
    pub(crate) fn start_and_kill(&mut self, after: Duration) {
        self.process = spawn(&self.folder, self.port, &self.options);
        std::thread::sleep(after);
        self.kill();
    }

    pub(crate) fn kill_and_start(&mut self) {
        self.kill();
        self.again();
    }

    /// Waits until no child saves; whether the last one went well.
    pub(crate) fn saved(&self) -> bool {
        let mut client = self.client();
        loop {
            let info = client.call("INFO persistence").text();
            let is = |line: &str| info.lines().any(|other| other.trim_end() == line);
            if is("rdb_bgsave_in_progress:0")
                && is("aof_rewrite_in_progress:0")
                && is("aof_rewrite_scheduled:0")
            {
                return is("rdb_last_bgsave_status:ok") && is("aof_last_bgrewrite_status:ok");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            let log = self.log();
            let short = |line: &str| line.chars().take(600).collect::<String>();
            let tail = log.lines().rev().take(12).map(short).collect::<Vec<_>>();
            let _ =
                writeln!(io::stderr(), "log of the server, its end first:\n{}", tail.join("\n"));
        }
    }
}

fn spawn(folder: &Path, port: u16, options: &[String]) -> Child {
    let mut command = Command::new(program());
    // A file of options comes first.
    let (file, options) = match options {
        [file, rest @ ..] if !file.starts_with("--") => (Some(file), rest),
        _ => (None, options),
    };
    command.args(file);
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
    command.args(["--unixsocket", "socket", "--logfile", "log"]);
    command.env("ENDURA_REDIS_STEPS", folder.join("steps"));
    command.env("ENDURA_REDIS_FAILURES", folder.join("failures"));
    command.arg("--dir").arg(folder).current_dir(folder);
    let has = |name| options.iter().any(|option| option == name);
    if !has("--save") {
        command.args(["--save", ""]);
    }
    if !has("--enable-debug-command") {
        command.args(["--enable-debug-command", "yes"]);
    }
    command.args(options).stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().unwrap_or_else(|error| {
        panic!("{} cannot be started: {error}. `.ci/redis --install` installs it", program())
    })
}
