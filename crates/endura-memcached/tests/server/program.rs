//! Starts, signals, limits, slow and silent clients.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use endura::Pool;

use crate::support::{Client, Running, command, contents, refused, stat};

/// The next start finds a clean pool with everything.
#[test]
fn sigterm_closes_the_pool() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    let server = Running::start(&pool, &[]);
    let mut client = server.connect();
    assert_eq!(client.ask("set a 0 0 1\r\nx\r\n").unwrap(), "STORED");
    // A command that is not complete does not keep the server.
    client.say("set b 0 0 100\r\nxx").unwrap();
    server.terminate();
    let opened = Pool::options().open_existing(&pool).unwrap();
    assert!(opened.stats().unwrap().clean_open);
    opened.close().unwrap();
    let server = Running::start(&pool, &[]);
    let mut client = server.connect();
    assert_eq!((client.get("a").as_deref(), client.get("b")), (Some("x"), None));
    server.kill();
}

#[test]
fn checkpoints_are_made_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    for (seconds, are_made) in [("1", true), ("0", true), ("off", false)] {
        let server = Running::start(&pool, &["--checkpoint-every", seconds]);
        assert_eq!(server.connect().ask("set a 0 0 1\r\nx\r\n").unwrap(), "STORED");
        server.terminate();
        assert_eq!(folder.path().join("pool.checkpoint").exists(), are_made, "each {seconds} s");
    }
}

#[test]
fn what_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    let server = Running::start(&pool, &[]);
    let (code, text) = refused(&pool, &[]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("pool open") && text.lines().count() == 1, "{text}");
    let port = server.address.port().to_string();
    let other = folder.path().join("other");
    let (code, text) = refused(&other, &["-p", &port]);
    assert!(code == Some(3) && text.contains("port") && text.contains(&port), "{text}");
    assert!(!other.exists(), "a pool was made for nothing");
    for (arguments, word) in [
        (["--memory", "64"], "64M"),
        (["--threads", "0"], "threads"),
        (["--max-item-size", "2G"], "bytes"),
        (["--connections", "99999999999"], "ulimit"),
    ] {
        let (code, text) = refused(&other, &arguments);
        assert!(code == Some(2) && text.contains(word), "{arguments:?}: {text}");
    }
    std::fs::write(&other, "no pool").unwrap();
    let (code, text) = refused(&other, &[]);
    assert!(code == Some(3) && text.contains("other"), "{text}");
    server.terminate();
}

#[test]
fn a_server_listens_on_all_addresses_and_names() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    let server = Running::start(&pool, &["-l", "localhost,127.0.0.2,127.0.0.1,localhost"]);
    for host in ["localhost", "127.0.0.2"] {
        let (host, port) = (host.to_owned(), server.address.port());
        let mut client = std::net::TcpStream::connect((host, port)).unwrap();
        client.write_all(b"version\r\nquit\r\n").unwrap();
        let mut reply = String::new();
        client.read_to_string(&mut reply).unwrap();
        assert!(reply.starts_with("VERSION"), "{reply}");
    }
    server.terminate();
    // No name, and an address of documentation, which no machine has.
    for listen in ["", "192.0.2.1"] {
        let (code, text) = refused(&folder.path().join("other"), &["-l", listen]);
        assert!(code == Some(3) && text.contains("--listen"), "{text}");
    }
    assert!(!folder.path().join("other").exists());
}

/// What people type because memcached has it.
#[test]
fn options_of_memcached_are_taken_or_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    for verbose in [&["-v"][..], &["-vv"], &["-v", "-v"]] {
        Running::start(&pool, verbose).terminate();
    }
    for (arguments, word) in [
        (&["-u", "nobody"][..], "setpriv --reuid=nobody"),
        (&["-unobody"], "User=nobody"),
        (&["-d"], "systemd"),
    ] {
        let (code, text) = refused(&pool, arguments);
        assert!(code == Some(2) && text.contains(word), "{arguments:?}: {text}");
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
    thread::sleep(Duration::from_millis(200));
    assert!(server.connect().ask("version\r\n").unwrap().starts_with("VERSION"));
    second.say("stats\r\n").unwrap();
    let stats: Vec<String> =
        std::iter::from_fn(|| second.line().ok().filter(|line| line != "END")).collect();
    assert!(stats.iter().any(|line| line == "STAT rejected_connections 1"), "{stats:?}");
    server.terminate();
}

/// A client that does not read takes neither the memory of the server nor the time of the others.
#[test]
fn a_client_that_does_not_read_waits_alone() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&folder.path().join("pool"), &["--threads", "1"]);
    let mut slow = server.connect();
    let data = "d".repeat(1 << 20);
    let line = slow.ask(format!("set a 0 0 {}\r\n{data}\r\n", data.len())).unwrap();
    assert_eq!(line, "STORED");
    for _ in 0..200 {
        slow.say("get a\r\n").unwrap();
    }
    let mut other = server.connect();
    assert!(other.ask("version\r\n").unwrap().starts_with("VERSION"));
    let kib = server.status("RssAnon");
    assert!(kib < 40_000, "{kib} KiB");
    // All of it is there when it reads.
    for _ in 0..200 {
        assert_eq!(slow.line().unwrap(), format!("VALUE a 0 {}", data.len()));
        let mut found = vec![0; data.len() + 2];
        slow.0.read_exact(&mut found).unwrap();
        assert_eq!(slow.line().unwrap(), "END");
    }
    server.terminate();
}

