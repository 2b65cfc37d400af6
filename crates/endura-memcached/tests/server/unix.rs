//! The Unix socket of `-s` and `-a`.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{PATIENCE, command, refused};

/// A server that listens on a Unix socket.
struct Server(Child);

impl Server {
    fn start(pool: &Path, socket: &Path, more: &[&str]) -> Self {
        let mut child = command(pool, &["-s", socket.to_str().unwrap()])
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let server = Self(child);
        assert!(line.trim_end().ends_with(&format!("ready on {}", socket.display())), "{line}");
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test that fails leaves no server behind.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ask(socket: &Path, said: &str) -> String {
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let mut answer = String::new();
    // The server reads nothing while its replies are not read.
    thread::scope(|scope| {
        scope.spawn(|| (&stream).write_all(said.as_bytes()).unwrap());
        (&stream).read_to_string(&mut answer).unwrap();
    });
    answer
}

#[test]
fn a_unix_socket_serves_clients() {
    let folder = tempfile::tempdir().unwrap();
    let (pool, socket) = (folder.path().join("pool"), folder.path().join("socket"));
    let access = || std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777;
    let server = Server::start(&pool, &socket, &[]);
    assert_eq!(access(), 0o700);
    assert_eq!(ask(&socket, "set a 0 0 1\r\nx\r\nquit\r\n"), "STORED\r\n");
    let many = format!("{}quit\r\n", "mg a v\r\n".repeat(50_000));
    assert_eq!(ask(&socket, &many), "VA 1\r\nx\r\n".repeat(50_000));
    // Another server does not take the socket away.
    let other = folder.path().join("other");
    let (code, text) = refused(&other, &["-s", socket.to_str().unwrap()]);
    assert!(code == Some(3) && text.contains("another server"), "{text}");
    assert_eq!(ask(&socket, "mg a\r\nquit\r\n"), "HD\r\n");
    // The next start removes what a kill has left.
    drop(server);
    assert!(socket.exists());
    let mut server = Server::start(&pool, &socket, &["-a", "0666"]);
    assert_eq!(access(), 0o666);
    assert_eq!(ask(&socket, "mg a v\r\nquit\r\n"), "VA 1\r\nx\r\n");
    kill(Pid::from_raw(server.0.id() as i32), Signal::SIGTERM).unwrap();
    assert!(server.0.wait().unwrap().success());
    assert!(!socket.exists(), "a server that ends removes its socket");
}

#[test]
fn a_path_that_is_no_socket_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (pool, file) = (folder.path().join("pool"), folder.path().join("file"));
    std::fs::write(&file, "mine").unwrap();
    let long = folder.path().join("s".repeat(200));
    for (arguments, expected, word) in [
        (&["-s", file.to_str().unwrap()][..], 3, "no socket"),
        (&["-s", long.to_str().unwrap()], 3, "107"),
        (&["-s", "/nonexistent/socket"], 3, "/nonexistent/socket"),
        (&["-s", "socket", "-a", "0888"], 2, "octal"),
        (&["-s", "socket", "-a", "1777"], 2, "octal"),
    ] {
        let (code, text) = refused(&pool, arguments);
        assert!(code == Some(expected) && text.contains(word), "{arguments:?}: {text}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    assert!(!pool.exists(), "a pool was made for nothing");
}
