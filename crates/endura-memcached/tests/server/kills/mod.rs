//! SIGKILL under load, against a model: nothing that was acknowledged is lost or comes back, and no key is there twice.
//!
//! Each client has keys of its own, so that it knows what each reply must be. It sends several commands at once. When
//! the server is killed, those without a reply may have happened up to any point, in their order. All clients count one
//! counter up.

mod evicted;
mod marks;
mod model;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Client, Running, contents, from_environment};
use model::{Model, Step};

const CLIENTS: u64 = 4;
const COUNTER: &str = "counter";

/// What the counter may be: replies, and commands that were sent.
#[derive(Default)]
struct Counted {
    acknowledged: AtomicU64,
    sent: AtomicU64,
}

/// Works on a server until it is killed.
fn load(server: &Running, model: &mut Model, counted: &Counted, ends: &AtomicBool) {
    let Ok(mut client) = Client::connect(server.address) else { return };
    let mut last = 0;
    while !ends.load(Ordering::Relaxed) {
        let steps = match model.wants_cas() {
            true => model.plan_cas(&mut client),
            false => Ok(model.plan()),
        };
        let Ok(steps) = steps else { return };
        if talk(&mut client, model, steps).is_err() {
            return;
        }
        counted.sent.fetch_add(1, Ordering::Relaxed);
        let Ok(number) = client.ask(format!("incr {COUNTER} 1\r\n")) else { return };
        let number: u64 = number.parse().unwrap();
        assert!(number > last, "{number} after {last}");
        last = number;
        counted.acknowledged.fetch_add(1, Ordering::Relaxed);
    }
}

/// Sends commands at once, and compares the replies. Notes which have happened, and which may have.
fn talk(client: &mut Client, model: &mut Model, steps: Vec<Step>) -> std::io::Result<()> {
    let said: Vec<u8> = steps.iter().flat_map(|step| step.said.clone()).collect();
    let mut settled = 0;
    let outcome = client.say(&said).and_then(|()| {
        for (at, step) in steps.iter().enumerate() {
            step.expect(&step.reply(client)?);
            if step.is_acknowledged() {
                steps[settled..=at].iter().for_each(|step| model.settle(step));
                settled = at + 1;
            }
        }
        Ok(())
    });
    model.leave(steps[settled..].to_vec());
    outcome
}

/// One round of load that a kill ends.
fn round(pool: &Path, models: &mut [Model], time: Duration) -> u64 {
    let server = Running::start(pool, &["--threads", "2"]);
    let mut client = server.connect();
    client.ask(format!("add {COUNTER} 0 0 1\r\n0\r\n")).unwrap();
    let before: u64 = client.get(COUNTER).unwrap().parse().unwrap();
    let (counted, ends) = (Counted::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        let (server_ref, counted, ends) = (&server, &counted, &ends);
        for model in models.iter_mut() {
            scope.spawn(move || load(server_ref, model, counted, ends));
        }
        thread::sleep(time);
        server.kill_in_place();
        ends.store(true, Ordering::Relaxed);
    });
    drop(server);
    contents(pool);
    let server = Running::start(pool, &[]);
    let mut client = server.connect();
    for model in models.iter_mut() {
        model.compare(&mut client);
    }
    let after: u64 = client.get(COUNTER).unwrap().parse().unwrap();
    let [least, most] =
        [counted.acknowledged, counted.sent].map(|count| before + count.into_inner());
    assert!((least..=most).contains(&after), "{least} <= {after} <= {most}");
    server.kill();
    least - before
}

/// All keys, and how many are there.
fn present(client: &mut Client, models: &[Model]) -> (usize, usize) {
    let keys: Vec<String> = models.iter().flat_map(Model::keys).collect();
    let is_there = |key: &&String| !client.items(&format!("get {key}\r\n")).unwrap().is_empty();
    let found = keys.iter().filter(is_there).count();
    (found, keys.len())
}

/// A flush that was acknowledged holds after the kill.
fn flush_and_kill(pool: &Path, models: &mut [Model]) {
    let server = Running::start(pool, &[]);
    assert_eq!(server.connect().ask("flush_all\r\n").unwrap(), "OK");
    server.kill();
    let server = Running::start(pool, &[]);
    assert_eq!(present(&mut server.connect(), models).0, 0);
    server.kill();
    models.iter_mut().for_each(Model::clear);
}

