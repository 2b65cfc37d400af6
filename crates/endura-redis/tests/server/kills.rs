//! A loaded server is killed: nothing that it has answered is lost or comes back.

use std::time::{Duration, Instant};

use super::support::model::{self, Keys, Reach};
use super::support::{Client, Random, Server};

/// Works until the server is gone; what may be there then.
fn work(
    mut client: Client,
    random: &mut Random,
    number: usize,
    mut keys: Keys,
    reach: Reach,
) -> Vec<Keys> {
    let mut database = 0;
    loop {
        if reach == Reach::All && random.below(4) == 0 {
            database = random.below(4) as u32;
            if client.ask(&[b"SELECT", database.to_string().as_bytes()]).is_err() {
                return vec![keys];
            }
        }
        let step = model::step(random, &keys, number, database, reach);
        let words: Vec<&[u8]> = step.line.split(' ').map(str::as_bytes).collect();
        match client.ask(&words) {
            Ok(answer) => {
                assert!(
                    !answer.is_error()
                        || answer.text().contains("no such key")
                        || answer.text().contains("same"),
                    "{}: {answer:?}",
                    step.line
                );
                if let Some(want) = step.answer {
                    assert_eq!(answer, want, "{}", step.line);
                }
                keys = step.state;
            }
            Err(_) => return vec![step.state, keys],
        }
    }
}

fn rounds(rounds: u64, clients: usize, reach: Reach, options: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), options);
    let mut randoms: Vec<Random> =
        (0..clients).map(|number| Random::new(number as u64 + 7)).collect();
    let mut keys: Vec<Keys> = vec![Keys::new(); clients];
    let begin = Instant::now();
    for round in (0..).take_while(|&round| goes_on(round, rounds, begin)) {
        let pid = server.pid();
        let after = Duration::from_micros(500 + randoms[0].below(40_000));
        let states: Vec<Vec<Keys>> = std::thread::scope(|scope| {
            let workers: Vec<_> = randoms
                .iter_mut()
                .zip(&keys)
                .enumerate()
                .map(|(number, (random, keys))| {
                    let client = server.client();
                    scope.spawn(move || work(client, random, number, keys.clone(), reach))
                })
                .collect();
            scope.spawn(move || {
                std::thread::sleep(after);
                let killed =
                    std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
                assert!(killed.unwrap().success());
            });
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        server.kill();
        if round % 4 == 3 {
            // Another opener in between, which looks at all of it.
            endura::Pool::open(folder.path().join("data.endura")).unwrap().verify().unwrap();
        }
        server.again();
        let mut client = server.client();
        for (number, states) in states.into_iter().enumerate() {
            let found = model::found(&mut client, number);
            assert!(
                states.contains(&found),
                "round {round}, client {number}\nfound {found:#?}\nnot one of {} states, the last {:#?}",
                states.len(),
                states.last()
            );
            keys[number] = found;
        }
    }
    // What the kills left has been swept: only these keys have entries.
    let entries: usize = keys.iter().flat_map(|keys| keys.values()).map(|key| key.1.len()).sum();
    let mut client = server.client();
    while !client.call("INFO endura").text().contains("endura_keys_to_sweep:0") {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(client);
    server.kill();
    let pool = endura::Pool::open(folder.path().join("data.endura")).unwrap();
    pool.verify().unwrap();
    // What the pool has is not in the append-only file as well.
    for file in std::fs::read_dir(folder.path().join("appendonlydir")).into_iter().flatten() {
        let text = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!text.windows(6).any(|word| word == b"EN.SET"));
    }
    assert_eq!(pool.map::<[u8], [u8]>("redis:entries").unwrap().len().unwrap(), entries);
}

/// `ENDURA_KILLS` is how many rounds there are in place of a few, `ENDURA_KILL_SECONDS` how long they go on.
pub(super) fn goes_on(round: u64, rounds: u64, begin: Instant) -> bool {
    let given = |name| std::env::var(name).ok().and_then(|number| number.parse().ok());
    match given("ENDURA_KILL_SECONDS") {
        Some(seconds) => begin.elapsed() < Duration::from_secs(seconds),
        None => round < given("ENDURA_KILLS").unwrap_or(rounds),
    }
}

#[test]
fn clients_of_their_own_keys() {
    rounds(25, 3, Reach::Own, &[]);
}

#[test]
fn one_client_of_all_databases() {
    rounds(25, 1, Reach::All, &[]);
}

/// The pool wins over both files, and nothing of the append-only file is applied on top.
#[test]
fn beside_an_append_only_file() {
    rounds(15, 1, Reach::All, &["--appendonly", "yes", "--appendfsync", "everysec"]);
}
