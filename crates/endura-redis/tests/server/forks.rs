//! Children that save, and processes that die meanwhile.

use std::fs;
use std::time::{Duration, Instant};

use super::support::{Client, Reply, Server};

fn fill(client: &mut Client, keys: usize, fields: usize) {
    for key in 0..keys {
        let mut line = format!("EN.SET k{key}");
        (0..fields).for_each(|field| line += &format!(" f{field:05} {}", "v".repeat(100)));
        assert_eq!(client.call(&line), Reply::Integer(fields as i64));
    }
}

/// The processes whose parent is this one.
fn children(parent: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = process.file_name().to_string_lossy().parse::<u32>() else { continue };
        let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let of = stat.rsplit(')').next().unwrap_or_default();
        if of.split_whitespace().nth(1) == Some(&parent.to_string()) {
            found.push(pid);
        }
    }
    found
}

fn wait_for<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_child_saves_what_its_parent_has() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut client = server.client();
    fill(&mut client, 20, 500);
    client.call("EN.CREATE n KIND nbtree");
    client.call("EN.SET n 1 2 3 4");
    let digest = client.call("DEBUG DIGEST").text();
    client.call("BGSAVE");
    assert!(server.saved());
    server.lose_pool();
    server.again();
    assert_eq!(server.client().call("DEBUG DIGEST").text(), digest);
}

/// Keys that are deleted while the child saves are in its file as they were.
#[test]
fn keys_that_go_meanwhile_stay_for_the_child() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &["--rdb-key-save-delay", "2000"]);
    let mut client = server.client();
    fill(&mut client, 50, 100);
    let digest = client.call("DEBUG DIGEST").text();
    client.call("BGSAVE");
    client.call("FLUSHDB");
    client.call("EN.SET after a 1");
    assert!(client.call("INFO endura").text().contains("endura_child_is_saving:1"));
    assert_eq!(client.call("COPY after copied"), Reply::Integer(1));
    assert!(server.saved());
    drop(client);
    server.lose_pool();
    server.again();
    assert_eq!(server.client().call("DEBUG DIGEST").text(), digest);
}

#[test]
fn a_child_that_dies_leaves_the_server_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--rdb-key-save-delay", "20000"]);
    let mut client = server.client();
    fill(&mut client, 50, 10);
    for _ in 0..3 {
        client.call("BGSAVE");
        let child = wait_for("no child", || children(server.pid()).first().copied());
        let killed = std::process::Command::new("kill").args(["-9", &child.to_string()]).status();
        assert!(killed.unwrap().success());
        assert!(!server.saved());
        wait_for("the thread serves on", || {
            client.call("INFO endura").text().contains("endura_child_is_saving:0").then_some(())
        });
    }
    client.call("CONFIG SET rdb-key-save-delay 0");
    client.call("BGSAVE");
    assert!(server.saved());
    client.call("DEL k0");
    wait_for("nothing is swept", || {
        client.call("INFO endura").text().contains("endura_keys_to_sweep:0").then_some(())
    });
}

#[test]
fn a_child_ends_with_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &["--rdb-key-save-delay", "10000"]);
    let mut client = server.client();
    fill(&mut client, 100, 10);
    client.call("BGSAVE");
    let child = wait_for("no child", || children(server.pid()).first().copied());
    server.kill();
    wait_for("the child lives on", || {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        (stat.is_empty() || stat.contains(") Z ")).then_some(())
    });
    server.again();
    assert_eq!(server.client().call("DBSIZE"), Reply::Integer(100));
}
