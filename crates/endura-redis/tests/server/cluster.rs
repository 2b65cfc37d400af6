//! Redis Cluster: six nodes, slots that move, a master that dies.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::support::server::free_port;
use super::support::{Client, Random, Reply, Server};

const OPTIONS: [&str; 8] = [
    "--cluster-enabled",
    "yes",
    "--cluster-node-timeout",
    "1500",
    "--repl-diskless-sync-delay",
    "0",
    "--cluster-config-file",
    "nodes.conf",
];

/// A client that goes where the cluster sends it.
struct Cluster {
    ports: Vec<u16>,
    connections: HashMap<u16, Client>,
    last: u16,
}

impl Cluster {
    fn new(ports: &[u16]) -> Self {
        Self { ports: ports.to_vec(), connections: HashMap::new(), last: ports[0] }
    }

    fn at(&mut self, port: u16, words: &[&[u8]]) -> std::io::Result<Reply> {
        let connection = match self.connections.entry(port) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(Client::at_port(port)?)
            }
        };
        let answer = connection.ask(words);
        if answer.is_err() {
            self.connections.remove(&port);
        }
        answer
    }

    /// One try to run a command where its key is; `None` if it may have been run or not.
    fn once(&mut self, words: &[&[u8]]) -> Option<Reply> {
        let mut port = self.last;
        for _ in 0..8 {
            let Ok(answer) = self.at(port, words) else {
                self.last = self.ports
                    [(self.ports.iter().position(|&p| p == port)? + 1) % self.ports.len()];
                return None;
            };
            let text = answer.text();
            let parts: Vec<&str> = text.split(' ').collect();
            let target = |text: &str| text.rsplit(':').next()?.parse().ok();
            match (answer.is_error(), parts.first().copied()) {
                (true, Some("MOVED")) => port = target(parts[2])?,
                (true, Some("ASK")) => {
                    let to = target(parts[2])?;
                    self.at(to, &[b"ASKING"]).ok()?;
                    self.last = to;
                    return self.at(to, words).ok().filter(|answer| !answer.is_error());
                }
                (true, Some("TRYAGAIN" | "CLUSTERDOWN" | "LOADING")) => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                _ => {
                    self.last = port;
                    return Some(answer);
                }
            }
        }
        None
    }

    fn until_done(&mut self, words: &[&[u8]]) -> Reply {
        let begin = Instant::now();
        loop {
            if let Some(answer) = self.once(words) {
                return answer;
            }
            assert!(begin.elapsed() < Duration::from_secs(40), "{:?}", words[0]);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

type Model = BTreeMap<(String, String), BTreeSet<Option<String>>>;

/// Writes until it is told to stop; what each field may be.
fn write(ports: &[u16], stop: &AtomicBool, done: &AtomicU64, seed: u64, mut model: Model) -> Model {
    let (mut cluster, mut random) = (Cluster::new(ports), Random::new(seed));
    while !stop.load(Ordering::Relaxed) {
        let (key, field) =
            (format!("w{seed}k{}", random.below(300)), format!("f{}", random.below(20)));
        let value = (random.below(5) > 0).then(|| random.next().to_string());
        let entry = model.entry((key.clone(), field.clone())).or_insert_with(|| [None].into());
        let answer = match &value {
            Some(value) => {
                cluster.once(&[b"EN.SET", key.as_bytes(), field.as_bytes(), value.as_bytes()])
            }
            None => cluster.once(&[b"EN.DEL", key.as_bytes(), field.as_bytes()]),
        };
        // Acknowledged by a replica as well: it survives the death of the master.
        let port = cluster.last;
        let waited = cluster.at(port, &[b"WAIT", b"1", b"1000"]);
        match (answer, waited) {
            (Some(Reply::Integer(_)), Ok(Reply::Integer(1..))) => *entry = [value].into(),
            _ => {
                entry.insert(value);
            }
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
    model
}

fn cli(words: &[&str]) -> String {
    let output = Command::new("redis-cli").args(words).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{words:?}: {text}");
    text
}

struct Nodes {
    _folder: tempfile::TempDir,
    servers: Vec<Server>,
    ports: Vec<u16>,
}

fn nodes() -> Nodes {
    let folder = tempfile::tempdir().unwrap();
    let mut ports: Vec<u16> = Vec::new();
    let mut servers = Vec::new();
    while servers.len() < 7 {
        let port = free_port();
        ports.push(port);
        let place = folder.path().join(port.to_string());
        servers.push(Server::start_with(&place, port, &["data.endura"], &OPTIONS));
    }
    let addresses: Vec<String> =
        ports[..6].iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let mut words = vec!["--cluster", "create"];
    words.extend(addresses.iter().map(String::as_str));
    words.extend(["--cluster-replicas", "1", "--cluster-yes"]);
    cli(&words);
    Nodes { _folder: folder, servers, ports }
}

fn roles(nodes: &Nodes) -> Vec<(usize, bool)> {
    let role = |server: &Server| server.client().call("ROLE").texts()[0] == "master";
    nodes.servers.iter().enumerate().map(|(at, server)| (at, role(server))).collect()
}

/// Reads every field on every node that has it; how many were read on replicas.
fn compare(nodes: &Nodes, model: &Model) -> usize {
    let begin = Instant::now();
    // Replicas catch up.
    for server in &nodes.servers {
        let mut client = server.client();
        loop {
            let info = client.call("INFO replication").text();
            let is_master = info.contains("role:master");
            if is_master || info.contains("master_link_status:up") {
                break;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "{}", server.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    std::thread::sleep(Duration::from_millis(500));
    let mut on_replicas = 0;
    for server in &nodes.servers {
        let mut client = server.client();
        client.call("READONLY");
        let is_replica = client.call("ROLE").texts()[0] == "slave";
        for ((key, field), values) in model {
            let answer = client.call(&format!("EN.GET {key} {field}"));
            if answer.is_error() {
                assert!(answer.text().starts_with("MOVED"), "{answer:?}");
                continue;
            }
            let value = (answer != Reply::Nil).then(|| answer.text());
            assert!(
                values.contains(&value),
                "{key} {field}: {value:?} is not among {values:?} ({is_replica})"
            );
            on_replicas += usize::from(is_replica);
        }
    }
    let mut cluster = Cluster::new(&nodes.ports);
    for ((key, field), values) in model {
        let answer = cluster.until_done(&[b"EN.GET", key.as_bytes(), field.as_bytes()]);
        let value = (answer != Reply::Nil).then(|| answer.text());
        assert!(values.contains(&value), "{key} {field}: {value:?} is not among {values:?}");
    }
    on_replicas
}

/// Waits until all slots are served.
fn is_well(port: u16) {
    let begin = Instant::now();
    while !cli(&["-p", &port.to_string(), "cluster", "info"]).contains("cluster_state:ok") {
        assert!(begin.elapsed() < Duration::from_secs(40), "the cluster does not come up");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until so many more writes are done.
fn advance(done: &AtomicU64, by: u64) {
    let (from, begin) = (done.load(Ordering::Relaxed), Instant::now());
    while done.load(Ordering::Relaxed) < from + by {
        assert!(begin.elapsed() < Duration::from_secs(60), "writers stand still");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Moves slots from the first node to the second, and gives that one another replica.
fn move_slots_and_add_a_replica(nodes: &Nodes, done: &AtomicU64) {
    let ports = &nodes.ports;
    let id = |port: u16| cli(&["-p", &port.to_string(), "cluster", "myid"]).trim().to_owned();
    let node = format!("127.0.0.1:{}", ports[0]);
    let (from, to) = (id(ports[0]), id(ports[1]));
    let mut reshard =
        vec!["--cluster", "reshard", &node, "--cluster-from", &from, "--cluster-to", &to];
    reshard.extend(["--cluster-slots", "800", "--cluster-yes"]);
    cli(&reshard);
    advance(done, 1_000);
    let newcomer = format!("127.0.0.1:{}", ports[6]);
    let mut add = vec!["--cluster", "add-node", &newcomer, &node];
    add.extend(["--cluster-slave", "--cluster-master-id", &to]);
    cli(&add);
}

#[test]
fn six_nodes_through_all_that_happens_to_a_cluster() {
    let mut nodes = nodes();
    let ports = nodes.ports[..6].to_vec();
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    is_well(ports[0]);
    let model: Model = std::thread::scope(|scope| {
        let (ports, stop, done) = (&ports, &stop, &done);
        let writers: Vec<_> = (1..3)
            .map(|seed| scope.spawn(move || write(ports, stop, done, seed, Model::new())))
            .collect();
        advance(done, 1_000);
        // While clients write.
        move_slots_and_add_a_replica(&nodes, done);
        advance(done, 1_000);
        // A master is killed, and comes back when its replica has taken over.
        nodes.servers[0].kill();
        advance(done, 500);
        let begin = Instant::now();
        while roles_but(&nodes, 0).iter().filter(|(_, is_master)| *is_master).count() < 3 {
            assert!(begin.elapsed() < Duration::from_secs(40), "no failover");
            std::thread::sleep(Duration::from_millis(100));
        }
        advance(done, 500);
        nodes.servers[0].again();
        advance(done, 1_000);
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let on_replicas = compare(&nodes, &model);
    assert!(on_replicas > model.len(), "{on_replicas} of {}", model.len());
    let masters = roles(&nodes).iter().filter(|(_, is_master)| *is_master).count();
    assert_eq!(masters, 3);
    assert_eq!(nodes.servers[0].client().call("ROLE").texts()[0], "slave");
    // All at once, as when a rack loses its power supply but not its page caches.
    for server in &mut nodes.servers {
        server.kill();
    }
    for server in &mut nodes.servers {
        server.again();
    }
    is_well(ports[1]);
    compare(&nodes, &model);
}

fn roles_but(nodes: &Nodes, without: usize) -> Vec<(usize, bool)> {
    let role = |server: &Server| server.client().call("ROLE").texts()[0] == "master";
    let others = nodes.servers.iter().enumerate().filter(|(at, _)| *at != without);
    others.map(|(at, server)| (at, role(server))).collect()
}
