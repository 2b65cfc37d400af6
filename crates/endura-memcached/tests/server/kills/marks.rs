//! SIGKILL among commands of the meta protocol: an item that is stale stays so, and what one client has won no second one
//! wins.

use std::io::Result;
use std::thread;
use std::time::Duration;

use crate::support::{Client, Running, contents, from_environment};

const KEYS: usize = 20;
const CLIENTS: u64 = 3;

/// What `mg` must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Absent,
    Fresh,
    /// Made for the client that asked first.
    Made,
    Stale,
    /// A client has won it.
    StaleAndWon,
}

impl State {
    /// The reply to `mg`, and the state after it. With `makes`, the item is made if it is absent.
    fn fetch(self, makes: bool) -> (&'static str, Self) {
        match self {
            Self::Absent if makes => ("HD W", Self::Made),
            Self::Absent => ("EN", self),
            Self::Fresh => ("HD", self),
            Self::Made => ("HD Z", self),
            Self::Stale => ("HD X W", Self::StaleAndWon),
            Self::StaleAndWon => ("HD Z X", self),
        }
    }
}

/// One client with keys of its own.
struct Model {
    client: u64,
    rng: fastrand::Rng,
    states: [State; KEYS],
    /// The key of the command without a reply, and the state if it has happened.
    in_flight: Option<(usize, State)>,
}

impl Model {
    fn new(client: u64, seed: u64) -> Self {
        let rng = fastrand::Rng::with_seed(seed);
        Self { client, rng, states: [State::Absent; KEYS], in_flight: None }
    }

    /// One command; the reply must be that of the state before.
    fn step(&mut self, client: &mut Client) -> Result<()> {
        let number = self.rng.usize(..KEYS);
        let (key, old) = (format!("m{}k{number}", self.client), self.states[number]);
        let is_there = old != State::Absent;
        let (said, reply, new) = match self.rng.u8(..8) {
            0 => (format!("ms {key} 1\r\nx\r\n"), "HD", State::Fresh),
            1 => (format!("md {key}\r\n"), if is_there { "HD" } else { "NF" }, State::Absent),
            2 if is_there => (format!("md {key} I\r\n"), "HD", State::Stale),
            3 if is_there => (format!("touch {key} 0\r\n"), "TOUCHED", old),
            4 if is_there => (format!("ms {key} 1 MA\r\n!\r\n"), "HD", State::Fresh),
            5 | 6 => {
                let (reply, new) = old.fetch(false);
                (format!("mg {key}\r\n"), reply, new)
            }
            _ => {
                let (reply, new) = old.fetch(true);
                (format!("mg {key} N10000\r\n"), reply, new)
            }
        };
        self.in_flight = Some((number, new));
        let found = client.ask(&said)?;
        assert_eq!(found, reply, "to {said:?} in the state {old:?}");
        (self.states[number], self.in_flight) = (new, None);
        Ok(())
    }

    /// Compares with the server after a kill.
    fn compare(&mut self, client: &mut Client) {
        let in_flight = self.in_flight.take();
        for number in 0..KEYS {
            let found = client.ask(format!("mg m{}k{number}\r\n", self.client)).unwrap();
            let possible =
                [Some(self.states[number]), in_flight.filter(|it| it.0 == number).map(|it| it.1)];
            let state = possible.into_iter().flatten().find(|state| state.fetch(false).0 == found);
            let state = state.unwrap_or_else(|| panic!("key {number}: {found}, not {possible:?}"));
            self.states[number] = state.fetch(false).1;
        }
    }
}

#[test]
fn a_kill_takes_no_mark() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    let seed = fastrand::u64(..);
    eprintln!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut models: Vec<_> = (0..CLIENTS).map(|client| Model::new(client, rng.u64(..))).collect();
    for _ in 0..from_environment("ENDURA_KILLS", 10) {
        let server = Running::start(&pool, &["--threads", "2"]);
        thread::scope(|scope| {
            for model in &mut models {
                let mut client = server.connect();
                scope.spawn(move || while model.step(&mut client).is_ok() {});
            }
            thread::sleep(Duration::from_millis(rng.u64(10..150)));
            server.kill_in_place();
        });
        drop(server);
        contents(&pool);
        let server = Running::start(&pool, &[]);
        let mut client = server.connect();
        models.iter_mut().for_each(|model| model.compare(&mut client));
        server.kill();
    }
}
