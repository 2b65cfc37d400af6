//! Commands of many fields, and commands that give a name to another key: a kill leaves all of one or nothing. So does a
//! pool without room.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::keys::contents;
use super::kills::goes_on;
use super::replicas::{Pair, at_rest, digests, pair};
use super::support::server::free_port;
use super::support::{Client, Random, Reply, Server};

type Entries = BTreeMap<String, String>;

/// What a key has. Without entries only a key with a map of its own can be: `numbers` at first, and its copies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Key {
    has_own: bool,
    entries: Entries,
}

type Keys = BTreeMap<String, Key>;

const NAMES: [&str; 4] = ["a", "b", "c", "numbers"];
/// The number of fields that a command changes at most.
const FIELDS: u64 = 2_000;

/// A command, and the state that it leads to.
struct Step {
    words: Vec<Vec<u8>>,
    keys: Keys,
}

fn field(number: u64) -> String {
    (10_000 + number).to_string()
}

fn words(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// A random command. `dump` is the dump of a key with these `dumped` entries.
fn step(random: &mut Random, keys: &Keys, dump: &[u8], dumped: &Entries) -> Step {
    let mut after = keys.clone();
    let [name, other] = [(); 2].map(|()| NAMES[random.below(4) as usize].to_owned());
    let which = random.below(9);
    let words = match which {
        0..4 => {
            let (first, value) = (random.below(FIELDS), random.below(1_000_000).to_string());
            let fields = (0..FIELDS).map(|number| field(first + number));
            let pairs: Vec<(String, String)> = fields.map(|field| (field, value.clone())).collect();
            let mut line = words(&["EN.SET", &name]);
            for (field, value) in &pairs {
                line.extend([field.clone().into_bytes(), value.clone().into_bytes()]);
            }
            after.entry(name).or_default().entries.extend(pairs);
            line
        }
        4 => {
            // Every second one, so that others stay between them.
            let fields: Vec<String> = (0..FIELDS).map(|number| field(2 * number)).collect();
            let mut line = words(&["EN.DEL", &name]);
            line.extend(fields.iter().map(|field| field.clone().into_bytes()));
            if let Some(key) = after.get_mut(&name) {
                fields.iter().for_each(|field| drop(key.entries.remove(field)));
            }
            line
        }
        5 => {
            let end = ["MIN", "MAX"][random.below(2) as usize];
            for _ in 0..FIELDS {
                let Some(Key { entries, .. }) = after.get_mut(&name) else { break };
                drop(if end == "MIN" { entries.pop_first() } else { entries.pop_last() });
            }
            words(&["EN.POP", &name, end, &FIELDS.to_string()])
        }
        6 | 7 => {
            let line = if which == 6 {
                words(&["RENAME", &name, &other])
            } else {
                words(&["COPY", &name, &other, "REPLACE"])
            };
            if let (Some(key), true) = (keys.get(&name), name != other) {
                after.insert(other, key.clone());
                if which == 6 {
                    after.remove(&name);
                }
            }
            line
        }
        _ => {
            let mut line = words(&["RESTORE", &name, "0"]);
            line.extend([dump.to_vec(), b"REPLACE".to_vec()]);
            after.insert(name, Key { has_own: false, entries: dumped.clone() });
            line
        }
    };
    after.retain(|_, key| key.has_own || !key.entries.is_empty());
    Step { words, keys: after }
}

fn found(client: &mut Client) -> Keys {
    let mut keys = Keys::new();
    for name in NAMES {
        let info = client.call(&format!("EN.INFO {name}"));
        if info.is_error() {
            continue;
        }
        let texts = client.call(&format!("EN.RANGE {name} - +")).texts();
        let pairs = texts.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone()));
        let has_own = !info.text().contains("kind roart");
        keys.insert(name.to_owned(), Key { has_own, entries: pairs.collect() });
    }
    keys
}

