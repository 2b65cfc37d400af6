//! Tests of states that no public interface of the library can create.

use std::sync::Arc;

use super::*;
use crate::Error;
use crate::media::Heap;
use crate::space::Space;
use crate::space::{PAGE, Session};
use crate::tree::numbers::Values;
use crate::tree::{Change, Index};

type Tiny = Tree<Heap, 14, 14, LineBinary>;

#[test]
fn a_cursor_notices_that_its_map_or_its_pool_has_gone() {
    let medium = Heap::new(2 * PAGE);
    Space::format(&medium).unwrap();
    let session = Session { generation: 1, clean: true, read_only: false };
    let space = Arc::new(Space::mount(medium, session).unwrap());
    let open = || {
        let tree = Tiny::open(&space, "tiny").unwrap();
        [1, 2].into_iter().for_each(|key| _ = tree.modify(key, |_| Change::Put(key)).unwrap());
        let mut cursor = Cursor::default();
        assert_eq!(tree.scan_up(&mut cursor, 0).unwrap(), Some((1, 1)));
        (tree, cursor)
    };
    let (tree, mut cursor) = open();
    let mut inventory = Inventory::default();
    let dropped = space.drop_map("tiny", |_| {
        Ok(Box::new(move |media, map, note, _| {
            inventory.step::<_, 14, 14>(media, map, Values::Numbers, note, 1)
        }))
    });
    assert!(dropped.unwrap());
    assert!(matches!(tree.scan_up(&mut cursor, 2), Err(Error::Dropped)));
    let (tree, mut cursor) = open();
    space.close().unwrap();
    assert!(matches!(tree.scan_up(&mut cursor, 2), Err(Error::Closed { .. })));
}
