//! Random dialogues with maps and keys of all types under the same names, also in MULTI and Lua. The server is killed again
//! and again, with no file, an RDB, an append-only file, or both. A model says what may be there after each kill.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::kills::goes_on;
use super::replicas::{Pair, at_rest, pair};
use super::support::mixed::{self, DATABASES, Held, Keys};
use super::support::{Client, Random, Reply, Server};

/// Which files a server keeps keys of other types in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Files {
    None,
    Rdb,
    Append,
    Both,
}

impl Files {
    fn appends(self) -> bool {
        matches!(self, Self::Append | Self::Both)
    }
}

/// What a kill may have left.
struct Cut {
    /// The maps: of the last answered state, and of each that the command which was not answered leads through.
    maps: Vec<Keys>,
    /// What the RDB holds.
    saved: Vec<Keys>,
}

impl Cut {
    /// The keys of other types come from a file: from the append-only one as before the last command or behind it.
    fn states(&self, files: Files) -> Vec<(Keys, Keys)> {
        let none = vec![Keys::new()];
        let ends =
            || [self.maps.first(), self.maps.last()].into_iter().flatten().cloned().collect();
        let others = match files {
            Files::None => none,
            Files::Rdb => self.saved.clone(),
            Files::Append | Files::Both => ends(),
        };
        let each =
            |maps| others.iter().map(move |others| (mixed::over(maps, others), others.clone()));
        self.maps.iter().flat_map(each).collect()
    }
}

/// A client, what is there, and what RESTORE is given.
struct Dialogue<'a> {
    client: Client,
    random: &'a mut Random,
    files: Files,
    database: u32,
    keys: Keys,
    saved: Vec<Keys>,
    dumps: &'a [Vec<u8>; 2],
}

/// Carries out lines: the first two arguments are what MAP and TEXT stand for in them.
const SCRIPT: &[u8] = b"local stands = {MAP = ARGV[1], TEXT = ARGV[2]}
for i = 3, #ARGV do
    local words = {}
    for word in string.gmatch(ARGV[i], '%S+') do words[#words + 1] = stands[word] or word end
    redis.pcall(unpack(words))
end
return redis.status_reply('OK')";

impl Dialogue<'_> {
    /// Goes on until the server is gone.
    fn run(mut self) -> Cut {
        loop {
            let which = self.random.below(300);
            let states = match which {
                0..40 if self.select().is_ok() => continue,
                0..40 => Err(vec![self.keys.clone()]),
                40..45 if self.files != Files::None => {
                    if self.save(which).is_err() {
                        // Either file may be there.
                        self.saved.push(self.keys.clone());
                        return Cut { maps: vec![self.keys], saved: self.saved };
                    }
                    continue;
                }
                45 => {
                    let _ = self.client.ask(&[b"SHUTDOWN", b"NOSAVE"]);
                    Err(vec![self.keys.clone()])
                }
                46..80 => self.together(which < 63),
                _ => self.one(),
            };
            match states {
                Ok(keys) => self.keys = keys,
                Err(maps) => return Cut { maps, saved: self.saved },
            }
        }
    }

    /// Selects a database, for good.
    fn select(&mut self) -> io::Result<()> {
        self.database = self.random.below(u64::from(DATABASES)) as u32;
        let database = self.database;
        self.ask(&format!("SELECT {database}")).map(drop)
    }

    fn ask(&mut self, line: &str) -> io::Result<Reply> {
        let words: Vec<&[u8]> = line
            .split(' ')
            .map(|word| match word {
                "MAP" => self.dumps[0].as_slice(),
                "TEXT" => &self.dumps[1],
                word => word.as_bytes(),
            })
            .collect();
        self.client.ask(&words)
    }

    /// One command. `Err`: it was not answered, and these are the states that it leads through.
    fn one(&mut self) -> Result<Keys, Vec<Keys>> {
        let step = mixed::step(self.random, &self.keys, self.database);
        let answer = self.ask(&step.line);
        let mut states = step.states;
        match answer {
            Ok(answer) => {
                assert_eq!(answer.is_error(), states.is_empty(), "{}: {answer:?}", step.line);
                Ok(states.pop().unwrap_or_else(|| self.keys.clone()))
            }
            Err(_) => {
                states.insert(0, self.keys.clone());
                Err(states)
            }
        }
    }

    /// Several commands, in a transaction or a script.
    fn together(&mut self, in_script: bool) -> Result<Keys, Vec<Keys>> {
        let (mut states, mut lines) = (vec![self.keys.clone()], Vec::new());
        for _ in 0..2 + self.random.below(3) {
            let now = &states[states.len() - 1];
            let step = mixed::step(self.random, now, self.database);
            states.extend(step.states);
            lines.push(step.line);
        }
        let answered = if in_script { self.script(&lines) } else { self.transaction(&lines) };
        match answered {
            Ok(()) => Ok(states.pop().unwrap_or_default()),
            Err(_) => Err(states),
        }
    }

    fn script(&mut self, lines: &[String]) -> io::Result<()> {
        let mut words: Vec<&[u8]> = vec![b"EVAL", SCRIPT, b"0", &self.dumps[0], &self.dumps[1]];
        words.extend(lines.iter().map(String::as_bytes));
        assert_eq!(self.client.ask(&words)?, Reply::Ok);
        Ok(())
    }

    fn transaction(&mut self, lines: &[String]) -> io::Result<()> {
        self.ask("MULTI")?;
        for line in lines {
            assert_eq!(self.ask(line)?, Reply::Simple("QUEUED".into()));
        }
        assert!(!self.ask("EXEC")?.is_error());
        Ok(())
    }

    /// Saves an RDB, or rewrites the append-only file.
    fn save(&mut self, which: u64) -> io::Result<()> {
        let makes_rdb = !self.files.appends() || self.files == Files::Both && which != 43;
        let command = if !makes_rdb {
            "BGREWRITEAOF"
        } else if which < 42 {
            "SAVE"
        } else {
            "BGSAVE"
        };
        let answer = self.ask(command)?;
        assert!(!answer.is_error(), "{command}: {answer:?}");
        are_ended(&mut self.client)?;
        if makes_rdb {
            self.saved = vec![self.keys.clone()];
        }
        Ok(())
    }
}

