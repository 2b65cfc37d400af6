//! Running out of space at every chunk of an operation: it fails cleanly, and nothing is lost.

use endura_engine::Error;

use crate::byte_world::ByteContents;
use crate::sessions::World;

/// Does `act` once for every chunk that it takes, and refuses that one.
pub(crate) fn refuse_each<C: ByteContents>(
    keys: &[&[u8]],
    act: impl Fn(&C::Map) -> Result<(), Error>,
) {
    for n in 1.. {
        let world = World::<C>::new().with(keys);
        let before = world.entries();
        world.stage().refuse_chunk(n);
        let answer = act(world.map());
        let refused = !world.stage().refusal_pending();
        world.stage().refuse_chunk(0);
        if !refused {
            answer.unwrap();
            assert!(n > 1, "the operation takes a chunk");
            return;
        }
        if let Err(error) = answer {
            assert!(matches!(error, Error::Full { .. }), "{error}");
            assert_eq!(world.entries(), before);
            world.verify_tidy();
            act(world.map()).unwrap();
        }
        world.verify_tidy();
    }
}
