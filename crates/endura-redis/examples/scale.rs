//! What a cluster of 3 to 1,000 nodes needs and does, in Markdown: `cargo run -p endura-redis --example scale`.
//!
//! What was measured is marked so, with the command; everything else is an assumption, and can be given:
//! `--write-rate 5000 --disk 2000`.

/// A figure that goes in.
struct Input {
    name: &'static str,
    value: f64,
    unit: &'static str,
    from: &'static str,
}

const INPUTS: [Input; 13] = [
    input("entry", 118.0, "bytes", "assumed: a field of 18 bytes and a value of 100"),
    input(
        "pool",
        242.0,
        "bytes in the pool an entry",
        "measured: `.ci/redis --measure`, half of its files",
    ),
    input(
        "dram",
        243.0,
        "bytes of Redis' memory an entry, in a hash",
        "assumed: 216 MB of 889,000 such fields",
    ),
    input(
        "attach",
        12.0,
        "ms from SIGKILL to the first answer, above an empty Redis",
        "measured: the same",
    ),
    input(
        "aof",
        1_250_000.0,
        "entries a second that a rewritten append-only file loads",
        "measured: the same",
    ),
    input("read", 500.0, "MB/s that the disk reads", "assumed: a cloud SSD"),
    input("write", 300.0, "MB/s that the disk writes", "assumed: a cloud SSD"),
    input("network", 1_250.0, "MB/s of a node's network", "assumed: 10 Gbit/s"),
    input(
        "migrate",
        20.0,
        "MB/s that MIGRATE moves from one node",
        "assumed: single-threaded, on both ends",
    ),
    input("hot", 20.0, "percent of the pool that is read in an hour", "assumed"),
    input("write-rate", 10_000.0, "writes a second to one master", "assumed"),
    input("interval", 30.0, "seconds from one checkpoint to the next", "the default"),
    input("timeout", 15.0, "seconds of cluster-node-timeout", "the default of Redis"),
];

const fn input(name: &'static str, value: f64, unit: &'static str, from: &'static str) -> Input {
    Input { name, value, unit, from }
}

const NODES: [f64; 6] = [3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0];
const BYTES: [f64; 3] = [10e9, 100e9, 1e12];
/// Slots of a cluster: a node without one is no master.
const SLOTS: f64 = 16_384.0;
const PAGE: f64 = 4_096.0;

