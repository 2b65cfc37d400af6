//! Commits across sessions: what a session leaves behind, and which builds may open it.

use endura_engine::space::Superblock;

use super::world::{KINDS, open};

/// The features without which a pool must not be opened.
fn features(path: &std::path::Path) -> u64 {
    Superblock::read(&std::fs::File::open(path).unwrap()).unwrap().incompatible
}

#[test]
fn what_was_committed_is_there_after_a_close() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let kinds: Vec<usize> = (0..KINDS.len()).collect();
    for round in 0..3 {
        let world = open(&path, &kinds).unwrap();
        assert_eq!(
            features(&path),
            1,
            "an open pool may have changes that an older build must not ignore"
        );
        for map in 0..KINDS.len() {
            let found: Vec<_> = (0..50).map(|key| world.maps[map].get(key)).collect();
            assert!(
                found.iter().all(|&found| found == (round > 0).then_some(round)),
                "map {map}: {found:?}"
            );
        }
        let steps: Vec<_> = kinds
            .iter()
            .flat_map(|&map| (0..50).map(move |key| (map, key, Some(round + 1))))
            .collect();
        world.commit(&steps).unwrap();
        let report = world.pool.verify().unwrap();
        assert_eq!(report.shares.leaked, 0);
        let (maps, pool) = (world.maps, world.pool);
        drop(maps);
        pool.close().unwrap();
        assert_eq!(features(&path), 0);
    }
}
