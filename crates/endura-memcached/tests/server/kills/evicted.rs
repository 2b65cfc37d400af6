//! SIGKILL while the server evicts: an item may be gone, but it is never another one than was stored last, and what is gone
//! does not come back.

use std::io::Result;
use std::thread;
use std::time::Duration;

use crate::support::{Client, Running, contents, from_environment, stat};

const CLIENTS: u64 = 3;
const KEYS: usize = 1_500;
const MEMORY: [&str; 4] = ["--memory", "8M", "--threads", "2"];

/// The data of the items of one client, or none: then the item must be absent. An item with data may be absent as well.
struct Model {
    client: u64,
    rng: fastrand::Rng,
    values: Vec<Option<Vec<u8>>>,
    /// The key of the command without a reply, and what it leaves.
    in_flight: Option<(usize, Option<Vec<u8>>)>,
    acknowledged: u64,
}

impl Model {
    fn new(client: u64, seed: u64) -> Self {
        let (rng, values) = (fastrand::Rng::with_seed(seed), vec![None; KEYS]);
        Self { client, rng, values, in_flight: None, acknowledged: 0 }
    }

    fn key(&self, number: usize) -> String {
        format!("e{}k{number}", self.client)
    }

    /// Data that no other store has, of a size that is mostly small.
    fn data(&mut self) -> Vec<u8> {
        let bits = self.rng.u32(4..14) + u32::from(self.rng.u8(..20) == 0) * 3;
        let length = self.rng.usize(16..1 << (bits + 1).max(5));
        let mut data = self.rng.u64(..).to_string().into_bytes();
        data.resize(data.len().max(length), b'.');
        data
    }

    fn step(&mut self, client: &mut Client) -> Result<()> {
        let number = self.rng.usize(..KEYS);
        let (key, old) = (self.key(number), self.values[number].clone());
        match self.rng.u8(..10) {
            0..6 => {
                let data = self.data();
                self.in_flight = Some((number, Some(data.clone())));
                let reply = client.ask(said(&format!("set {key} 0 0"), &data))?;
                assert_eq!(reply, "STORED", "{} bytes", data.len());
                self.values[number] = Some(data);
            }
            6 => {
                self.in_flight = Some((number, None));
                let reply = client.ask(format!("delete {key}\r\n"))?;
                assert!(reply == "NOT_FOUND" || old.is_some() && reply == "DELETED", "{reply}");
                self.values[number] = None;
            }
            7 => {
                let new = old.clone().map(|old| [old, b"+".to_vec()].concat());
                self.in_flight = Some((number, new.clone()));
                let reply = client.ask(said(&format!("append {key} 0 0"), b"+"))?;
                self.values[number] = match reply.as_str() {
                    "STORED" => Some(new.unwrap()),
                    "NOT_STORED" => None,
                    _ => panic!("{reply}"),
                };
            }
            _ => self.look(client, number, &[])?,
        }
        (self.in_flight, self.acknowledged) = (None, self.acknowledged + 1);
        Ok(())
    }

    /// Asks for an item, which must be absent or as it was stored, or as one of the `others`.
    fn look(
        &mut self,
        client: &mut Client,
        number: usize,
        others: &[Option<Vec<u8>>],
    ) -> Result<()> {
        let key = self.key(number);
        let found = client.items(&format!("get {key}\r\n"))?.pop().map(|(_, _, _, data)| data);
        let is_known = found.is_none() || found == self.values[number] || others.contains(&found);
        assert!(is_known, "{key} has {} bytes", found.map_or(0, |found| found.len()));
        self.values[number] = found;
        Ok(())
    }

    fn compare(&mut self, client: &mut Client) {
        let in_flight = self.in_flight.take();
        for number in 0..KEYS {
            let others = in_flight.iter().filter(|it| it.0 == number).map(|it| it.1.clone());
            self.look(client, number, &others.collect::<Vec<_>>()).unwrap();
        }
    }
}

fn said(head: &str, data: &[u8]) -> Vec<u8> {
    [format!("{head} {}\r\n", data.len()).as_bytes(), data, b"\r\n"].concat()
}

#[test]
fn a_kill_brings_nothing_back_that_was_evicted() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    let seed = fastrand::u64(..);
    eprintln!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut models: Vec<_> = (0..CLIENTS).map(|client| Model::new(client, rng.u64(..))).collect();
    let mut evictions = 0;
    for round in 0..from_environment("ENDURA_KILLS", 10) {
        let server = Running::start(&pool, &MEMORY);
        thread::scope(|scope| {
            for model in &mut models {
                let mut client = server.connect();
                scope.spawn(move || while model.step(&mut client).is_ok() {});
            }
            // The first round fills the pool.
            thread::sleep(Duration::from_millis(rng.u64(10..300) + 2_000 * u64::from(round == 0)));
            evictions += stat(&mut server.connect(), "evictions");
            server.kill_in_place();
        });
        drop(server);
        contents(&pool);
        let server = Running::start(&pool, &MEMORY);
        let mut client = server.connect();
        models.iter_mut().for_each(|model| model.compare(&mut client));
        server.kill();
    }
    let acknowledged: u64 = models.iter().map(|model| model.acknowledged).sum();
    let kept = models.iter().flat_map(|model| &model.values).flatten().count();
    eprintln!("{acknowledged} commands, {evictions} evictions, {kept} items kept");
    assert!(evictions > 0 && kept > 0);
}
