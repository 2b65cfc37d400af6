//! Slots that Valkey moves back and forth while clients write, with kills of either node. A model says what must be there.
//!
//! `ENDURA_MIGRATIONS` is how many migrations there are in place of a few.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::slots::{in_pool, until};
use super::support::model::{self, Keys, Reach};
use super::support::server::{free_port, is_valkey};
use super::support::{Client, Random, Reply, Server};

const OPTIONS: [&str; 6] = [
    "--cluster-enabled",
    "yes",
    "--repl-diskless-sync-delay",
    "0",
    // A master without slots stays one.
    "--cluster-allow-replica-migration",
    "no",
];

/// The slots that move: half of all.
const MOVED: &str = "0 8191";

/// The groups of keys that each of the clients has. Those of a group are in one slot.
const GROUPS: usize = 8;
const CLIENTS: usize = 4;

/// Two nodes, each with half of the slots.
fn nodes(folder: &std::path::Path) -> [Server; 2] {
    // A load of an append-only file has imports too, which ended in part.
    let nodes = [("one", "no"), ("other", "yes")].map(|(name, appends)| {
        let options = [&OPTIONS[..], &["--appendonly", appends]].concat();
        Server::start_with(&folder.join(name), free_port(), &["data.endura"], &options)
    });
    let (mut one, mut other) = (nodes[0].client(), nodes[1].client());
    for (client, slots, epoch) in [(&mut one, MOVED, 1), (&mut other, "8192 16383", 2)] {
        assert_eq!(client.call(&format!("CLUSTER ADDSLOTSRANGE {slots}")), Reply::Ok);
        assert_eq!(client.call(&format!("CLUSTER SET-CONFIG-EPOCH {epoch}")), Reply::Ok);
    }
    let line = format!("CLUSTER MEET 127.0.0.1 {}", nodes[1].port());
    assert_eq!(one.call(&line), Reply::Ok);
    until("a cluster of two", || nodes.iter().all(|node| is_well(node, 2)));
    nodes
}

fn is_well(node: &Server, size: usize) -> bool {
    let info = node.client().call("CLUSTER INFO").text();
    info.contains("cluster_state:ok") && info.contains(&format!("cluster_known_nodes:{size}"))
}

/// A client that goes to the node that serves a key.
struct Routed {
    ports: [u16; 2],
    connections: [Option<Client>; 2],
    at: usize,
}

impl Routed {
    fn new(ports: [u16; 2]) -> Self {
        Self { ports, connections: [None, None], at: 0 }
    }

    /// Runs a command. `None`: the server was gone before it answered, so the command may have been run.
    fn call(&mut self, line: &str) -> Option<Reply> {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let begin = Instant::now();
        loop {
            assert!(begin.elapsed() < Duration::from_secs(60), "no answer to {line}");
            let connection = &mut self.connections[self.at];
            if connection.is_none() {
                let Ok(client) = Client::at_port(self.ports[self.at]) else {
                    // The other node knows where the key is, or says that it is here.
                    std::thread::sleep(Duration::from_millis(5));
                    self.at = 1 - self.at;
                    continue;
                };
                *connection = Some(client);
            }
            let answer = connection.as_mut().map(|client| client.ask(&words));
            let Some(Ok(answer)) = answer else {
                *connection = None;
                return None;
            };
            let text = answer.text();
            match text.split(' ').next() {
                Some("MOVED") if answer.is_error() => {
                    let port = text.rsplit(':').next().and_then(|port| port.parse().ok());
                    self.at = self.ports.iter().position(|other| Some(*other) == port).unwrap();
                }
                Some("CLUSTERDOWN" | "TRYAGAIN" | "LOADING") if answer.is_error() => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                _ => return Some(answer),
            }
        }
    }

    /// The same, of a command that may be run twice.
    fn read(&mut self, line: &str) -> Reply {
        loop {
            if let Some(answer) = self.call(line) {
                return answer;
            }
        }
    }
}

/// Keys in one slot, which one client changes.
struct Group {
    number: usize,
    keys: Keys,
    /// What is there instead if the last command, which was not answered, has been run.
    other: Option<Keys>,
}

impl Group {
    /// The line with the names of keys as they are in the cluster.
    fn routed(&self, line: &str) -> String {
        line.replace(&format!("c{}k", self.number), &format!("{{c{}}}k", self.number))
    }

    fn found(&self, client: &mut Routed) -> Keys {
        let mut keys = Keys::new();
        for key in 0..5 {
            let name = format!("c{}k{key}", self.number);
            let mut read = |command: &str| client.read(&self.routed(&command.replace('*', &name)));
            if read("TYPE *").text() != "endura-om" {
                continue;
            }
            let Reply::Integer(expires) = read("PEXPIRETIME *") else { panic!("no time") };
            let entries = read("EN.RANGE * - +").texts();
            let entries = entries.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone()));
            let entries: BTreeMap<_, _> = entries.collect();
            keys.insert((0, name), (expires, entries));
        }
        keys
    }

    /// Runs a command. If it was not answered, it may have been run or not: which, is seen when both nodes agree on who has
    /// the slots. Until then the old owner may answer from what it has.
    fn step(&mut self, client: &mut Routed, random: &mut Random) {
        if self.other.is_some() {
            std::thread::sleep(Duration::from_millis(1));
            return;
        }
        let step = model::step(random, &self.keys, self.number, 0, Reach::Own);
        let line = self.routed(&step.line);
        let Some(answer) = client.call(&line) else {
            self.other = Some(step.state);
            return;
        };
        let is_known = ["no such key", "same"].iter().any(|text| answer.text().contains(text));
        assert!(!answer.is_error() || is_known, "{line}: {answer:?}");
        if let Some(want) = step.answer {
            assert_eq!(answer, want, "{line}");
        }
        self.keys = step.state;
    }
}

