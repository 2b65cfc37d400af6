//! A pool that is mounted to be read is not written to: not by its mount, not by whoever asks for what would write,
//! not by its close.

use endura_engine::Error;
use endura_engine::media::Heap;
use endura_engine::space::{PAGE, Session, Space};
use endura_variants::media::Counting;

#[test]
fn a_read_only_pool_lets_readers_in_and_is_not_written() {
    let medium = Counting::new(Heap::new(2 * PAGE));
    Space::format(&medium).unwrap();
    let before = medium.counts();
    let session = Session { generation: 1, clean: true, read_only: true };
    let space = Space::mount(medium, session).unwrap();
    drop(space.pin().unwrap());
    assert!(matches!(space.pin_mut(), Err(Error::ReadOnly)));
    assert!(matches!(space.open_map("m", 1, 0, |_, _| Ok(0)), Err(Error::NoSuchMap { .. })));
    space.close().unwrap();
    let after = space.media().counts().since(before);
    assert_eq!((after.stores, after.line_flushes), (0, 0));
}
