//! Scans of strings, led through by [`instructions`](super::instructions).

use std::hint::black_box;

use endura::Map;

use crate::Result;
use crate::contender::Contender;
use crate::keys::{key, value};
use crate::store::{Buffers, ByteClient, LmdbBytes, Numbers, Shape, Store, StoreOptions};

/// Entries of a scan.
pub(super) const ENTRIES: usize = 100;

/// What is done between two stops. A ROART sorts an array when a scan meets it for the first time.
pub(super) const SCANS: [&str; 4] = [
    "scan an entry, lent, first time",
    "scan an entry, lent, later",
    "scan an entry, owned, first time",
    "scan an entry, owned, later",
];

/// Loads two maps of half the entries that `options` names, and scans from so many keys.
pub(super) fn work(
    contender: Contender,
    options: &StoreOptions,
    scans: u64,
    begin: impl FnOnce() -> Result<()>,
    stop: impl Fn() -> Result<()>,
) -> Result<()> {
    let keys = options.entries / 2;
    if contender == Contender::Lmdb {
        // Its scans leave nothing for later ones: one map will do.
        let store = LmdbBytes::open(&options.dir, options.lmdb_map_size(), options.shape)?;
        let maps = [store.client()?, store.client()?].map(Numbers::into_bytes);
        return perform(maps, keys, scans, begin, stop);
    }
    let pool = options.open_pool()?;
    let maps: [Map<[u8], [u8]>; 2] = [pool.map("lent")?, pool.map("owned")?];
    perform(maps, keys, scans, begin, stop)
}

fn perform<C: ByteClient>(
    [mut lent, mut owned]: [C; 2],
    keys: u64,
    scans: u64,
    begin: impl FnOnce() -> Result<()>,
    stop: impl Fn() -> Result<()>,
) -> Result<()> {
    let mut buffers = Buffers::new(Shape::STRINGS);
    for i in 0..keys {
        buffers.set_key(key(i));
        buffers.set_value(value(i));
        lent.put(&buffers.key, &buffers.value)?;
        owned.put(&buffers.key, &buffers.value)?;
    }
    begin()?;
    stop()?;
    stop()?;
    for _ in 0..2 {
        for i in 0..scans {
            buffers.set_key(key(i));
            lent.scan(&buffers.key, ENTRIES, |key, value| _ = black_box((key, value)))?;
        }
        stop()?;
    }
    // LMDB has one read transaction a thread.
    drop(lent);
    for _ in 0..2 {
        for i in 0..scans {
            buffers.set_key(key(i));
            owned.scan_owned(&buffers.key, ENTRIES, |key, value| _ = black_box((key, value)))?;
        }
        stop()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn every_scan_is_done_between_two_stops() -> Result<()> {
        for contender in [Contender::Roart, Contender::Lmdb] {
            let dir = tempfile::tempdir().expect("a temporary folder");
            let options = StoreOptions::new(dir.path().to_path_buf(), Shape::STRINGS, 1000);
            let stops = Cell::new(0);
            let stop = || {
                stops.set(stops.get() + 1);
                Ok(())
            };
            work(contender, &options, 5, || Ok(()), stop)?;
            assert_eq!(stops.get(), SCANS.len() + 2);
        }
        Ok(())
    }
}
