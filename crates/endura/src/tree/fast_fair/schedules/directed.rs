//! Single schedules that once went wrong.

use super::*;
use crate::Error;
use crate::pool::Worker;

fn all(tree: &Tiny<14>) -> Vec<(u64, u64)> {
    let (mut cursor, mut from, mut entries) = (Cursor::default(), Some(0), Vec::new());
    while let Some(key) = from
        && let Some(entry) = tree.scan_up(&mut cursor, key).unwrap()
    {
        entries.push(entry);
        from = entry.0.checked_add(1);
    }
    entries
}

/// A leaf that the parent named in one epoch may be another map's in the next but one, and a pin
/// that began in the next does not hold that up.
#[test]
fn a_scan_does_not_follow_a_list_of_the_epoch_before() {
    type Flat = Tree<Scheduled, 22, 14, LineBinary>;
    const NODE: u64 = Node::<Scheduled, 14>::BYTES;
    let space = space_over(Scheduled::new(4 * PAGE));
    let spare = space.pin_mut().unwrap().alloc(NODE).unwrap();
    let tree = Flat::open(&space, "tiny").unwrap();
    (1..=8).for_each(|key| _ = tree.modify(key, |_| Change::Put(10 * key)).unwrap());
    // Leaves of two entries; the list of the first one's parent is read.
    let mut cursor = Cursor::default();
    assert_eq!(tree.scan_up(&mut cursor, 0).unwrap(), Some((1, 10)));
    let mut holder = Worker::new();
    let held = holder.run(|| space.pin().unwrap());
    // The third leaf goes into the second; the epoch moves on once.
    [5, 6].into_iter().for_each(|key| _ = tree.modify(key, |_| Change::Remove).unwrap());
    let before = tree.survey(&mut |_, _| ()).unwrap();
    space.reclaim_outside().unwrap();
    holder.run(|| drop(held));
    let mut next = 2;
    while next <= 4 {
        next = tree.scan_up(&mut cursor, next).unwrap().unwrap().0 + 1;
    }
    let cursor = Mutex::new(cursor);
    // The first access is that to the next leaf of the list.
    let stop = Strategy::StopAt { thread: 0, mark: "", nth: 1 };
    run(2, 0, stop, |me| {
        if me == 0 {
            let found = tree.scan_up(&mut cursor.lock().unwrap(), 5).unwrap();
            assert_eq!(found, Some((7, 70)), "{before:?}");
        } else {
            space.reclaim_outside().unwrap();
            space.pin_mut().unwrap().discard(spare, NODE);
            let other = Flat::open(&space, "other").unwrap();
            (1..=2).for_each(|key| _ = other.modify(key + 6, |_| Change::Put(666)).unwrap());
        }
    })
    .unwrap();
}

/// A power loss must not leave a separator of a node to which no durable link leads.
#[test]
fn a_separator_is_not_posted_over_a_link_that_can_be_lost() {
    for keys in 4..40 {
        let space = space_over(Scheduled::adr(2 * PAGE));
        let tree = Tiny::<14>::open(&space, "tiny").unwrap();
        (0..keys).for_each(|key| _ = tree.modify(10 * key, |_| Change::Put(key)).unwrap());
        let image = Mutex::new(None);
        // The second split of one operation is that of an inner node.
        let stop = Strategy::StopAt { thread: 0, mark: "split.S3.tag", nth: 2 };
        run(2, 0, stop, |me| {
            if me == 0 {
                tree.modify(10 * keys, |_| Change::Put(keys)).unwrap();
            } else {
                (0..keys).for_each(|key| _ = tree.modify(10 * key, |_| Change::Put(key)).unwrap());
                *image.lock().unwrap() = Some(space.media().after_power_loss());
            }
        })
        .unwrap();
        let medium = image.into_inner().unwrap().unwrap();
        let session = Session { generation: 2, clean: false, read_only: false };
        let space = Arc::new(Space::mount(medium, session).unwrap());
        let tree = Tiny::<14>::open(&space, "tiny").unwrap();
        let found = tree.survey(&mut |_, _| ());
        let found = found.unwrap_or_else(|error| panic!("{keys} keys: {error}"));
        assert!(found.entries >= keys);
        assert!(all(&tree).len() as u64 >= keys);
    }
}

#[test]
fn a_cursor_notices_that_its_map_or_its_pool_has_gone() {
    let space = space_over(Scheduled::new(2 * PAGE));
    let open = || {
        let tree = Tiny::<14>::open(&space, "tiny").unwrap();
        [1, 2].into_iter().for_each(|key| _ = tree.modify(key, |_| Change::Put(key)).unwrap());
        let mut cursor = Cursor::default();
        assert_eq!(tree.scan_up(&mut cursor, 0).unwrap(), Some((1, 1)));
        (tree, cursor)
    };
    let (tree, mut cursor) = open();
    drop_tiny::<14>(&space).unwrap();
    assert!(matches!(tree.scan_up(&mut cursor, 2), Err(Error::Dropped)));
    let (tree, mut cursor) = open();
    space.close().unwrap();
    assert!(matches!(tree.scan_up(&mut cursor, 2), Err(Error::Closed)));
}
