//! The first line of the server for each state of a pool: what, where, and what to do. `--nocapture` prints the table.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Client, Running, command, refused};

/// The places of the two superblocks.
const SUPERBLOCKS: [u64; 2] = [0, 4096];

/// A pool with an item, closed or killed.
fn pool(folder: &Path, is_closed: bool) -> PathBuf {
    let path = folder.join("cache.endura");
    let server = Running::start(&path, &[]);
    assert_eq!(server.connect().ask("set a 0 0 1\r\nx\r\n").unwrap(), "STORED");
    if is_closed {
        server.terminate()
    } else {
        server.kill()
    }
    path
}

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

/// The lines of a server up to `ready on`, and the item `a` if it serves.
fn started(path: &Path) -> (Vec<String>, Option<String>) {
    let mut child = command(path, &[]).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut lines = Vec::new();
    let address = loop {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
        lines.push(line.trim_end().to_owned());
        if let Some((_, address)) = line.split_once("ready on ") {
            break address.trim().parse().unwrap();
        }
        assert!(!line.is_empty(), "{lines:?}");
    };
    let server = Running { child, address };
    let found = server.connect().get("a");
    server.terminate();
    (lines, found)
}

/// States that serve: the lines, and whether the item is there.
#[test]
fn a_pool_that_serves() {
    let folder = tempfile::tempdir().unwrap();
    let told = |name: &str, path: &Path| {
        let (lines, found) = started(path);
        eprintln!("{name}: {}", lines.join(" / "));
        (lines, found)
    };
    let new = folder.path().join("new.endura");
    let (lines, found) = told("no file", &new);
    assert!(lines.len() == 1 && found.is_none(), "{lines:?}");
    for (name, is_closed) in [("a closed pool", true), ("a killed pool", false)] {
        let folder = tempfile::tempdir().unwrap();
        let (lines, found) = told(name, &pool(folder.path(), is_closed));
        assert!(lines.len() == 1 && found.as_deref() == Some("x"), "{name}: {lines:?}");
    }
    // The pool is lost, and its checkpoint is there.
    let folder = tempfile::tempdir().unwrap();
    let path = pool(folder.path(), true);
    fs::remove_file(&path).unwrap();
    let (lines, found) = told("a missing pool", &path);
    let begin = format!("endura-memcached: {}: the pool was missing: made anew", path.display());
    assert!(lines[0].starts_with(&begin) && lines[0].ends_with(" ago"), "{lines:?}");
    assert_eq!((lines.len(), found.as_deref()), (2, Some("x")));
    // The machine went down: the pool was left open in another boot.
    let folder = tempfile::tempdir().unwrap();
    let path = pool(folder.path(), true);
    let server = Running::start(&path, &[]);
    server.connect().ask("set a 0 0 3\r\nnew\r\n").unwrap();
    server.kill();
    patch(&path, |bytes| bytes[72..88].fill(7));
    let (lines, found) = told("a power loss", &path);
    let begin = format!("endura-memcached: {}: taken back to its checkpoint of ", path.display());
    assert!(lines[0].starts_with(&begin) && lines[0].contains(" ago, because "), "{lines:?}");
    assert!(lines[0].contains("; later writes are lost"), "{lines:?}");
    assert_eq!((lines.len(), found.as_deref()), (2, Some("x")));
}

/// States that are refused: one line, with the place and one piece of advice, and exit code 3.
#[test]
fn a_pool_that_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let at = |name: &str| root.join(name);
    let told = |name: &str, path: &Path, texts: &[&str]| {
        let (code, text) = refused(path, &[]);
        eprint!("{name}: {text}");
        assert_eq!((code, text.lines().count()), (Some(3), 1), "{name}: {text}");
        assert!(text.contains(&path.display().to_string()), "{name}: {text}");
        for word in texts {
            assert!(text.contains(word), "{name}: {word}: {text}");
        }
        for word in ["max_size", "lock_timeout", "--wait", "::"] {
            assert!(!text.contains(word), "{name}: {text}");
        }
    };
    fs::create_dir(at("folder")).unwrap();
    told("a folder", &at("folder"), &["it is a folder; name a file in it"]);
    fs::write(at("foreign"), "a shopping list\n").unwrap();
    let advice = "give the path of a pool (a new one begins where there is no file)";
    told("a foreign file", &at("foreign"), &["does not start like one", advice]);
    assert_eq!(fs::read(at("foreign")).unwrap(), b"a shopping list\n");
    fs::write(at("empty"), "").unwrap();
    told("an empty file", &at("empty"), &["the file is empty", advice]);
    told("a missing folder", &at("none/pool"), &["No such file", "check the path"]);
    symlink(at("nowhere"), at("link")).unwrap();
    told("a link to nothing", &at("link"), &["a symbolic link"]);

    let path = pool(root, true);
    // A copy of a pool that was open, without a checkpoint.
    let server = Running::start(&path, &[]);
    told("a locked pool", &path, &["another process has the pool open", "stop that process"]);
    fs::copy(&path, at("copy")).unwrap();
    server.terminate();
    told("a torn pool", &at("copy"), &["may be torn", "`endura check --accept`"]);
    let length = fs::metadata(&path).unwrap().len();
    fs::copy(&path, at("short")).unwrap();
    File::options().write(true).open(at("short")).unwrap().set_len(length - 4096).unwrap();
    told("a pool that was cut", &at("short"), &["cut short", "restore it from a backup"]);
    patch(&path, |bytes| bytes[8..12].copy_from_slice(&(endura::FORMAT + 1).to_le_bytes()));
    let (found, want) = (endura::FORMAT + 1, endura::FORMAT);
    let format = format!("format {found}, and this program reads format {want}");
    told("another format", &path, &[&format, "use the version that wrote it"]);
}