/// The node that has the slots which move, if both nodes say the same.
fn owner(nodes: &[Server; 2]) -> Option<usize> {
    let [one, other] = nodes.each_ref().map(|node| {
        let Reply::Array(ranges) = node.client().call("CLUSTER SLOTS") else { panic!("no slots") };
        ranges.into_iter().find_map(|range| match range {
            Reply::Array(range) if range[0] == Reply::Integer(0) => {
                Some(range[2].texts()[1].clone())
            }
            _ => None,
        })
    });
    let port = one.filter(|port| other.as_ref() == Some(port))?;
    nodes.iter().position(|node| node.port().to_string() == port)
}

/// Whether no migration is in progress on a node.
fn is_at_rest(node: &Server) -> bool {
    let jobs = node.client().call("CLUSTER GETSLOTMIGRATIONS");
    let Reply::Array(jobs) = jobs else { panic!("{jobs:?}") };
    let is_over = |job: &Reply| {
        let texts = job.texts();
        let state = texts.chunks(2).find(|pair| pair[0] == "state").map(|pair| pair[1].as_str());
        matches!(state, Some("success" | "failed" | "cancelled"))
    };
    jobs.iter().all(is_over)
}

/// Which node is killed in a migration.
#[derive(Debug, Clone, Copy)]
enum Killed {
    Source,
    Target,
    None,
}

/// Moves the slots to the other node while clients write. Returns whether it has them then.
fn migration(
    nodes: &mut [Server; 2],
    groups: &mut [Group],
    randoms: &mut [Random],
    killed: Killed,
) -> bool {
    let source = owner(nodes).expect("the nodes agree");
    let ports = nodes.each_ref().map(Server::port);
    let wait = Duration::from_millis(randoms[0].below(50));
    // Most migrations take 100 to 170 ms.
    let after = Duration::from_micros(randoms[0].below(160_000));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = &stop;
        for (groups, random) in groups.chunks_mut(GROUPS).zip(randoms) {
            scope.spawn(move || {
                let mut client = Routed::new(ports);
                while !stop.load(Ordering::Relaxed) {
                    let group = random.below(GROUPS as u64) as usize;
                    groups[group].step(&mut client, random);
                }
            });
        }
        std::thread::sleep(wait);
        let id = nodes[1 - source].client().call("CLUSTER MYID").text();
        let line = format!("CLUSTER MIGRATESLOTS SLOTSRANGE {MOVED} NODE {id}");
        until("a migration starts", || nodes[source].client().call(&line) == Reply::Ok);
        let killed = match killed {
            Killed::Source => Some(source),
            Killed::Target => Some(1 - source),
            Killed::None => None,
        };
        if let Some(at) = killed {
            std::thread::sleep(after);
            nodes[at].kill_and_start();
        }
        until("the migration is over", || {
            nodes.iter().all(|node| is_well(node, 2) && is_at_rest(node)) && owner(nodes).is_some()
        });
        stop.store(true, Ordering::Relaxed);
    });
    owner(nodes) == Some(1 - source)
}

/// The keys of all groups are there, each on one node, and both pools have no others.
fn compare(nodes: &[Server; 2], groups: &mut [Group]) {
    let mut client = Routed::new(nodes.each_ref().map(Server::port));
    for group in &mut *groups {
        let found = group.found(&mut client);
        match group.other.take() {
            Some(other) if found == other => group.keys = found,
            _ => assert_eq!(found, group.keys),
        }
    }
    let all: usize = groups.iter().map(|group| group.keys.len()).sum();
    let mut found = Vec::new();
    until("both pools have the keys of the model, and nothing else", || {
        found = nodes
            .iter()
            .map(|node| {
                let mut client = node.client();
                (client.call("DBSIZE").text(), in_pool(&mut client))
            })
            .collect();
        let sum: usize = found.iter().filter_map(|(keys, _)| keys.parse::<usize>().ok()).sum();
        let is_swept = |(keys, (of_pool, to_sweep)): &(String, (String, String))| {
            keys == of_pool && to_sweep == "0"
        };
        sum == all && found.iter().all(is_swept)
    });
}

#[test]
fn slots_move_back_and_forth_under_writes_and_kills() {
    if !is_valkey() {
        return;
    }
    let number = std::env::var("ENDURA_MIGRATIONS").ok().and_then(|number| number.parse().ok());
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = nodes(folder.path());
    let mut groups: Vec<Group> = (0..CLIENTS * GROUPS)
        .map(|number| Group { number, keys: Keys::new(), other: None })
        .collect();
    let mut randoms: Vec<Random> = (1..=CLIENTS as u64).map(Random::new).collect();
    let mut complete = 0;
    for round in 0..number.unwrap_or(6) {
        let killed = [Killed::None, Killed::Source, Killed::Target][round % 3];
        let has_moved = migration(&mut nodes, &mut groups, &mut randoms, killed);
        assert!(has_moved || !matches!(killed, Killed::None), "round {round}");
        complete += u64::from(has_moved);
        compare(&nodes, &mut groups);
        eprintln!("round {round}: {killed:?} killed, moved: {has_moved}");
    }
    eprintln!("{complete} migrations were complete");
    let entries: usize =
        groups.iter().flat_map(|group| group.keys.values()).map(|key| key.1.len()).sum();
    let mut in_pools = 0;
    for node in &mut nodes {
        assert!(!node.log().contains("panicked"), "{}", node.log());
        node.kill();
        let pool = endura::Pool::open(node.folder().join("data.endura")).unwrap();
        pool.verify().unwrap();
        in_pools += pool.map::<[u8], [u8]>("redis:entries").unwrap().len().unwrap();
    }
    assert_eq!(in_pools, entries);
}
