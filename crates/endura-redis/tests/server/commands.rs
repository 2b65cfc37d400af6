//! What each command does, and how it replies to wrong arguments.

use super::support::{Client, Reply, Server};

fn server() -> (tempfile::TempDir, Server, Client) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let client = server.client();
    (folder, server, client)
}

#[track_caller]
fn is(client: &mut Client, line: &str, want: &str) {
    assert_eq!(client.call(line).text(), want, "{line}");
}

#[test]
fn fields_are_set_read_and_removed() {
    let (_folder, _server, mut client) = server();
    let c = &mut client;
    is(c, "EN.SET k b 2 a 1 c 3", "3");
    is(c, "EN.SET k a 9 d 4", "1");
    is(c, "EN.GET k a", "9");
    is(c, "EN.GET k z", "(nil)");
    is(c, "EN.GET none z", "(nil)");
    is(c, "EN.MGET k a z b", "9 (nil) 2");
    is(c, "EN.MGET none a z", "(nil) (nil)");
    is(c, "EN.COUNT k", "4");
    is(c, "EN.COUNT none", "0");
    is(c, "EN.SET k a 10 NX", "0");
    is(c, "EN.SET k a 10 XX", "1");
    is(c, "EN.SET k new 10 XX GET", "(nil)");
    is(c, "EN.GET k new", "(nil)");
    is(c, "EN.SET k a 11 GET", "10");
    is(c, "EN.SET k e 5 NX GET", "(nil)");
    is(c, "EN.SET none a 1 XX", "0");
    is(c, "EXISTS none", "0");
    is(c, "EN.DEL k a z e", "2");
    is(c, "EN.DEL none a", "0");
    is(c, "EN.RANGE k - +", "b 2 c 3 d 4");
    is(c, "EN.DEL k b c d", "3");
    is(c, "EXISTS k", "0");
    is(c, "TYPE k", "none");
}

#[test]
fn ranges_have_the_bounds_of_zrangebylex() {
    let (_folder, _server, mut client) = server();
    let c = &mut client;
    for field in ["a", "b", "ba", "c", "d"] {
        client_set(c, field);
    }
    is(c, "EN.RANGE k - + KEYS", "a b ba c d");
    is(c, "EN.RANGE k - + VALUES LIMIT 2", "va vb");
    is(c, "EN.RANGE k [b (d", "b vb ba vba c vc");
    is(c, "EN.RANGE k (b [d KEYS", "ba c d");
    is(c, "EN.RANGE k + - REV LIMIT 2 KEYS", "d c");
    is(c, "EN.RANGE k (d [b REV KEYS", "c ba b");
    is(c, "EN.RANGE k [d [a KEYS", "");
    is(c, "EN.RANGE k + - KEYS", "");
    is(c, "EN.RANGE k - + LIMIT 0", "");
    is(c, "EN.RANGE none - +", "");
    is(c, "EN.PREFIX k b KEYS", "b ba");
    is(c, "EN.PREFIX k b REV LIMIT 1", "ba vba");
    is(c, "EN.PREFIX k x", "");
    is(c, "EN.POP k MIN", "a va");
    is(c, "EN.POP k MAX 2", "d vd c vc");
    is(c, "EN.POP k MAX 0", "");
    is(c, "EN.POP k MIN 10", "b vb ba vba");
    is(c, "EN.POP k MIN", "");
    is(c, "EXISTS k", "0");
}

fn client_set(c: &mut Client, field: &str) {
    c.call(&format!("EN.SET k {field} v{field}"));
}