/// A client that asks for more than it can read in an hour, and reads as fast as it can, leaves time for the others.
#[test]
fn a_greedy_client_takes_turns() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&folder.path().join("pool"), &["--threads", "1"]);
    let mut client = server.connect();
    let data = "d".repeat(1 << 20);
    client.ask(format!("set a 0 0 {}\r\n{data}\r\n", data.len())).unwrap();
    let mut greedy = server.connect();
    let hits = " a".repeat(400_000);
    greedy.say(format!("get{hits}\r\n")).unwrap();
    let stream = greedy.0.get_ref().try_clone().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, mut buffer) = (stream, vec![0; 1 << 20]);
            while stream.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
        });
        let mut longest = Duration::ZERO;
        for _ in 0..20 {
            let begun = Instant::now();
            assert!(client.ask("version\r\n").unwrap().starts_with("VERSION"));
            longest = longest.max(begun.elapsed());
        }
        assert!(longest < Duration::from_secs(2), "{longest:?}");
        let misses = " missing".repeat(100_000);
        let mut other = server.connect();
        other.say(format!("get{misses}\r\n")).unwrap();
        assert!(client.ask("version\r\n").unwrap().starts_with("VERSION"));
        assert_eq!(other.line().unwrap(), "END");
        server.terminate();
    });
}

/// The threads of a server that serve clients, and how often each has waited.
fn waits(server: &Running) -> Vec<u64> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.child.id())).unwrap();
    let of_one = |task: std::io::Result<std::fs::DirEntry>| {
        let path = task.unwrap().path();
        let name = std::fs::read_to_string(path.join("comm")).unwrap();
        let status = std::fs::read_to_string(path.join("status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        (name.trim() == "endura-serve").then(|| line.unwrap().trim().parse().unwrap())
    };
    tasks.filter_map(of_one).collect()
}

/// Clients that come one after the other are divided among the threads of the server. While other programs have the
/// processors, a thread that is awake may take the clients of those that sleep; so the test goes on with more clients then.
#[test]
fn all_threads_serve() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&folder.path().join("pool"), &["--threads", "4"]);
    let mut clients = Vec::new();
    let is_divided = |_| {
        for _ in 0..8 {
            let mut client = server.connect();
            client.ask("version\r\n").unwrap();
            clients.push(client);
        }
        for client in &mut clients {
            for _ in 0..100 {
                client.ask("version\r\n").unwrap();
            }
        }
        // A thread that serves nobody waits a few times in all.
        let served = waits(&server);
        println!("{served:?}");
        served.len() == 4 && served.iter().all(|&waits| waits > 50)
    };
    assert!((0..10).any(is_divided), "a thread serves nobody");
    server.terminate();
}

/// Memory is taken for what has come, not for what is announced.
#[test]
fn announced_data_takes_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&folder.path().join("pool"), &["--max-item-size", "512M"]);
    let before = server.status("VmSize");
    let mut clients: Vec<_> = (0..50).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.say("set a 0 0 500000000\r\nxx").unwrap();
    }
    assert!(server.connect().ask("version\r\n").unwrap().starts_with("VERSION"));
    let grown = server.status("VmSize").saturating_sub(before);
    assert!(grown < 500_000, "{grown} KiB");
    server.terminate();
}

/// A client that has said all it wants still gets all replies, however much of them the sockets hold at that time.
#[test]
fn the_end_of_input_is_not_the_end_of_replies() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&folder.path().join("pool"), &[]);
    let data = "d".repeat(500_000);
    server.connect().ask(format!("set a 0 0 500000\r\n{data}\r\n")).unwrap();
    let one = format!("VALUE a 0 500000\r\n{data}\r\nEND\r\n").len();
    for count in 1..30 {
        let mut client = server.connect();
        client.say("get a\r\n".repeat(count)).unwrap();
        client.0.get_mut().shutdown(std::net::Shutdown::Write).unwrap();
        // Time for the server to see the end before the replies are read.
        thread::sleep(Duration::from_millis(30));
        assert_eq!(client.rest().unwrap().len(), count * one, "{count} replies");
    }
    server.terminate();
}

/// A client of the binary protocol would wait for ever.
#[test]
fn a_binary_client_is_turned_away() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&folder.path().join("pool"), &[]);
    let mut client = server.connect();
    client.say([0x80, 0x0a, 0, 0, 0, 0, 0, 0]).unwrap();
    client.line().unwrap_err();
    let mut client = server.connect();
    client.say("version\r\n\x00\r\n").unwrap();
    client.0.get_mut().write_all(&[0x80, b'\r', b'\n']).unwrap();
    assert!(client.line().unwrap().starts_with("VERSION"));
    assert_eq!([client.line().unwrap(), client.line().unwrap()], ["ERROR", "ERROR"]);
    server.terminate();
}

