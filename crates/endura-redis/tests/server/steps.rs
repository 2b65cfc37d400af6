//! The server is killed at each step of a command: afterwards all of the command has been done, or nothing.

use super::keys::contents;
use super::support::{Reply, Server};

/// What is there before, and the command. A state in between is allowed only where the command says so.
const COMMANDS: [(&str, &[&str]); 13] = [
    ("EN.SET new f 1 g 2 h 3", &[]),
    ("RENAME a b", &["EN.SET a f 1 g 2", "EN.SET b x 3", "PEXPIREAT b 4000000000000"]),
    ("RENAME a a2", &["EN.SET a f 1 g 2", "PEXPIREAT a 4000000000000"]),
    ("COPY a b REPLACE", &["EN.SET a f 1 g 2", "EN.SET b x 3 y 4"]),
    ("MOVE a 3", &["EN.SET a f 1"]),
    ("SET a text", &["EN.SET a f 1 g 2"]),
    ("DEL a b", &["EN.SET a f 1 g 2"]),
    ("UNLINK a", &["EN.SET a f 1 g 2"]),
    ("SWAPDB 0 2", &["EN.SET a f 1", "EN.SET b f 2"]),
    ("FLUSHALL", &["EN.SET a f 1", "EN.SET b f 2", "SWAPDB 0 1", "EN.SET c f 3"]),
    ("FLUSHDB", &["EN.SET a f 1", "EN.SET b f 2"]),
    ("EN.DEL a f", &["EN.SET a f 1"]),
    ("EN.POP a MAX", &["EN.SET a f 1"]),
];

/// A server in a folder of its own, and what is there after these commands.
fn prepared(before: &[&str]) -> (tempfile::TempDir, Server, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.client();
    for line in before {
        assert!(!client.call(line).is_error());
    }
    let old = contents(&mut client);
    (folder, server, old)
}

/// How many steps the command has.
fn run(line: &str, before: &[&str]) -> usize {
    let (_folder, server, old) = prepared(before);
    let mut client = server.client();
    client.call(line);
    let new = contents(&mut client);
    assert_ne!(old, new);
    for steps in 0.. {
        let (folder, mut server, _) = prepared(before);
        let counted = folder.path().join("steps");
        std::fs::write(&counted, steps.to_string()).unwrap();
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let answer = server.client().ask(&words);
        // The thread that sweeps goes on and counts too.
        let _ = std::fs::remove_file(&counted);
        server.kill_and_start();
        let mut client = server.client();
        let found = contents(&mut client);
        match answer {
            Ok(answer) => {
                assert!(!answer.is_error(), "{line}: {answer:?}");
                assert_eq!(found, new, "{line}, carried out");
                return steps;
            }
            Err(_) => assert!(found == new || found == old, "{line}, step {steps}: {found:?}"),
        }
        // What the kill left does not stand in the way.
        if found == old {
            assert!(!client.call(line).is_error());
            drop(client);
            server.kill_and_start();
            assert_eq!(contents(&mut server.client()), new, "{line}, step {steps}, again");
        }
    }
    unreachable!()
}

#[test]
fn a_kill_at_each_step_of_a_command() {
    for (line, before) in COMMANDS {
        let steps = run(line, before);
        assert!(steps > 0, "{line}: no step was counted");
    }
}

#[test]
fn a_restore_over_a_key() {
    for steps in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Server::start(folder.path(), &[]);
        let mut client = server.client();
        client.call("EN.SET from f 1 g 2");
        client.call("EN.SET to x 3 y 4");
        let Reply::Bulk(dump) = client.call("DUMP from") else { panic!("no dump") };
        std::fs::write(folder.path().join("steps"), steps.to_string()).unwrap();
        let answer = client.ask(&[b"RESTORE", b"to", b"0", &dump, b"REPLACE"]);
        let _ = std::fs::remove_file(folder.path().join("steps"));
        server.kill_and_start();
        let found = server.client().call("EN.RANGE to - +").text();
        match answer {
            Ok(_) => assert_eq!(found, "f 1 g 2"),
            Err(_) => assert!(found == "f 1 g 2" || found == "x 3 y 4", "step {steps}: {found}"),
        }
    }
}