/// Waits until no child saves, so that the file of the next one is made.
fn are_ended(client: &mut Client) -> io::Result<()> {
    let lines = [
        "rdb_bgsave_in_progress:0",
        "aof_rewrite_in_progress:0",
        "aof_rewrite_scheduled:0",
        "endura_child_is_saving:0",
    ];
    loop {
        let info = client.ask(&[b"INFO", b"everything"])?.text();
        if lines.iter().all(|line| info.contains(line)) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn dumps(client: &mut Client) -> [Vec<u8>; 2] {
    client.call("EN.SET MAP 1 2");
    client.call("SET TEXT dumped");
    let dumps = ["MAP", "TEXT"].map(|name| match client.call(&format!("DUMP {name}")) {
        Reply::Bulk(dump) => dump,
        other => panic!("{other:?}"),
    });
    client.call("DEL MAP TEXT");
    dumps
}

/// A dialogue until the server is killed: after a while, or at one of the next steps in the pool.
fn killed(
    server: &mut Server,
    random: &mut Random,
    dialogue: impl FnOnce(&mut Random) -> Cut + Send,
) -> Cut {
    let (pid, after) = (server.pid(), Duration::from_micros(500 + random.below(40_000)));
    let counted = server.folder().join("steps");
    if random.below(2) == 0 {
        fs::write(&counted, random.below(60).to_string()).unwrap();
    }
    let cut = std::thread::scope(|scope| {
        let worker = scope.spawn(|| dialogue(random));
        std::thread::sleep(after);
        let status = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
        assert!(status.unwrap().success());
        worker.join().unwrap()
    });
    server.kill();
    let _ = fs::remove_file(counted);
    cut
}

fn rounds(files: Files, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let appends = if files.appends() { "yes" } else { "no" };
    // Every answer is behind the write to the file, which a kill leaves: no need to wait for the disk.
    let options = ["--appendonly", appends, "--appendfsync", "no"];
    let mut server = Server::start(folder.path(), &options);
    let mut random = Random::new(seed);
    let dumps = dumps(&mut server.client());
    let (mut keys, mut saved, begin) = (Keys::new(), vec![Keys::new()], Instant::now());
    for round in (0..).take_while(|&round| goes_on(round, 10, begin)) {
        let client = server.client();
        let cut = killed(&mut server, &mut random, |random| {
            let (dumps, database) = (&dumps, 0);
            Dialogue { client, random, files, database, keys, saved, dumps }.run()
        });
        server.again();
        let found = mixed::found(&mut server.client());
        let states = cut.states(files);
        assert!(
            states.iter().any(|(state, _)| *state == found),
            "{files:?}, seed {seed}, round {round}\nfound {found:#?}\nnot one of {} states: {states:#?}",
            states.len()
        );
        // Of two files that may be there, those that explain what was found.
        saved = cut.saved;
        if files == Files::Rdb {
            saved = states
                .into_iter()
                .filter(|(state, _)| *state == found)
                .map(|(_, rdb)| rdb)
                .collect();
        }
        keys = found;
    }
    is_sound(server, &keys, folder.path());
}

/// The pool is whole, and only these keys have entries.
fn is_sound(mut server: Server, keys: &Keys, folder: &Path) {
    let mut client = server.client();
    while !client.call("INFO endura").text().contains("endura_keys_to_sweep:0") {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(client);
    assert!(!server.log().contains("panicked"), "{}", server.log());
    server.kill();
    let pool = endura::Pool::open(folder.join("data.endura")).unwrap();
    pool.verify().unwrap();
    let shared = keys.values().map(|key| match &key.1 {
        Held::Map { is_own: false, entries } => entries.len(),
        _ => 0,
    });
    let entries = pool.map::<[u8], [u8]>("redis:entries").unwrap().len().unwrap();
    assert_eq!(entries, shared.sum::<usize>());
}

fn seed() -> u64 {
    std::env::var("ENDURA_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7)
}

#[test]
fn with_no_file() {
    rounds(Files::None, seed());
}

#[test]
fn beside_an_rdb() {
    rounds(Files::Rdb, seed());
}

#[test]
fn beside_an_append_only_file() {
    rounds(Files::Append, seed());
}

#[test]
fn beside_both() {
    rounds(Files::Both, seed());
}

/// A replica gets all of it, and has it again from its pool and an append-only file of its own, without its master.
#[test]
fn on_a_replica() {
    let options = ["--appendonly", "yes", "--appendfsync", "no"];
    let Pair { _folder, master, mut replica } = pair(&options);
    let mut random = Random::new(seed());
    let dumps = &dumps(&mut master.client());
    let (client, files) = (master.client(), Files::Append);
    let (keys, saved, random) = (Keys::new(), Vec::new(), &mut random);
    let mut dialogue = Dialogue { client, random, files, database: 0, keys, saved, dumps };
    let (mut m, begin) = (master.client(), Instant::now());
    for round in (0..).take_while(|&round| goes_on(round, 2, begin)) {
        let mut r = replica.client();
        r.call(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
        at_rest(&mut m, &mut r);
        for client in [&mut m, &mut r] {
            are_ended(client).unwrap();
        }
        for _ in 0..300 {
            let states = match dialogue.random.below(8) {
                0 => dialogue.select().map(|()| dialogue.keys.clone()).map_err(|_| Vec::new()),
                which @ 1..3 => dialogue.together(which == 1),
                _ => dialogue.one(),
            };
            dialogue.keys = states.unwrap_or_else(|_| panic!("the master is gone"));
        }
        at_rest(&mut m, &mut r);
        assert_eq!(mixed::found(&mut r), dialogue.keys, "round {round}");
        replica.kill_and_start();
        let found = mixed::found(&mut replica.client());
        assert_eq!(found, dialogue.keys, "round {round}, from its files");
    }
}
