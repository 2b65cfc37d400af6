//! ROART, figure 23: set and get through memcached.

use std::path::{Path, PathBuf};

use super::load::{Client, memcached_answer};
use super::process::{Server, beside, free_port, installed};
use crate::Result;
use crate::figures::{Median, figure};
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::results::plotting::{groups, rates, series};

const CLAIM: &str = "ROART inside the server has 1.07 and 1.06 times the sets and gets of P-ART, 1.38 and 1.19 times those of FAST & FAIR";
const VALUE: usize = 100;

/// Measures our server beside memcached itself, each where it is.
pub(in crate::paper) fn set_and_get(scale: &PaperScale) -> Result<Finding> {
    let one_thread = ["-t", "1", "-l", "127.0.0.1"];
    let servers: Vec<(&str, PathBuf, Vec<&str>)> = [
        ("ROART", beside("endura-memcached"), vec!["data.endura", "-m", "1G"]),
        ("memcached, in DRAM", installed("memcached"), vec!["-u", "root", "-m", "1024"]),
    ]
    .into_iter()
    .filter_map(|(name, program, own)| Some((name, program?, [&own[..], &one_thread].concat())))
    .collect();
    let why = "these trees do not stand here";
    if servers.len() < 2 {
        let why = "memcached or target/release/endura-memcached is not there";
        let checks = vec![Check::unknown(CLAIM, "not measured", why)];
        return Ok(Finding { setup: "through a server".into(), plots: Vec::new(), checks });
    }
    let mut points = vec![[Vec::new(), Vec::new()]; servers.len()];
    for _ in 0..scale.rounds {
        for ((name, program, arguments), [sets, gets]) in servers.iter().zip(&mut points) {
            let (set, get) = through(scale, name, program, arguments)?;
            sets.push(set);
            gets.push(get);
        }
    }
    let median = |which: usize| points.iter().map(move |both| Median::of(both[which].clone()));
    let place = |medians| (0..).map(f64::from).zip::<Vec<Median>>(medians);
    let (sets, gets): (Vec<_>, Vec<_>) = (median(0).collect(), median(1).collect());
    let ours = format!(
        "{} times the sets and {} times the gets of memcached's own table in DRAM",
        figure(sets[0].median / sets[1].median),
        figure(gets[0].median / gets[1].median)
    );
    let bars = vec![series("set", place(sets)), series("get", place(gets))];
    let names = groups(servers.iter().map(|server| server.0));
    let plot = rates("through memcached's protocol", names, bars);
    let checks = vec![Check::unknown(CLAIM, &ours, why)];
    let setup = "keys of 16 bytes, values of 100, one connection with 64 requests under way (paper: one thread, Optane)";
    Ok(Finding { setup: setup.into(), plots: vec![plot], checks })
}

/// Million sets and gets a second.
fn through(
    scale: &PaperScale,
    name: &'static str,
    program: &Path,
    arguments: &[&str],
) -> Result<(f64, f64)> {
    let port = free_port()?;
    let arguments = |port| [arguments, &["-p", port]].concat();
    let server = Server::start(&scale.dir, program, arguments, &port)?;
    let mut client = Client::new(server.connect()?, name);
    let value = "v".repeat(VALUE);
    let key = |number: u64| format!("{:016x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let sets: Vec<Vec<u8>> = (0..scale.operations)
        .map(|number| format!("set {} 0 0 {VALUE}\r\n{value}\r\n", key(number)).into_bytes())
        .collect();
    let mut random = fastrand::Rng::with_seed(scale.seed);
    let get = |_| format!("get {}\r\n", key(random.u64(..scale.operations))).into_bytes();
    let gets: Vec<Vec<u8>> = (0..scale.operations).map(get).collect();
    Ok((client.run(&sets, memcached_answer)?, client.run(&gets, memcached_answer)?))
}
