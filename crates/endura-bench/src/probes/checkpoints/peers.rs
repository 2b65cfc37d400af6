//! How fast stores are that survive a power loss: endura with a checkpoint each second beside RocksDB with its log synced each
//! second; and beside LMDB and redb with a sync in each commit, which lose nothing.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::bed::Watch;
use super::throughput::draw;
use crate::contender::{Contender, Entrant};
use crate::figures::Median;
use crate::keys::key;
use crate::store::{Shape, StoreOptions, Survives, temporary};
use crate::{Error, Result};

/// Half gets, half updates, zipfian with 0.99.
#[derive(Debug, Clone, Copy)]
pub struct PeersPlan {
    /// Keys in each store.
    pub keys: u64,
    /// Threads that send requests.
    pub threads: usize,
    /// Turns of each store.
    pub rounds: u32,
    /// How long a turn is.
    pub turn: Duration,
}

/// What was measured of one store.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Peer {
    /// Its name.
    pub store: &'static str,
    /// What its writes survive.
    pub survives: Survives,
    /// Million requests a second, of each turn.
    pub millions: Vec<f64>,
}

/// What was measured of all, the first of which is endura.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Peers {
    /// Keys in each store.
    pub keys: u64,
    /// Threads that sent requests.
    pub threads: usize,
    /// How long a turn was.
    pub turn_seconds: f64,
    /// The stores that this build has.
    pub stores: Vec<Peer>,
}

impl Peers {
    /// Requests of endura for each one of the store at this place, round by round.
    pub fn ratio(&self, store: usize) -> Median {
        let pairs = self.stores[0].millions.iter().zip(&self.stores[store].millions);
        Median::of(pairs.map(|(ours, theirs)| ours / theirs).collect())
    }
}

const ALL: [(Contender, Survives); 4] = [
    (Contender::FastFair, Survives::PowerLossASecondLater),
    (Contender::RocksDb, Survives::PowerLossASecondLater),
    (Contender::Lmdb, Survives::PowerLoss),
    (Contender::Redb, Survives::PowerLoss),
];

/// Runs all stores that this build has in turn, in another order in each round.
pub fn peers(dir: &Path, plan: PeersPlan, watch: &Watch<'_>) -> Result<Peers> {
    let folder = temporary(dir)?;
    let all: Vec<_> = ALL.into_iter().filter(|(contender, _)| contender.is_built()).collect();
    let options = |contender: Contender| {
        let dir = folder.path().join(contender.argument());
        StoreOptions::new(dir, Shape::WORDS, plan.keys)
    };
    for &(contender, _) in &all {
        watch(format!("loading {}", contender.name()));
        load(&*contender.open(&options(contender))?, plan.keys)?;
    }
    let requests: Vec<_> = (0..plan.threads as u64).map(|seed| draw(plan.keys, seed)).collect();
    let peer = |&(contender, survives): &(Contender, Survives)| Peer {
        store: contender.name(),
        survives,
        millions: Vec::new(),
    };
    let mut stores: Vec<Peer> = all.iter().map(peer).collect();
    for round in 0..plan.rounds as usize {
        for n in 0..all.len() {
            let n = (n + round) % all.len();
            let (contender, survives) = all[n];
            let name = contender.name();
            watch(format!(
                "threads {}, round {} of {}: {name}",
                plan.threads,
                round + 1,
                plan.rounds
            ));
            let store = contender.open(&options(contender).surviving(survives))?;
            // What is read for the first time after the open, and endura's first checkpoint, belong to no turn.
            send_for(name, &*store, &requests, plan.turn / 3)?;
            stores[n].millions.push(send_for(name, &*store, &requests, plan.turn)?);
        }
    }
    let (keys, threads, turn_seconds) = (plan.keys, plan.threads, plan.turn.as_secs_f64());
    Ok(Peers { keys, threads, turn_seconds, stores })
}

fn load(store: &dyn Entrant, keys: u64) -> Result<()> {
    let mut client = store.client()?;
    (0..keys).try_for_each(|i| client.insert(key(i), i))
}

/// Sends requests for so long; million requests a second.
fn send_for<'r>(
    name: &'static str,
    store: &dyn Entrant,
    requests: &'r [Vec<(u64, bool)>],
    time: Duration,
) -> Result<f64> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (begun, stop) = (Instant::now(), &stop);
        let send = |requests: &'r Vec<_>| scope.spawn(move || send(name, store, requests, stop));
        let senders: Vec<_> = requests.iter().map(send).collect();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        let mut sent = 0;
        for sender in senders {
            sent += sender.join().map_err(|_| Error::Panicked)??;
        }
        Ok(sent as f64 / begun.elapsed().as_secs_f64() / 1e6)
    })
}

/// Sends requests until `stop`; returns how many.
fn send(
    store: &'static str,
    entrant: &dyn Entrant,
    requests: &[(u64, bool)],
    stop: &AtomicBool,
) -> Result<u64> {
    let mut client = entrant.client()?;
    let (mut sent, mut wrong) = (0, 0);
    for &(key, updates) in requests.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let is_there = match updates {
            true => client.update(key, sent)?,
            false => client.get(key)?.is_some(),
        };
        wrong += u64::from(!is_there);
        sent += 1;
    }
    match wrong {
        0 => Ok(sent),
        _ => Err(Error::Wrong {
            store,
            operation: "half updates, half gets".into(),
            wrong,
            of: sent,
        }),
    }
}
