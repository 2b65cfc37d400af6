//! NBTree, section 6.6: YCSB-A through Redis.

use std::path::Path;

use super::load::{Client, redis, redis_answer};
use super::process::{Server, beside, free_port, installed};
use crate::Result;
use crate::figures::{Median, figure};
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::results::plotting::{groups, rates, series};
use crate::workload::Zipf;

const CLAIM: &str = "NBTree has 1.13 to 1.53 times the requests of the others";

/// A map inside the server: its name, what makes it, and the commands that write and read a field.
const MAPS: [(&str, Option<&[&str]>, &str, &str); 3] = [
    ("NbTree", Some(&["EN.CREATE", "map", "KIND", "nbtree"]), "EN.SET", "EN.GET"),
    ("FastFair", Some(&["EN.CREATE", "map", "KIND", "fastfair"]), "EN.SET", "EN.GET"),
    ("Redis' own hash, in DRAM", None, "HSET", "HGET"),
];

/// Measures it, if Redis is installed and the module was built.
pub(in crate::paper) fn ycsb_a(scale: &PaperScale) -> Result<Finding> {
    let (Some(server), Some(module)) = (installed("redis-server"), beside("libendura_redis.so"))
    else {
        let why =
            "redis-server or target/release/libendura_redis.so is not there: .ci/redis --build";
        let checks = vec![Check::unknown(CLAIM, "not measured", why)];
        return Ok(Finding { setup: "through Redis".into(), plots: Vec::new(), checks });
    };
    let mut points = vec![Vec::new(); MAPS.len()];
    for _ in 0..scale.rounds {
        for (map, points) in MAPS.iter().zip(&mut points) {
            points.push(through(scale, &server, &module, *map)?);
        }
    }
    let medians: Vec<Median> = points.into_iter().map(Median::of).collect();
    let ahead = medians[0].median / medians[1].median;
    let bars = (0..).map(f64::from).zip(medians);
    let names = groups(MAPS.iter().map(|map| map.0));
    let plot = rates("YCSB-A through Redis", names, vec![series("requests", bars)]);
    let checks = vec![Check::new(
        CLAIM,
        format!("{} times FAST & FAIR's", figure(ahead)),
        ahead >= 1.13 * 0.9,
        "one thread of the server runs all commands, and most of a command is its protocol",
    )];
    let setup = "half gets, half updates of integers, zipfian 0.99, one connection with 64 requests under way, Redis' one thread \
                 of commands (paper: 28 threads of a server made multi-threaded, Optane)";
    Ok(Finding { setup: setup.into(), plots: vec![plot], checks })
}

fn through(
    scale: &PaperScale,
    program: &Path,
    module: &Path,
    (name, make, set, get): (&'static str, Option<&[&str]>, &str, &str),
) -> Result<f64> {
    let module = module.display().to_string();
    let port = free_port()?;
    let arguments = |port| {
        let mut arguments = vec!["--port", port, "--bind", "127.0.0.1", "--save", ""];
        arguments.extend(["--loadmodule", &module, "data.endura", "no-checkpoints"]);
        arguments
    };
    let server = Server::start(&scale.dir, program, arguments, &port)?;
    let mut client = Client::new(server.connect()?, name);
    if let Some(make) = make {
        client.run(&[redis(make)], redis_answer)?;
    }
    let field = |key: u64| (key * 2 + 1).to_string();
    let load: Vec<Vec<u8>> =
        (0..scale.keys).map(|key| redis(&[set, "map", &field(key), "1"])).collect();
    client.run(&load, redis_answer)?;
    let (zipf, mut random) = (Zipf::new(scale.keys, 0.99), fastrand::Rng::with_seed(scale.seed));
    let request = |_| {
        let field = field(zipf.draw(&mut random) % scale.keys);
        match random.bool() {
            true => redis(&[get, "map", &field]),
            false => redis(&[set, "map", &field, "2"]),
        }
    };
    let requests: Vec<Vec<u8>> = (0..scale.operations).map(request).collect();
    client.run(&requests, redis_answer)
}
