//! A server in a folder of its own, on loopback.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Error, Result};

/// How long a server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running server; it is killed when it is dropped.
pub(super) struct Server {
    process: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; there is nothing to be told of either.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Starts `program` in a folder of its own in `dir`, with the arguments that a port makes.
    pub(super) fn start<'a>(
        dir: &Path,
        program: &Path,
        arguments: impl FnOnce(&'a str) -> Vec<&'a str>,
        port: &'a str,
    ) -> Result<Self> {
        let failed = |what: &str, error: &io::Error| Error::Peer {
            store: "server",
            what: format!("{}: {what}: {error}", program.display()),
        };
        let folder = tempfile::tempdir_in(dir).map_err(|error| failed("no folder", &error))?;
        let mut command = Command::new(program);
        command.args(arguments(port)).current_dir(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().map_err(|error| failed("not started", &error))?;
        let number = port.parse().unwrap_or_default();
        let server = Self { process, port: number, _folder: folder };
        server.connect()?;
        Ok(server)
    }

    /// A connection, as soon as it listens.
    pub(super) fn connect(&self) -> Result<TcpStream> {
        let begun = Instant::now();
        loop {
            match TcpStream::connect(("127.0.0.1", self.port)) {
                Ok(stream) => {
                    // Requests leave when they are written.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Err(error) if begun.elapsed() > PATIENCE => {
                    let what = format!("port {}: {error}", self.port);
                    return Err(Error::Peer { store: "server", what });
                }
                Err(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }
}

/// A port of this machine that nobody listens on.
pub(super) fn free_port() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port =
        listener.map_err(|error| Error::Peer { store: "server", what: error.to_string() })?;
    Ok(port.port().to_string())
}

/// A file beside this program, as Cargo puts it there: the module, or the other server.
pub(super) fn beside(name: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    program.parent().map(|folder| folder.join(name)).filter(|path| path.is_file())
}

/// A program that is installed.
pub(super) fn installed(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}