#[test]
fn a_scan_visits_all() {
    let (_folder, _server, mut client) = server();
    for field in 0..103 {
        client.call(&format!("EN.SET k f{field:03} {field}"));
    }
    let (mut cursor, mut seen) = ("0".to_owned(), Vec::new());
    loop {
        let Reply::Array(reply) = client.call(&format!("EN.SCAN k {cursor} COUNT 10")) else {
            panic!("no array")
        };
        seen.extend(reply[1].texts());
        cursor = reply[0].text();
        if cursor == "0" {
            break;
        }
    }
    let want: Vec<String> = (0..103).flat_map(|n| [format!("f{n:03}"), n.to_string()]).collect();
    assert_eq!(seen, want);
    is(&mut client, "EN.SCAN none 0", "0 ");
    // However much is asked for, a page has a thousand entries at most.
    for field in 0..1_500 {
        client.call(&format!("EN.SET k f{field:04} {field}"));
    }
    let Reply::Array(reply) = client.call("EN.SCAN k 0 COUNT 1000000") else { panic!("no array") };
    assert_eq!(reply[1].texts().len(), 2_000);
    assert_ne!(reply[0].text(), "0");
}

#[test]
fn numbers_are_added_and_values_exchanged() {
    let (_folder, _server, mut client) = server();
    let c = &mut client;
    is(c, "EN.INCRBY k n 5", "5");
    is(c, "EN.INCRBY k n -7", "-2");
    is(c, "EN.INCRBY k n 1x", "ERR value is not an integer or out of range");
    is(c, "EN.SET k m 9223372036854775807 s text", "2");
    is(c, "EN.INCRBY k m 1", "ERR increment or decrement would overflow");
    is(c, "EN.INCRBY k s 1", "ERR value is not an integer or out of range");
    is(c, "EN.INCRBY fresh s x", "ERR value is not an integer or out of range");
    is(c, "EXISTS fresh", "0");
    is(c, "EN.CAS k s text other", "1");
    is(c, "EN.CAS k s text other", "0");
    is(c, "EN.CAS k none text other", "0");
    is(c, "EN.CAS none s text other", "0");
    is(c, "EN.GET k s", "other");
}

#[test]
fn maps_of_integers_are_sorted_by_number() {
    let (_folder, _server, mut client) = server();
    let c = &mut client;
    for kind in ["nbtree", "FASTFAIR"] {
        is(c, &format!("EN.CREATE k KIND {kind}"), "OK");
        is(c, "EN.CREATE k KIND nbtree", "BUSYKEY Target key name already exists.");
        is(c, "EN.COUNT k", "0");
        is(c, "EN.SET k 10 1 9 2 -1 3", "3");
        is(c, "EN.RANGE k - +", "-1 3 9 2 10 1");
        is(c, "EN.RANGE k [9 + KEYS", "9 10");
        is(c, "EN.RANGE k (9 + KEYS", "10");
        is(c, "EN.SCAN k 0 COUNT 2", "(9 -1 3 9 2");
        is(c, "EN.SCAN k (9 COUNT 2", "0 10 1");
        is(c, "EN.INCRBY k 10 5", "6");
        is(c, "EN.SET k x 1", "ERR value is not an integer or out of range");
        is(c, "EN.SET k 1 x", "ERR value is not an integer or out of range");
        is(c, "EN.RANGE k [x +", "ERR value is not an integer or out of range");
        is(c, "EN.PREFIX k 1", "ERR integers have no prefixes: use EN.RANGE");
        is(c, "EN.COUNT k", "3");
        is(c, "EN.POP k MAX 5", "10 6 9 2 -1 3");
        is(c, "EXISTS k", "1");
        is(c, "DEL k", "1");
    }
    is(c, "EN.CREATE k KIND roart", "ERR KIND is nbtree or fastfair");
    is(c, "EN.CREATE k FORM nbtree", "ERR syntax error: EN.CREATE key KIND nbtree|fastfair");
    is(c, "EXISTS k", "0");
}