/// A flush that the kill meets takes all items or none.
fn flush_into_a_kill(pool: &Path, models: &mut [Model], rng: &mut fastrand::Rng) {
    let server = Running::start(pool, &[]);
    let mut client = server.connect();
    client.ask("version\r\n").unwrap();
    client.say("flush_all\r\n").unwrap();
    thread::sleep(Duration::from_micros(rng.u64(..200)));
    server.kill();
    let server = Running::start(pool, &[]);
    let (found, all) = present(&mut server.connect(), models);
    assert!(found == 0 || found == all, "{found} of {all} after a flush");
    server.kill();
    if found == 0 {
        models.iter_mut().for_each(Model::clear);
    }
}

/// A flush to come happens at its time although the server was killed before, and takes nothing that came later.
fn planned_flush(pool: &Path, models: &mut [Model]) {
    let server = Running::start(pool, &[]);
    let mut client = server.connect();
    assert_eq!(client.ask("flush_all 3\r\n").unwrap(), "OK");
    let planned = Instant::now();
    assert_eq!(present(&mut client, models).0, present(&mut client, models).1);
    server.kill();
    thread::sleep(Duration::from_millis(3_200).saturating_sub(planned.elapsed()));
    let server = Running::start(pool, &[]);
    let mut client = server.connect();
    assert_eq!(present(&mut client, models).0, 0);
    assert_eq!(client.ask("set later 0 0 1\r\nx\r\n").unwrap(), "STORED");
    server.kill();
    let server = Running::start(pool, &[]);
    assert_eq!(server.connect().get("later").as_deref(), Some("x"));
    server.kill();
    models.iter_mut().for_each(Model::clear);
}

#[test]
fn killed_servers_keep_what_they_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    let seed = fastrand::u64(..);
    eprintln!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut models: Vec<_> = (0..CLIENTS).map(|client| Model::new(client, rng.u64(..))).collect();
    let rounds = from_environment("ENDURA_KILLS", 10);
    let mut acknowledged = 0;
    for number in 0..rounds {
        acknowledged += round(&pool, &mut models, Duration::from_millis(rng.u64(30..300)));
        match number % 9 {
            2 => flush_and_kill(&pool, &mut models),
            5 => flush_into_a_kill(&pool, &mut models, &mut rng),
            8 => planned_flush(&pool, &mut models),
            _ => {}
        }
    }
    assert!(acknowledged > rounds, "{acknowledged} batches in {rounds} rounds");
    let entries = contents(&pool);
    for key in models.iter().flat_map(Model::keys) {
        assert!(entries.contains_key(key.as_bytes()), "{key} is not in the pool");
    }
}

/// Times of expiry count while no server runs.
#[test]
fn a_killed_server_keeps_times_of_expiry() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    let server = Running::start(&pool, &[]);
    let mut client = server.connect();
    for (key, time) in [("dies", 2), ("lives", 1_000), ("stays", 0)] {
        assert_eq!(client.ask(format!("set {key} 0 {time} 1\r\nx\r\n")).unwrap(), "STORED");
    }
    let stored = Instant::now();
    server.kill();
    let server = Running::start(&pool, &[]);
    assert!(server.connect().get("lives").is_some());
    server.kill();
    thread::sleep(Duration::from_millis(3_100).saturating_sub(stored.elapsed()));
    let server = Running::start(&pool, &[]);
    let mut client = server.connect();
    let found = ["dies", "lives", "stays"].map(|key| client.get(key).is_some());
    assert_eq!(found, [false, true, true]);
    server.terminate();
}

/// The model itself: it must notice what it is there for.
#[test]
fn a_model_notices_what_is_lost_or_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&folder.path().join("pool"), &[]);
    let mut client = server.connect();
    let set = |data: &str| Step::set("c7k0", 0, data.as_bytes());
    let notices = |model: &Model, client: &mut Client| {
        let mut model = model.clone();
        let compared = std::panic::AssertUnwindSafe(|| model.compare(client));
        std::panic::catch_unwind(compared).is_err()
    };
    let mut model = Model::new(7, 1);
    model.settle(&set("old"));
    assert!(notices(&model, &mut client), "lost");
    client.ask("set c7k0 0 0 3\r\nold\r\n").unwrap();
    assert!(!notices(&model, &mut client));
    model.leave(vec![set("new"), Step::set("c7k1", 0, b"x")]);
    assert!(!notices(&model, &mut client));
    client.ask("set c7k1 0 0 1\r\nx\r\n").unwrap();
    assert!(notices(&model, &mut client), "the second without the first");
    client.ask("set c7k0 0 0 3\r\nnew\r\n").unwrap();
    assert!(!notices(&model, &mut client));
    model.clear();
    assert!(notices(&model, &mut client), "resurrected");
    server.kill();
}
