//! What a closed pool keeps while its handles live on: no memory, no descriptor, no disk space.

use std::fs;
use std::path::Path;
use std::sync::Barrier;

use endura::{Checkpoints, Error, Pool};

/// The mappings and descriptors that this process has of files below a folder, also of removed ones.
fn kept_of(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mut kept: Vec<String> = maps.lines().map(str::to_owned).collect();
    for entry in fs::read_dir("/proc/self/fd").unwrap().flatten() {
        kept.extend(fs::read_link(entry.path()).map(|target| target.display().to_string()));
    }
    kept.retain(|line| line.contains(folder));
    kept
}

#[test]
fn a_close_keeps_nothing_beside_living_handles() {
    let folder = tempfile::tempdir().unwrap();
    for (name, read_only, is_removed) in
        [("a", false, false), ("b", true, false), ("c", false, true), ("d", true, true)]
    {
        let path = folder.path().join(name);
        let pool = Pool::options().checkpoints(Checkpoints::on_demand()).create_new(&path).unwrap();
        let map = pool.map::<u64, [u8]>("map").unwrap();
        (0..200).for_each(|n| map.insert(n, &[n as u8; 50_000]).map(drop).unwrap());
        drop(map);
        pool.close().unwrap();
        drop(pool);
        assert_eq!(kept_of(folder.path()), [""; 0], "after the last handle");

        let pool = Pool::options().read_only(read_only).open_existing(&path).unwrap();
        let map = pool.map::<u64, [u8]>("map").unwrap();
        let mut range = map.iter();
        assert_eq!(range.next().unwrap().unwrap().0, 0);
        assert!(!kept_of(folder.path()).is_empty());
        if is_removed {
            fs::remove_file(&path).unwrap();
            let _ = fs::remove_file(path.with_file_name(format!("{name}.checkpoint")));
        }
        match pool.close() {
            Ok(_) => assert!(!is_removed || read_only),
            Err(error) => assert!(matches!(error, Error::Displaced { .. }), "{error:?}"),
        }
        assert_eq!(kept_of(folder.path()), [""; 0], "{name}");
        // Handles that live on are turned away.
        assert!(matches!(map.get(1), Err(Error::Closed { .. })));
        assert!(matches!(map.put(1, b""), Err(Error::Closed { .. })));
        assert!(matches!(map.len(), Err(Error::Closed { .. })));
        assert!(matches!(range.next(), Some(Err(Error::Closed { .. }))));
        assert!(matches!(pool.stats(), Err(Error::Closed { .. })));
        assert!(matches!(pool.maps(), Err(Error::Closed { .. })));
        assert!(matches!(pool.verify(), Err(Error::Closed { .. })));
        assert!(matches!(pool.checkpoint(), Err(Error::Closed { .. } | Error::ReadOnly)));
        assert!(pool.backup(folder.path().join("copy")).is_err());
        assert!(matches!(pool.close(), Err(Error::Closed { .. })));
    }
}

/// A close waits for whoever is inside: a reader, a verification, a copy of a pool that is only read.
#[test]
fn a_close_takes_nothing_from_under_an_operation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let pool = Pool::options().checkpoints(Checkpoints::off()).create_new(&path).unwrap();
    let map = pool.map::<u64, [u8]>("map").unwrap();
    (0..2_000).for_each(|n| map.insert(n, &[n as u8; 10_000]).map(drop).unwrap());
    drop(map);
    pool.close().unwrap();
    for round in 0..20_u64 {
        let read_only = round % 2 == 0;
        let pool = Pool::options().read_only(read_only).open_existing(&path).unwrap();
        let map = pool.map::<u64, [u8]>("map").unwrap();
        let begun = Barrier::new(4);
        let copy = folder.path().join(format!("copy {round}"));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                begun.wait();
                while let Ok(found) = map.get_with(round, |value| value == [round as u8; 10_000]) {
                    assert_eq!(found, Some(true));
                }
            });
            threads.spawn(|| {
                begun.wait();
                let report = pool.verify();
                assert!(matches!(report, Ok(_) | Err(Error::Closed { .. })), "{report:?}");
            });
            threads.spawn(|| {
                begun.wait();
                match pool.backup(&copy) {
                    Ok(_) => Pool::open(&copy).unwrap().verify().map(drop).unwrap(),
                    Err(error) => assert!(matches!(error, Error::Closed { .. }), "{error:?}"),
                }
            });
            begun.wait();
            std::thread::sleep(std::time::Duration::from_millis(round));
            pool.close().unwrap();
        });
        let _ = fs::remove_file(&copy);
    }
}