/// Works until the server is gone; the states that may be there then.
fn work(
    mut client: Client,
    random: &mut Random,
    mut keys: Keys,
    dump: &[u8],
    dumped: &Entries,
) -> [Keys; 2] {
    loop {
        let step = step(random, &keys, dump, dumped);
        let words: Vec<&[u8]> = step.words.iter().map(Vec::as_slice).collect();
        match client.ask(&words) {
            Ok(answer) => {
                let text = answer.text();
                let is_none = text.contains("no such key") || text.contains("the same");
                assert!(!answer.is_error() || is_none, "{:?}: {text}", &words[..2]);
                assert!(!answer.is_error() || step.keys == keys, "{:?}: {text}", &words[..2]);
                keys = step.keys;
            }
            Err(_) => return [keys, step.keys],
        }
    }
}

/// `ENDURA_KILLS` is the number of kills: the campaign has 200.
#[test]
fn a_kill_leaves_a_command_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let mut random = Random::new(63);
    let dumped: Entries = (0..FIELDS).map(|number| (field(number), "dumped".to_owned())).collect();
    let mut client = server.client();
    let mut line = words(&["EN.SET", "a"]);
    for (field, value) in &dumped {
        line.extend([field.clone().into_bytes(), value.clone().into_bytes()]);
    }
    client.ask(&line.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
    let Reply::Bulk(dump) = client.call("DUMP a") else { panic!("no dump") };
    client.call("DEL a");
    client.call("EN.CREATE numbers KIND fastfair");
    let (mut keys, mut kills, mut undone, mut done) = (found(&mut client), 0, 0, 0);
    let begin = Instant::now();
    for round in (0..).take_while(|&round| goes_on(round, 20, begin)) {
        let (pid, client) = (server.pid(), server.client());
        let after = Duration::from_micros(3_000 + random.below(60_000));
        let states = std::thread::scope(|scope| {
            let worker = scope.spawn(|| work(client, &mut random, keys.clone(), &dump, &dumped));
            std::thread::sleep(after);
            let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
            assert!(killed.unwrap().success());
            worker.join().unwrap()
        });
        server.kill();
        server.again();
        let now = found(&mut server.client());
        let sizes = |keys: &Keys| -> Vec<(String, bool, usize)> {
            keys.iter().map(|(name, key)| (name.clone(), key.has_own, key.entries.len())).collect()
        };
        assert!(
            states.contains(&now),
            "round {round}: found {:?}, which is neither {:?} nor {:?}",
            sizes(&now),
            sizes(&states[0]),
            sizes(&states[1])
        );
        kills += 1;
        if states[0] != states[1] {
            *if now == states[0] { &mut undone } else { &mut done } += 1;
        }
        keys = now;
        if !keys.values().any(|key| key.has_own) {
            // Others have taken the names of all that had a map of their own.
            let mut client = server.client();
            client.call("DEL numbers");
            client.call("EN.CREATE numbers KIND fastfair");
            keys.insert("numbers".to_owned(), Key { has_own: true, ..Key::default() });
        }
    }
    let completed = server.log().matches("a command that a kill had cut was completed").count();
    println!(
        "{kills} kills: {undone} left nothing of a command, {done} all of it, of which {completed} were completed by the next start"
    );
    assert!(
        kills < 100 || undone > 0 && done > 0 && completed > 0,
        "the kills are too early or too late"
    );
    server.kill();
    endura::Pool::open(folder.path().join("data.endura")).unwrap().verify().unwrap();
}

/// A master whose pool has 16 MiB, and its replica, whose pool has more. Nothing but commands moves the offset.
fn small_pair() -> Pair {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "3600"];
    let start = |name, max| {
        let module = ["data.endura", "max-size", max, "no-checkpoints"];
        Server::start_with(&folder.path().join(name), free_port(), &module, &options)
    };
    let (master, replica) = (start("master", "16M"), start("replica", "256M"));
    Pair { _folder: folder, master, replica }
}

fn offset(client: &mut Client) -> String {
    let info = client.call("INFO replication").text();
    let offset = info.lines().find_map(|line| line.strip_prefix("master_repl_offset:"));
    offset.unwrap().to_owned()
}

