//! scratch
use endura_bench::{operation::*, peer::*, run::*, store::*};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let keys: u64 = args[1].parse().unwrap();
    let ops: Vec<Operation> = Operation::ALL
        .into_iter()
        .filter(|o| args[2].split(',').any(|a| o.name().starts_with(a)))
        .collect();
    let rounds: u32 = args[3].parse().unwrap();
    let kind = match args.get(4).map(String::as_str) {
        Some("nbtree") => endura::Kind::NbTree,
        Some("ff") => endura::Kind::FastFair,
        _ => endura::Kind::Roart,
    };
    let peer = args.get(5).map(|_| Peer::Lmdb);
    let config = Config {
        sizes: Sizes {
            keys,
            operations: std::env::var("OPS").map_or(keys / 5, |o| o.parse().unwrap()),
        },
        operations: ops,
        threads: vec![1],
        rounds,
        dir: "/dev/shm".into(),
        pool: {
            let mut o = endura::PoolOptions::default();
            if std::env::var_os("VG").is_some() {
                o = o.max_size(1 << 30);
            }
            o
        },
        kind,
        layout: None,
        shape: if std::env::var_os("WORDS").is_some() { Shape::WORDS } else { Shape::STRINGS },
        peer,
        seed: 1,
    };
    let outcome = run(&config, &mut |_| {}).unwrap();
    for s in &outcome.samples {
        println!(
            "{} {} {:.1} ns",
            s.store,
            s.operation.name(),
            s.cpu_seconds * 1e9 / s.operations as f64
        );
    }
}