/// Root may read every file, so there the server runs as another user.
#[test]
fn a_pool_without_permission() {
    let folder = tempfile::tempdir().unwrap();
    let path = pool(folder.path(), true);
    let program = folder.path().join("program");
    fs::copy(env!("CARGO_BIN_EXE_endura-memcached"), &program).unwrap();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    mode(&path, 0).unwrap();
    mode(folder.path(), 0o755).unwrap();
    let mut command = Command::new(program);
    command.arg(&path).args(["-p", "0"]);
    if File::open(&path).is_ok() {
        command.uid(65_534);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    eprint!("no permission: {text}");
    assert_eq!((output.status.code(), text.lines().count()), (Some(3), 1), "{text}");
    assert!(text.contains("ermission denied") && text.contains("open it as its owner"), "{text}");
    assert!(text.contains(&path.display().to_string()), "{text}");
}

/// The largest file that the system allows is smaller than a pool.
#[test]
fn no_space_for_a_pool() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.endura");
    let program = env!("CARGO_BIN_EXE_endura-memcached");
    let line = format!("ulimit -f 8; exec {program} {} -p 0", path.display());
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    eprint!("no space: {text}");
    assert_eq!((output.status.code(), text.lines().count()), (Some(3), 1), "{text}");
    assert!(text.contains(&path.display().to_string()) && text.contains("the pool "), "{text}");
    for word in ["max_size", "--max-size", "would fit"] {
        assert!(!text.contains(word), "{text}");
    }
    assert!(!path.exists(), "half a pool stays");
}

/// The checkpoints are in a file of the user's, which each start names.
#[test]
fn the_file_of_the_checkpoints_is_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let (path, checkpoint) = (folder.path().join("p"), folder.path().join("elsewhere"));
    let chosen = ["--checkpoint-file", checkpoint.to_str().unwrap()];
    let server = Running::start(&path, &chosen);
    server.connect().ask("set a 0 0 1\r\nx\r\n").unwrap();
    server.terminate();
    assert!(checkpoint.exists() && !folder.path().join("p.checkpoint").exists());
    let (code, text) = refused(&path, &[]);
    assert!(code == Some(3) && text.contains("(`--checkpoint-file`)"), "{text}");
    let server = Running::start(&path, &chosen);
    assert_eq!(server.connect().get("a").as_deref(), Some("x"));
    server.terminate();
    let (code, text) = refused(&path, &[&chosen[..], &["--checkpoint-every", "off"]].concat());
    assert!(code == Some(2) && text.contains("excludes"), "{text}");
}

/// A port that another server has is named, with what to do.
#[test]
fn a_port_that_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&folder.path().join("a"), &[]);
    let port = server.address.port().to_string();
    let (code, text) = refused(&folder.path().join("b"), &["-p", &port]);
    assert!(code == Some(3) && text.contains(&port) && text.contains("--port"), "{text}");
    server.terminate();
}

/// Warnings and failures of the pool are in `stats`, in one line.
#[test]
fn a_checkpoint_on_memory_is_a_warning_of_stats() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let Ok(disk) = tempfile::tempdir_in("/var/tmp") else { return };
    let checkpoint = folder.path().join("c");
    let server = Running::start(
        &disk.path().join("p"),
        &["--checkpoint-file", checkpoint.to_str().unwrap()],
    );
    let mut client: Client = server.connect();
    client.say("stats\r\n").unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    let mut warning = None;
    while Instant::now() < until {
        match client.line().unwrap() {
            line if line == "END" => break,
            line if line.starts_with("STAT warning ") => warning = Some(line),
            _ => {}
        }
    }
    let warning = warning.unwrap_or_default();
    assert!(warning.contains("the checkpoint is in memory"), "{warning}");
    server.terminate();
}