/// Runs a command that fails: nothing is changed, and replicas are sent nothing.
#[track_caller]
fn is_refused(master: &mut Client, replica: &mut Client, words: &[&[u8]], why: &str) {
    let (before, sent) = (contents(master), offset(master));
    let answer = master.ask(words).unwrap();
    let line = String::from_utf8_lossy(&words[..2].join(&b' ')).into_owned();
    assert!(answer.is_error() && answer.text().starts_with(why), "{line}: {answer:?}");
    assert!(contents(master) == before, "{line} has changed something");
    assert_eq!(offset(master), sent, "{line} was replicated");
    assert_eq!(digests(replica), digests(master), "{line}");
}

#[test]
fn a_command_without_room_changes_nothing() {
    let Pair { _folder, mut master, replica } = small_pair();
    let (mut m, mut r) = (master.client(), replica.client());
    r.call(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
    let (fields, large) = ((0..60).map(|n| n.to_string()).collect::<Vec<_>>(), vec![b'x'; 400_000]);
    for line in ["EN.SET k 0 old 3 old z old", "EN.SET b f old", "EN.CREATE own KIND nbtree"] {
        assert!(!m.call(line).is_error(), "{line}");
    }
    let large_words = |name: &'static str, to: usize| {
        let mut words: Vec<&[u8]> = vec![b"EN.SET", name.as_bytes()];
        fields[..to].iter().for_each(|field| words.extend([field.as_bytes(), &large]));
        words
    };
    // More than half of the pool, so that there is no room for a copy.
    assert_eq!(m.ask(&large_words("big", 20)).unwrap(), Reply::Integer(20));
    at_rest(&mut m, &mut r);
    let Reply::Bulk(dump) = m.call("DUMP big") else { panic!("no dump") };
    let dump_words =
        |name: &'static [u8]| -> [&[u8]; 5] { [b"RESTORE", name, b"0", &dump, b"REPLACE"] };
    for option in [&b""[..], b"NX", b"XX"] {
        for name in ["k", "new"] {
            let mut words = large_words(name, 60);
            if option == b"XX" {
                // Fields that are there, one of them again and again.
                words = vec![b"EN.SET", name.as_bytes(), b"0", b"new", b"3", b"new"];
                (0..20).for_each(|_| words.extend([&b"z"[..], &large]));
            }
            words.extend([option].iter().filter(|option| !option.is_empty()));
            if option != b"XX" {
                is_refused(&mut m, &mut r, &words, "OOM endura: the pool has reached");
            } else if name == "new" {
                assert_eq!(m.ask(&words).unwrap(), Reply::Integer(0));
            } else {
                // Only the last value of a field counts, for room as well.
                assert_eq!(m.ask(&words).unwrap(), Reply::Integer(22));
                at_rest(&mut m, &mut r);
            }
        }
    }
    for words in [&b"COPY big new"[..], b"COPY big b REPLACE", b"COPY big b DB 3 REPLACE"] {
        let words: Vec<&[u8]> = words.split(|byte| *byte == b' ').collect();
        is_refused(&mut m, &mut r, &words, "ERR module key failed to copy");
    }
    is_refused(&mut m, &mut r, &dump_words(b"new"), "ERR Bad data format");
    is_refused(&mut m, &mut r, &dump_words(b"b"), "ERR Bad data format");
    // The last of many values is wrong.
    let words: [&[u8]; 6] = [b"EN.SET", b"own", b"1", b"1", b"2", b"x"];
    is_refused(&mut m, &mut r, &words, "ERR value is not an integer");
    let before = contents(&mut m);
    master.kill_and_start();
    assert!(contents(&mut master.client()) == before, "after a kill");
}

