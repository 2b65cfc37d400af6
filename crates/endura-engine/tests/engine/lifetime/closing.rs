//! Closing and verifying a pool beside operations that stay: who is inside is not waited for by himself, nor
//! for ever by a verification.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use endura::{MapOptions, Pool};
use endura_engine::{Error, Kind, NodeLayout};

use crate::nesting::closures::{KEY, World};
use crate::support::patience::ends;

/// Long enough for another thread to come to where it waits.
const MOMENT: Duration = Duration::from_millis(100);

#[test]
fn who_is_inside_asks_a_pool_that_is_being_closed() {
    ends("a question inside an operation", || {
        let folder = tempfile::tempdir().unwrap();
        let world = World::new(folder.path(), "pool");
        let (enter, entered) = channel();
        let inside = {
            let world = world.clone();
            std::thread::spawn(move || {
                world.roart.get_with(KEY, |_| {
                    enter.send(()).unwrap();
                    std::thread::sleep(MOMENT);
                    assert!(matches!(world.pool.close(), Err(Error::InsideOperation)));
                    assert!(matches!(world.pool.verify(), Err(Error::InsideOperation)));
                    world.pool.stats().unwrap();
                    assert_eq!(world.pool.maps().unwrap().len(), 3);
                    world.fast_fair.get(1).unwrap();
                    // Inside a reader's pin a write is the first of its kind.
                    assert!(matches!(world.fast_fair.insert(1, 1), Err(Error::Closed { .. })));
                })
            })
        };
        entered.recv().unwrap();
        let others: Vec<_> = (0..2)
            .map(|_| {
                let pool = world.pool.clone();
                std::thread::spawn(move || pool.close())
            })
            .collect();
        inside.join().unwrap().unwrap();
        let closed: Vec<_> = others.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!(closed.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{closed:?}");
        assert!(matches!(world.pool.stats(), Err(Error::Closed { .. })));
    });
}

#[test]
fn a_verification_gives_up_where_a_writer_waits_for_another_one() {
    ends("a writer that waits for another one", || {
        let folder = tempfile::tempdir().unwrap();
        let world = World::new(folder.path(), "pool");
        let mut verified = None;
        world
            .roart
            .insert_from(KEY, 8, |out| {
                let pool = world.pool.clone();
                let verifying = std::thread::spawn(move || pool.verify());
                std::thread::sleep(MOMENT);
                let (map, begun) = (world.fast_fair.clone(), Instant::now());
                std::thread::spawn(move || map.insert(1, 1)).join().unwrap().unwrap();
                assert!(begun.elapsed() < Duration::from_secs(10));
                verified = Some(verifying.join().unwrap());
                out.write_all(&[1; 8])
            })
            .unwrap();
        match verified.unwrap() {
            Err(error @ Error::WritersStay { threads: 1, thread }) => {
                assert!(thread != 0 && error.to_string().contains(&thread.to_string()), "{error}");
            }
            other => panic!("{other:?}"),
        }
        world.pool.verify().unwrap();
        world.pool.close().unwrap();
    });
}

/// Who says nothing of nodes gets the map that is there, also where another thread makes it in between.
#[test]
fn a_map_without_a_choice_of_nodes_is_never_of_the_wrong_kind() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::options().max_size(1 << 30).create_new(folder.path().join("pool")).unwrap();
    let both = std::sync::Barrier::new(2);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for n in 0..200 {
                both.wait();
                let name = format!("{n}");
                let options = match n % 2 {
                    0 => MapOptions::new().node_layout(NodeLayout::NarrowLeaves),
                    _ => MapOptions::new().kind(Kind::NbTree),
                };
                pool.map_with::<u64, u64>(&name, options).map(drop).unwrap_or_default();
                both.wait();
                pool.drop_map(&name).unwrap();
            }
        });
        for n in 0..200 {
            both.wait();
            let name = format!("{n}");
            let opened = pool.map::<u64, u64>(&name).map(drop);
            both.wait();
            opened.unwrap();
        }
    });
}
