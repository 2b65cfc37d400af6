//! The first line of the module in the server's log for each state of a pool: what, where, and what to do.
//! `--nocapture` prints the table.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::support::server::{module, program};
use super::support::{Reply, Server};

/// The places of the two superblocks.
const SUPERBLOCKS: [u64; 2] = [0, 4096];

/// Changes the superblocks of a pool, with their checksums.
fn patch(path: &Path, change: impl Fn(&mut [u8; 256])) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    for at in SUPERBLOCKS {
        let mut bytes = [0; 256];
        file.read_exact_at(&mut bytes, at).unwrap();
        change(&mut bytes);
        let whole = crc32c(&[&bytes[..124], &bytes[128..252]].concat());
        let head = crc32c(&bytes[..124]);
        bytes[124..128].copy_from_slice(&head.to_le_bytes());
        bytes[252..].copy_from_slice(&whole.to_le_bytes());
        file.write_all_at(&bytes, at).unwrap();
    }
}

fn crc32c(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| (sum >> 1) ^ (0x82F6_3B78 * (sum & 1));
    !bytes.iter().fold(!0, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), step))
}

/// The lines of this module in a log, without time and process, and what the loading of the module says after them.
fn lines(log: &str) -> Vec<String> {
    let of_module = log.lines().filter_map(|line| line.split_once("<endura> "));
    of_module.map(|(_, text)| text.to_owned()).collect()
}

/// A server that ends because its module does not load: the only line of the module.
fn refused(mut command: Command, pool: &str) -> String {
    command.args(["--port", "0", "--unixsocket", "socket", "--save", "", "--loadmodule"]);
    let module = command.get_current_dir().unwrap().join("module.so");
    command.arg(module).arg(pool).stdin(Stdio::null());
    let output = command.output().unwrap();
    let log = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{log}");
    assert!(log.contains("Module not loaded"), "{log}");
    let lines = lines(&log);
    assert_eq!(lines.len(), 1, "{log}");
    lines.into_iter().next().unwrap()
}

/// A folder with the module in it, from which servers are started.
fn folder() -> (tempfile::TempDir, impl Fn() -> Command) {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(module(), folder.path().join("module.so")).unwrap();
    let path = folder.path().to_owned();
    let server = move || {
        let mut command = Command::new(program());
        command.current_dir(&path);
        command
    };
    (folder, server)
}

/// A pool with a key, closed.
fn closed(folder: &Path) -> PathBuf {
    let mut server = Server::start(folder, &[]);
    assert_eq!(server.client().call("EN.SET k f v"), Reply::Integer(1));
    let _ = server.client().ask(&[b"SHUTDOWN", b"NOSAVE"]);
    assert!(!server.ended());
    folder.join("data.endura")
}

#[test]
fn a_pool_that_serves() {
    let told = |name: &str, server: &Server, key: &str| {
        assert_eq!(server.client().call("EN.GET k f").text(), key, "{name}");
        let all = lines(&server.log());
        eprintln!("{name}: {}", all.join(" / "));
        fs::remove_file(server.folder().join("log")).unwrap();
        all
    };
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let found = told("no file", &server, "(nil)");
    assert!(found.len() == 1 && found[0].starts_with("0 keys attached in "), "{found:?}");
    server.client().call("EN.SET k f v");
    server.kill_and_start();
    let found = told("a killed pool", &server, "v");
    assert!(found.len() == 1 && found[0].starts_with("1 key attached in "), "{found:?}");
    let _ = server.client().ask(&[b"SHUTDOWN", b"NOSAVE"]);
    server.ended();
    let path = folder.path().join("data.endura");
    let restart = |server: &mut Server| {
        let _ = fs::remove_file(folder.path().join("log"));
        server.again();
    };
    restart(&mut server);
    let found = told("a closed pool", &server, "v");
    assert!(found.len() == 1 && found[0].starts_with("1 key attached in "), "{found:?}");
    // The machine went down: the pool was left open in another boot.
    assert_eq!(server.client().call("EN.SET k f new"), Reply::Integer(0));
    server.kill();
    patch(&path, |bytes| bytes[72..88].fill(7));
    restart(&mut server);
    let info = server.client().call("EN.INFO").text();
    let found = told("a power loss", &server, "v");
    let begin = format!("the pool {}: taken back to its checkpoint of ", path.display());
    assert!(found.len() == 2 && found[0].starts_with(&begin), "{found:?}");
    assert!(found[0].contains(" s ago, because ") && found[0].contains("are lost"), "{found:?}");
    assert!(info.contains("restored taken back to its checkpoint of "), "{info}");
    // The pool is lost, and its checkpoint is there.
    let _ = server.client().ask(&[b"SHUTDOWN", b"NOSAVE"]);
    server.ended();
    fs::remove_file(&path).unwrap();
    restart(&mut server);
    let found = told("a missing pool", &server, "v");
    let begin = format!("the pool {}: the file was missing: made anew", path.display());
    assert!(found.len() == 2 && found[0].starts_with(&begin), "{found:?}");
}