/// Also a removal of several fields needs room, and that of one does not.
#[test]
fn a_removal_without_room_changes_nothing() {
    let Pair { _folder, master, replica } = pair(&["--repl-ping-replica-period", "3600"]);
    let (mut m, mut r) = (master.client(), replica.client());
    r.call(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
    m.call("EN.SET k a 1 b 2 c 3 d 4 e 5 f 6 g 7");
    m.call("EN.CREATE own KIND fastfair");
    m.call("EN.SET own 1 1 2 2");
    at_rest(&mut m, &mut r);
    let oom = "OOM endura: the pool has reached";
    master.fail_after(0);
    for line in
        ["EN.DEL k a b x c", "EN.POP k MIN 3", "EN.POP k MAX", "EN.DEL k g", "EN.POP own MIN 9"]
    {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        is_refused(&mut m, &mut r, &words, oom);
    }
    // All that there are: the key goes, which needs no room.
    assert_eq!(m.call("EN.POP k MAX 8").text(), "g 7 f 6 e 5 d 4 c 3 b 2 a 1");
    master.fail_no_more();
    assert_eq!(m.call("EN.DEL own 2 3 1"), Reply::Integer(2));
    at_rest(&mut m, &mut r);
    assert_eq!(r.call("EXISTS k own"), Reply::Integer(1));
    assert_eq!(r.call("EN.COUNT own"), Reply::Integer(0));
}

/// A pool that is full to the last byte: removals of many fields are done or refused, and those of one are done.
#[test]
fn fields_of_a_full_pool_can_be_removed() {
    let Pair { _folder, master, replica } = small_pair();
    let (mut m, mut r) = (master.client(), replica.client());
    r.call(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
    at_rest(&mut m, &mut r);
    let mut fields = Vec::new();
    for size in [20_000, 2_000, 200, 20] {
        let value = vec![b'x'; size];
        loop {
            let field = format!("f{:06}", fields.len());
            if m.ask(&[b"EN.SET", b"k", field.as_bytes(), &value]).unwrap().is_error() {
                break;
            }
            fields.push(field);
        }
    }
    at_rest(&mut m, &mut r);
    let all = fields.len() as i64;
    let mut line: Vec<&[u8]> = vec![b"EN.DEL", b"k"];
    line.extend(fields[1..].iter().map(|field| field.as_bytes()));
    let (sent, answer) = (offset(&mut m), m.ask(&line).unwrap());
    let left = match answer {
        Reply::Integer(removed) => {
            assert_eq!(removed, all - 1);
            1
        }
        refused => {
            assert!(refused.text().starts_with("OOM "), "{refused:?}");
            assert_eq!(offset(&mut m), sent);
            all
        }
    };
    println!("{all} fields, of which {left} are left");
    assert_eq!(m.call("EN.COUNT k"), Reply::Integer(left));
    assert_eq!(m.call("EN.DEL k f000000"), Reply::Integer(1));
    at_rest(&mut m, &mut r);
    assert_eq!(digests(&mut m), digests(&mut r));
}

/// The pool has no room for the record of a key that takes the name of another one: then it has both keys as they were,
/// until there is room. COPY is refused.
#[test]
fn a_name_without_room_is_not_taken() {
    let before = ["0 a -1 1: f 1", "0 b -1 1: f 2", "0 c -1 1: f 3"];
    let cases: [(&[&str], &[&str], &[&str]); 8] = [
        (&["RENAME a b"], &before, &["0 b -1 1: f 1", "0 c -1 1: f 3"]),
        (&["COPY a b REPLACE"], &before, &before),
        (
            &["RESTORE b 0 DUMP REPLACE"],
            &before,
            &["0 a -1 1: f 1", "0 b -1 1: f 9", "0 c -1 1: f 3"],
        ),
        (&["RENAME a b", "RENAME c b"], &before, &["0 b -1 1: f 3"]),
        (&["RENAME a b", "RENAME c a"], &before, &["0 a -1 1: f 3", "0 b -1 1: f 1"]),
        (
            &["RENAME a b", "RENAME b a"],
            &["0 a -1 1: f 1", "0 c -1 1: f 3"],
            &["0 a -1 1: f 1", "0 c -1 1: f 3"],
        ),
        // A removal needs no room: what the key had replaced goes with it.
        (&["RENAME a b", "DEL b"], &["0 c -1 1: f 3"], &["0 c -1 1: f 3"]),
        (&["RENAME a b", "EN.SET a f 4", "DEL c"], &before[..2], &["0 b -1 1: f 1"]),
    ];
    for (lines, without, with) in cases {
        for has_room in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let mut server = Server::start(folder.path(), &[]);
            let mut c = server.client();
            for line in ["EN.SET dumped f 9", "EN.SET a f 1", "EN.SET b f 2", "EN.SET c f 3"] {
                c.call(line);
            }
            let Reply::Bulk(dump) = c.call("DUMP dumped") else { panic!("no dump") };
            c.call("DEL dumped");
            server.fail_after(0);
            for line in lines {
                let word =
                    |word: &'static str| if word == "DUMP" { &dump } else { word.as_bytes() };
                let words: Vec<&[u8]> = line.split(' ').map(word).collect();
                let is_refused = line.starts_with("COPY") || line.starts_with("EN.SET");
                assert_eq!(c.ask(&words).unwrap().is_error(), is_refused, "{lines:?}: {line}");
            }
            if has_room {
                assert_eq!(contents(&mut c), with, "{lines:?}");
                server.fail_no_more();
                // What waits is written between two commands.
                c.call("PING");
                c.call("PING");
            }
            drop(c);
            server.kill();
            if !has_room {
                server.fail_no_more();
            }
            server.again();
            let want = if has_room { with } else { without };
            assert_eq!(contents(&mut server.client()), want, "{lines:?}, room: {has_room}");
        }
    }
}

/// A key has a long name for which there is no room. A new key of its old name would be a second one of that name in the
/// pool, so it has to wait.
#[test]
fn a_new_key_waits_for_an_earlier_name() {
    let Pair { _folder, mut master, .. } = small_pair();
    let mut c = master.client();
    let (value, name) = ("x".repeat(20_000), "n".repeat(30_000));
    c.call("EN.SET a f 1");
    let mut is_full = |number| c.call(&format!("EN.SET fill f{number} {value}")).is_error();
    let filled = (0..).find(|number| is_full(*number)).unwrap();
    assert_eq!(c.call(&format!("RENAME a {name}")), Reply::Ok);
    assert!(master.log().contains("is tried again: the pool has reached"), "{}", master.log());
    for line in ["EN.SET a f 4", "EN.SET other f 4", "EN.INCRBY a f 4", "COPY fill a"] {
        assert!(c.call(line).is_error(), "{line}");
    }
    assert!(c.call("EN.CREATE a KIND nbtree").text().starts_with("OOM "));
    // Small things fit, and keys that are there take them.
    assert_eq!(c.call("EN.SET fill small 1"), Reply::Integer(1));
    let of_long = format!("EN.GET {name} f");
    master.kill_and_start();
    let mut c = master.client();
    assert_eq!(c.call("EN.GET a f").text(), "1", "the old name, after a kill");
    c.call(&format!("RENAME a {name}"));
    (0..filled).for_each(|number| drop(c.call(&format!("EN.DEL fill f{number}"))));
    let begin = Instant::now();
    while c.call("EN.SET a f 4").is_error() {
        assert!(begin.elapsed() < Duration::from_secs(30), "there is room, and it waits");
    }
    master.kill_and_start();
    let mut c = master.client();
    assert_eq!([c.call("EN.GET a f").text(), c.call(&of_long).text()], ["4", "1"]);
}

/// A command is refused that is more than a batch takes; nothing is changed.
#[test]
fn a_command_that_is_too_large_changes_nothing() {
    const MOST: u64 = 1 << 20;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let mut c = server.client();
    let fields: Vec<String> = (0..MOST + 2).map(|number| format!("{number:07}")).collect();
    for fields in fields.chunks(50_000) {
        let mut words: Vec<&[u8]> = vec![b"EN.SET", b"k"];
        fields.iter().for_each(|field| words.extend([field.as_bytes(), b"1"]));
        assert_eq!(c.ask(&words).unwrap(), Reply::Integer(fields.len() as i64));
    }
    let answer = c.call(&format!("EN.POP k MIN {}", MOST + 1));
    assert!(answer.text().starts_with("ERR endura: "), "{answer:?}");
    assert_eq!(c.call("EN.COUNT k"), Reply::Integer(MOST as i64 + 2));
    assert_eq!(c.call("EN.RANGE k - + LIMIT 1").text(), "0000000 1");
    assert_eq!(c.call(&format!("EN.POP k MAX {MOST}")).texts().len(), 2 * MOST as usize);
    assert_eq!(c.call("EN.RANGE k - + KEYS").text(), "0000000 0000001");
}