struct Model(Vec<(&'static str, f64)>);

impl Model {
    fn of_arguments() -> Self {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let given = |name: &str| {
            let at = words.iter().position(|word| word.strip_prefix("--") == Some(name))?;
            words.get(at + 1)?.parse().ok()
        };
        Self(
            INPUTS
                .iter()
                .map(|input| (input.name, given(input.name).unwrap_or(input.value)))
                .collect(),
        )
    }

    fn get(&self, name: &str) -> f64 {
        self.0.iter().find(|(other, _)| *other == name).map_or(0.0, |(_, value)| *value)
    }

    fn entries(&self, bytes: f64) -> f64 {
        bytes / self.get("pool")
    }

    /// Bytes that a checkpoint writes: a page for each write, each page once, and at most all of them.
    fn checkpoint(&self, bytes: f64) -> f64 {
        let (pages, writes) = (bytes / PAGE, self.get("write-rate") * self.get("interval"));
        // Writes to random places: the share of pages that at least one of them meets.
        pages * (1.0 - (-writes / pages).exp()) * PAGE
    }

    /// Bytes a second of a node's cluster bus: each node hears of each other one twice in a timeout. A message has 2,256
    /// bytes and tells of a tenth of all nodes, in 104 bytes each.
    fn bus(&self, nodes: f64) -> f64 {
        let message = 2_256.0 + 104.0 * (nodes / 10.0).max(3.0);
        // A ping and its answer, that are sent and that are received.
        4.0 * message * (nodes - 1.0) / (self.get("timeout") / 2.0)
    }
}

fn bytes(bytes: f64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB", "PB"];
    let at = (bytes.max(1.0).log10() / 3.0).floor().min(5.0);
    let number = bytes / 1e3_f64.powf(at);
    format!(
        "{} {}",
        if number < 10.0 { format!("{number:.1}") } else { format!("{number:.0}") },
        units[at as usize]
    )
}

fn time(seconds: f64) -> String {
    match seconds {
        ..1.0 => format!("{:.0} ms", seconds * 1e3),
        ..120.0 => format!("{seconds:.0} s"),
        ..7_200.0 => format!("{:.0} min", seconds / 60.0),
        ..172_800.0 => format!("{:.0} h", seconds / 3_600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}

fn main() {
    let model = Model::of_arguments();
    println!("| input | value | | from |\n| --- | --- | --- | --- |");
    for input in &INPUTS {
        let (value, name, unit, from) = (model.get(input.name), input.name, input.unit, input.from);
        println!("| `--{name}` | {value} | {unit} | {from} |");
    }
    one_node(&model);
    cluster(&model);
}

fn one_node(model: &Model) {
    println!("\n| one node | {} |\n| --- | --- | --- | --- |", BYTES.map(bytes).join(" | "));
    let row = |name: &str, of: &dyn Fn(f64) -> String| {
        println!("| {name} | {} |", BYTES.map(of).join(" | "));
    };
    row("entries", &|size| format!("{:.0} million", model.entries(size) / 1e6));
    row("memory for what is hot", &|size| bytes(size * model.get("hot") / 100.0));
    row("memory that a hash takes for the same", &|size| {
        bytes(model.entries(size) * model.get("dram"))
    });
    row("disk: the pool and its checkpoint", &|size| bytes(2.0 * size));
    row("process killed: first answer after", &|_| time(model.get("attach") / 1e3));
    row("machine rebooted: what is hot has been read after", &|size| {
        time(size * model.get("hot") / 100.0 / (model.get("read") * 1e6))
    });
    row("append-only file of the same: loaded after", &|size| {
        time(model.entries(size) / model.get("aof"))
    });
    row("power lost: restored from its checkpoint after", &|size| {
        time(size / (model.get("read") * 1e6) + size / (model.get("write") * 1e6))
    });
    row("a replica made anew (full resync, by the network)", &|size| {
        time(size * model.get("entry") / model.get("pool") / (model.get("network") * 1e6))
    });
    row("a checkpoint writes", &|size| bytes(model.checkpoint(size)));
    row("share of the disk's writing that this takes", &|size| {
        let share = model.checkpoint(size) / model.get("interval") / (model.get("write") * 1e6);
        format!("{:.0} %", 100.0 * share)
    });
}

fn cluster(model: &Model) {
    println!(
        "\n| nodes, half of them replicas | {} |",
        NODES.map(|nodes| format!("{nodes:.0}")).join(" | ")
    );
    println!("| --- | {}", "--- | ".repeat(NODES.len()));
    let row = |name: &str, of: &dyn Fn(f64) -> String| {
        println!("| {name} | {} |", NODES.map(of).join(" | "));
    };
    let masters = |nodes: f64| (nodes / 2.0).ceil();
    row("all data, 100 GB a node", &|nodes| bytes(masters(nodes) * 100e9));
    row("writes a second", &|nodes| {
        format!("{:.0} thousand", masters(nodes) * model.get("write-rate") / 1e3)
    });
    row("slots of a master", &|nodes| format!("{:.0}", SLOTS / masters(nodes)));
    row("all killed at once, 100 GB a node: answers after", &|_| {
        time(model.get("attach") / 1e3 + model.get("timeout"))
    });
    row("one more master: moves", &|nodes| bytes(masters(nodes) * 100e9 / (masters(nodes) + 1.0)));
    row("and takes: the newcomer takes keys in on one thread", &|nodes| {
        let moved = masters(nodes) * 100e9 / (masters(nodes) + 1.0);
        time(moved / (model.get("migrate") * 1e6))
    });
    row("cluster bus, a node", &|nodes| format!("{}/s", bytes(model.bus(nodes))));
    row("share of its network", &|nodes| {
        format!("{:.1} %", 100.0 * model.bus(nodes) / (model.get("network") * 1e6))
    });
}
