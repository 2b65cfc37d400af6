//! What gathers while a thread stays inside an operation is freed in bites when it has left.

use std::sync::mpsc::channel;

use endura::Pool;

use crate::support::patience::ends;

const VALUE: usize = 4_000;
/// The size of its chunk.
const CHUNK: u64 = 4_096;
const UPDATES: u64 = 20_000;
/// More than an operation may free, and far less than what waits.
const BITE: u64 = 512 * CHUNK;

#[test]
fn no_operation_pays_for_a_whole_stall_and_all_together_catch_up() {
    ends("no operation pays for a whole stall and all together catch up", || {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let pool = Pool::options().create_new(folder.path().join("pool")).unwrap();
        let map = pool.map::<u64, [u8]>("map").unwrap();
        let keys = 100;
        let update = |i: u64| drop(map.insert(i % keys, &[i as u8; VALUE]).unwrap());
        (0..keys).for_each(update);
        let calm = pool.stats().unwrap();
        let (tell, told) = channel();
        let (inside, is_inside) = channel();
        std::thread::scope(|scope| {
            let map = &map;
            scope.spawn(move || {
                map.get_with(5, |_| {
                    inside.send(()).unwrap();
                    told.recv().unwrap();
                })
                .unwrap();
            });
            is_inside.recv().unwrap();
            (0..UPDATES).for_each(update);
            let stalled = pool.stats().unwrap();
            assert!(stalled.limbo_bytes > UPDATES * CHUNK / 2);
            // It says that the file grows, and why.
            assert_eq!(stalled.warnings.len(), calm.warnings.len() + 1, "{:?}", stalled.warnings);
            tell.send(()).unwrap();
        });
        let mut waiting = pool.stats().unwrap().limbo_bytes;
        for i in 0..2_000 {
            update(i);
            let left = pool.stats().unwrap().limbo_bytes;
            assert!(waiting.saturating_sub(left) <= BITE, "update {i}: {waiting} to {left}");
            waiting = left;
        }
        (0..UPDATES / 2).for_each(update);
        let after = pool.stats().unwrap();
        assert!(after.limbo_bytes < BITE, "{} wait after as many updates", after.limbo_bytes);
        assert_eq!(after.warnings, calm.warnings);
    })
}