#[test]
fn a_pool_that_is_refused() {
    let (folder, server) = folder();
    let root = folder.path();
    let told = |name: &str, pool: &str, texts: &[&str]| {
        let text = refused(server(), pool);
        eprintln!("{name}: {text}");
        let begin = format!("the pool {}: ", root.join(pool).display());
        assert!(text.starts_with(&begin), "{name}: {text}");
        for word in texts {
            assert!(text.contains(word), "{name}: {word}: {text}");
        }
        for word in ["max_size", "--max-size", "lock_timeout", "--wait", "::"] {
            assert!(!text.contains(word), "{name}: {text}");
        }
    };
    fs::create_dir(root.join("folder")).unwrap();
    told("a folder", "folder", &["it is a folder; name a file in it"]);
    fs::write(root.join("foreign"), "a shopping list\n").unwrap();
    told("a foreign file", "foreign", &["start like one; give the path of a pool"]);
    assert_eq!(fs::read(root.join("foreign")).unwrap(), b"a shopping list\n");
    told("a missing folder", "none/pool", &["No such file", "check the path"]);
    let other = root.join("other");
    let path = closed(&other);
    let locked = Server::start(&other, &[]);
    told("a locked pool", "other/data.endura", &["another process has the pool open"]);
    fs::copy(&path, root.join("copy")).unwrap();
    drop(locked);
    told("a torn pool", "copy", &["may be torn", "`endura check --accept`"]);
    let pool = endura::Pool::open(&path).unwrap();
    pool.close().unwrap();
    patch(&path, |bytes| bytes[8..12].copy_from_slice(&(endura::FORMAT + 1).to_le_bytes()));
    let (found, want) = (endura::FORMAT + 1, endura::FORMAT);
    let format = format!("format {found}, and this module reads format {want}");
    told("another format", "other/data.endura", &[&format, "of the version that wrote it"]);
}

/// Root may read every file, so there the server runs as another user.
#[test]
fn a_pool_without_permission() {
    let (folder, server) = folder();
    let path = folder.path().join("data.endura");
    endura::Pool::open(&path).unwrap().close().unwrap();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    mode(&path, 0).unwrap();
    mode(folder.path(), 0o777).unwrap();
    mode(&folder.path().join("module.so"), 0o755).unwrap();
    let mut command = server();
    if File::open(&path).is_ok() {
        command.uid(65_534);
    }
    let text = refused(command, "data.endura");
    eprintln!("no permission: {text}");
    assert!(text.contains("ermission denied") && text.contains("open it as its owner"), "{text}");
}

/// The largest file that the system allows is smaller than a pool, and a pool has reached `max-size`.
#[test]
fn no_space() {
    let (folder, _) = folder();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 8; exec \"$0\" \"$@\"", program()]).current_dir(&folder);
    let text = refused(command, "small.endura");
    eprintln!("no space: {text}");
    assert!(text.contains("small.endura: the pool ") && !text.contains("max_size"), "{text}");
    let full = folder.path().join("full");
    let server = Server::start_with(&full, 0, &["data.endura", "max-size", "2M"], &[]);
    let mut c = server.client();
    let value = "v".repeat(50_000);
    let begin = "OOM endura: the pool has reached its largest size and needs ";
    let refusal = (0..200).find_map(|i| {
        let answer = c.ask(&[b"EN.SET", b"k", format!("f{i}").as_bytes(), value.as_bytes()]);
        Some(answer.unwrap()).filter(Reply::is_error)
    });
    let refusal = refusal.unwrap().text();
    eprintln!("a full pool: {refusal}");
    assert!(refusal.starts_with(begin) && refusal.contains("`max-size`"), "{refusal}");
    // COPY itself keeps what it frees, which is no advice for the client.
    assert!(c.call("COPY k other").text() != "1");
    let copy = lines(&server.log()).pop();
    let log = server.log();
    let line = log.lines().rev().find(|line| line.contains("COPY failed"));
    assert!(line.is_some_and(|line| line.contains("no room for the copy")), "{copy:?}: {log}");
}

/// Warnings of the pool are one figure, because clients read the reply into a map.
#[test]
fn warnings_are_one_figure() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let checkpoint = memory.path().join("c").display().to_string();
    let module = ["data.endura", "checkpoint-file", &checkpoint];
    let server = Server::start_with(folder.path(), 0, &module, &[]);
    let mut c = server.client();
    let figures = c.call("EN.INFO").texts();
    let warnings: Vec<_> =
        figures.chunks(2).filter(|pair| pair[0] == "warning").map(|pair| &pair[1]).collect();
    assert_eq!(warnings.len(), 1, "{figures:?}");
    assert!(warnings[0].contains("the checkpoint is in memory"), "{warnings:?}");
    assert!(c.call("INFO endura").text().contains("endura_warning:"));
}