#[test]
fn what_is_wrong_is_said_as_redis_says_it() {
    let (_folder, _server, mut client) = server();
    let c = &mut client;
    is(c, "SET s x", "OK");
    let wrong = "WRONGTYPE Operation against a key holding the wrong kind of value";
    for line in [
        "EN.SET s f v",
        "EN.GET s f",
        "EN.MGET s f",
        "EN.DEL s f",
        "EN.INCRBY s f 1",
        "EN.CAS s f a b",
        "EN.RANGE s - +",
        "EN.PREFIX s a",
        "EN.SCAN s 0",
        "EN.POP s MIN",
        "EN.COUNT s",
        "EN.INFO s",
        "EN.CREATE s KIND nbtree",
    ] {
        is(c, line, wrong);
    }
    is(c, "GET s", "x");
    is(c, "EN.SET k f v", "1");
    is(c, "GET k", wrong);
    for line in [
        "EN.SET k f",
        "EN.SET",
        "EN.GET k",
        "EN.DEL k",
        "EN.RANGE k -",
        "EN.POP k",
        "EN.COUNT",
        "EN.CREATE k",
    ] {
        let answer = c.call(line).text();
        assert!(answer.starts_with("ERR wrong number of arguments for"), "{line}: {answer}");
    }
    is(c, "EN.RANGE k a +", "ERR min or max not valid string range item");
    let limit = "ERR syntax error: LIMIT takes one number; go on behind the last field with (FIELD as the lower bound";
    is(c, "EN.RANGE k - + LIMIT", limit);
    is(c, "EN.RANGE k - + LIMIT 0 10", limit);
    is(c, "EN.RANGE k - + LIMIT -1", "ERR value is not an integer or out of range");
    is(c, "EN.RANGE k - + UP", "ERR syntax error");
    is(c, "EN.SET k f v g", "ERR syntax error");
    is(c, "EN.SET k f v g w GET", "ERR GET takes one field and its value");
    is(c, "EN.SCAN k x", "ERR invalid cursor");
    is(c, "EN.POP k MIDDLE", "ERR syntax error: MIN or MAX");
    let long = vec![b'x'; 70_000];
    let answer = c.ask(&[b"EN.SET", b"k", &long, b"v"]).unwrap().text();
    assert!(answer.starts_with("ERR endura: "), "{answer}");
    is(c, "EN.COUNT k", "1");
    let unload = c.call("MODULE UNLOAD endura").text();
    assert!(unload.starts_with("ERR"), "{unload}");
}

#[test]
fn the_server_knows_the_commands() {
    let (_folder, _server, mut client) = server();
    let names = [
        "set",
        "get",
        "mget",
        "del",
        "incrby",
        "cas",
        "range",
        "prefix",
        "scan",
        "pop",
        "count",
        "create",
        "info",
        "checkpoint",
    ];
    for name in names {
        let docs = client.call(&format!("COMMAND DOCS en.{name}")).text();
        assert!(docs.contains("summary") && docs.contains("complexity"), "{name}: {docs}");
    }
    assert_eq!(client.call("COMMAND GETKEYS EN.SET k f v").text(), "k");
    assert_eq!(client.call("COMMAND GETKEYS EN.GET k f").text(), "k");
    let docs = client.call("COMMAND DOCS en.set").text();
    assert!(docs.contains("condition") && docs.contains("NX"), "{docs}");
    client.call("EN.SET k f v");
    let info = client.call("INFO endura").text();
    for field in
        ["endura_pool:", "endura_keys:1", "endura_file_bytes:", "endura_survives_power_loss:"]
    {
        assert!(info.contains(field), "{info}");
    }
    assert!(client.call("EN.INFO").text().contains("bytes_in_use"));
    assert_eq!(client.call("EN.INFO k").text(), "id 1 kind roart entries 1");
}

#[test]
fn a_pool_without_a_path_lies_in_the_folder_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), 0, &[], &[]);
    is(&mut server.client(), "EN.SET k f v", "1");
    assert!(folder.path().join("data.endura").exists());
}