/// Stores items until one is refused; returns the number of items, and the refusal.
fn fill(client: &mut Client, name: &str, time: u32) -> (u32, String) {
    let data = "d".repeat(10_000);
    for i in 0..10_000 {
        let line = format!("set {name}{i} 0 {time} {}\r\n{data}\r\n", data.len());
        let reply = client.ask(line).unwrap();
        if reply != "STORED" {
            return (i, reply);
        }
    }
    panic!("the pool does not become full");
}

/// Without evictions, what no longer fits is refused, and what frees space works.
#[test]
fn a_full_pool_is_said_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    let server = Running::start(&pool, &["--memory", "8M", "-M"]);
    let mut client = server.connect();
    let (full, reply) = fill(&mut client, "a", 3);
    assert!(full > 100 && reply == "SERVER_ERROR out of memory storing object", "{full}: {reply}");
    assert!(client.get("a1").is_some());
    // As by memcached, a `set` that fails leaves no old data.
    let long = "d".repeat(900_000);
    let reply = client.ask(format!("set a1 0 0 900000\r\n{long}\r\n")).unwrap();
    assert_eq!(reply, "SERVER_ERROR out of memory storing object");
    assert_eq!(client.get("a1"), None);
    assert_eq!(client.ask("delete a2\r\n").unwrap(), "DELETED");
    // Expired items make way by themselves.
    let until = Instant::now() + Duration::from_secs(20);
    while fill(&mut client, "b", 0).0 < full / 2 {
        assert!(Instant::now() < until, "expired items stay");
        thread::sleep(Duration::from_millis(200));
    }
    assert!(client.get("b1").is_some());
    assert_eq!(client.ask("flush_all\r\n").unwrap(), "OK");
    assert_eq!(client.get("b1"), None);
    while fill(&mut client, "c", 0).0 < full / 2 {
        assert!(Instant::now() < until, "flushed items stay");
        thread::sleep(Duration::from_millis(200));
    }
    server.kill();
    contents(&pool);
}

/// Every figure that memcached's own statistics start with is there, and `stats reset` sets the counters back.
#[test]
fn statistics_count_and_start_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&folder.path().join("pool"), &[]);
    let mut client = server.connect();
    client.ask("set a 0 0 1\r\nx\r\n").unwrap();
    client.get("a");
    client.get("b");
    let mut stat = |name: &str| stat(&mut client, name);
    assert_eq!(
        [stat("cmd_get"), stat("get_hits"), stat("get_misses"), stat("cmd_set")],
        [2, 1, 1, 1]
    );
    assert_eq!((stat("curr_items"), stat("limit_maxbytes")), (1, 64 << 20));
    assert_eq!(client.ask("stats reset\r\n").unwrap(), "RESET");
    let mut client = server.connect();
    assert_eq!(client.ask("stats nonsense\r\n").unwrap(), "ERROR");
    client.say("stats\r\n").unwrap();
    let lines: Vec<String> =
        std::iter::from_fn(|| client.line().ok().filter(|line| line != "END")).collect();
    assert!(lines.contains(&"STAT cmd_set 0".to_owned()), "{lines:?}");
    assert!(lines.contains(&"STAT curr_items 1".to_owned()), "{lines:?}");
    server.terminate();
}

/// The first failure and the first success after it are said, and `stats` has what is so now.
#[test]
fn checkpoints_that_fail_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let (there, away) = (folder.path().join("there"), folder.path().join("away"));
    std::fs::create_dir(&there).unwrap();
    let pool = there.join("pool");
    let mut child = command(&pool, &["--checkpoint-every", "1"]);
    let mut child = child.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let ready = lines.next().unwrap();
    let server = Running { child, address: ready.rsplit(' ').next().unwrap().parse().unwrap() };
    let mut client = server.connect();
    let mut failing = || {
        client.say("set a 0 0 1\r\nx\r\nstats\r\n").unwrap();
        let stats: Vec<String> =
            std::iter::from_fn(|| client.line().ok().filter(|line| line != "END")).collect();
        let has = |name: &str| stats.iter().any(|line| line.starts_with(name));
        assert!(has("STAT checkpoint_failures "), "{stats:?}");
        assert_eq!(has("STAT checkpoint_failures 0"), !has("STAT checkpoint_failure "));
        has("STAT checkpoint_failure ")
    };
    assert!(!failing());
    std::fs::rename(&there, &away).unwrap();
    // Something is there to be saved.
    failing();
    let line = lines.next().unwrap();
    assert!(line.contains("no checkpoint can be made: "), "{line}");
    assert!(failing());
    std::fs::rename(&away, &there).unwrap();
    let line = lines.next().unwrap();
    assert!(line.contains("checkpoints can be made again, after "), "{line}");
    assert!(!failing());
    server.terminate();
}

/// The help is one page, and the version one line.
#[test]
fn the_program_explains_itself() {
    let run = |argument: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_endura-memcached")).arg(argument).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let help = run("--help");
    assert!(help.contains("--memory") && help.contains("kill -9"), "{help}");
    assert_eq!(run("--version").lines().count(), 1);
}
