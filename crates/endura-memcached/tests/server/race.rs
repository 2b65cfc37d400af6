//! Several clients ask for an item at the same time: one of them wins it.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::support::{Running, from_environment};

const CLIENTS: usize = 4;

/// Each round has a key of its own. All clients ask for it when it is absent, and again when it was made stale.
#[test]
fn one_client_wins() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(&folder.path().join("pool"), &["--threads", "4"]);
    let rounds = from_environment("ENDURA_RACES", 1_000);
    let (barrier, wins) = (Barrier::new(CLIENTS), [const { AtomicU64::new(0) }; 3]);
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (server, barrier, wins) = (&server, &barrier, &wins);
            scope.spawn(move || {
                let mut client = server.connect();
                for round in 0..rounds {
                    let mut race = |which: usize, said: &str| {
                        barrier.wait();
                        let reply = client.ask(said).unwrap();
                        wins[which].fetch_add(u64::from(reply.ends_with('W')), Ordering::Relaxed);
                        if barrier.wait().is_leader() && which < 2 {
                            let stale = client.ask(format!("md k{round} I T100\r\n")).unwrap();
                            assert_eq!(stale, "HD");
                        }
                    };
                    race(0, &format!("mg k{round} N30 O{number}\r\n"));
                    race(1, &format!("mg k{round} O{number}\r\n"));
                    race(2, &format!("mg k{round} R200 t O{number}\r\n"));
                }
            });
        }
    });
    assert_eq!(wins.map(AtomicU64::into_inner), [rounds; 3]);
    server.terminate();
}