/// Ranges and counts of many entries are answered by threads, in MULTI and Lua at once; both give the same.
#[test]
fn long_answers_come_from_threads() {
    let (_folder, mut server, mut client) = server();
    for from in 0..50 {
        let words: Vec<Vec<u8>> = (0..100)
            .flat_map(|n| [format!("f{:05}", from * 100 + n).into_bytes(), b"v".to_vec()])
            .collect();
        let mut line: Vec<&[u8]> = vec![b"EN.SET", b"k"];
        line.extend(words.iter().map(Vec::as_slice));
        assert_eq!(client.ask(&line).unwrap(), Reply::Integer(100));
    }
    let all = client.call("EN.RANGE k - + KEYS");
    assert_eq!(all.texts().len(), 5_000);
    assert_eq!(client.call("EN.RANGE k - + KEYS LIMIT 2000").texts(), all.texts()[..2_000]);
    client.call("MULTI");
    client.call("EN.RANGE k - + KEYS");
    assert_eq!(client.call("EXEC"), Reply::Array(vec![all.clone()]));
    let lua =
        client.ask(&[b"EVAL", b"return redis.call('EN.RANGE',KEYS[1],'-','+','KEYS')", b"1", b"k"]);
    assert_eq!(lua.unwrap(), all);
    server.kill_and_start();
    let mut client = server.client();
    client.call("MULTI");
    client.call("EN.COUNT k");
    assert_eq!(client.call("EXEC").text(), "5000");
    server.kill_and_start();
    let mut client = server.client();
    assert_eq!(client.call("EN.COUNT k"), Reply::Integer(5_000));
    // Unknown again, and counted while fields come and go.
    server.kill_and_start();
    let (mut client, mut other) = (server.client(), server.client());
    client.send(&[b"EN.COUNT", b"k"]).unwrap();
    for n in 0..500 {
        other.call(&format!("EN.SET k f{n:05}x v"));
        other.call(&format!("EN.DEL k f{:05}", 4_999 - n));
    }
    client.receive().unwrap();
    assert_eq!(other.call("EN.COUNT k"), Reply::Integer(5_000));
}

#[test]
fn watchers_and_listeners_are_told() {
    let (_folder, server, mut client) = server();
    let mut other = server.client();
    client.call("CONFIG SET notify-keyspace-events KEAd");
    client.call("EN.SET k f v");
    client.call("WATCH k");
    // Reads, and writes that change nothing, do not disturb a transaction.
    other.call("EN.GET k f");
    other.call("EN.DEL k none");
    client.call("MULTI");
    client.call("EN.GET k f");
    assert_eq!(client.call("EXEC").text(), "v");
    client.call("WATCH k");
    other.call("EN.SET k f w");
    client.call("MULTI");
    client.call("EN.GET k f");
    assert_eq!(client.call("EXEC"), Reply::Nil);
    let mut listener = server.client();
    listener.call("SUBSCRIBE __keyevent@0__:en.set __keyevent@0__:del");
    listener.receive().unwrap();
    other.call("EN.SET k f x");
    other.call("EN.DEL k f");
    assert_eq!(listener.receive().unwrap().texts().last().unwrap(), "k");
    assert_eq!(listener.receive().unwrap().texts()[1], "__keyevent@0__:del");
}

/// EN.INFO of a key needs the right to read it, and a bound that is no integer is an error also where few are asked for.
#[test]
fn keys_are_guarded_and_bounds_checked() {
    let (_folder, _server, mut c) = server();
    c.call("EN.SET k f v");
    c.call("EN.CREATE own KIND nbtree");
    c.call("EN.SET own 1 1");
    assert!(c.call("EN.RANGE own [x + LIMIT 5").is_error());
    c.call("ACL SETUSER u on nopass ~other +@all");
    c.call("AUTH u x");
    assert!(c.call("EN.INFO k").text().starts_with("NOPERM"));
    assert!(!c.call("EN.INFO").is_error());
}
