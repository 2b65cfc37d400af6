//! Scans: a [scan of records](crate::tree::records::scan) over the [walk](crate::tree::roart::read::key_walk) of this tree.

use std::ops::Bound;

use crate::Result;
use crate::media::{Media, Region};
use crate::space::{Guard, OpenMap};
use crate::tree::records::scan::noted::{Batch, Holds};
use crate::tree::records::scan::scan::{self, Walk, Walked};

use crate::tree::roart::nodes::lock::LockWord;
use crate::tree::roart::read::key_walk::KeyWalk;
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;

/// A position in a scan in one direction. A new cursor starts at the bounds of its first call.
#[derive(Default)]
pub struct Cursor(pub(crate) scan::Cursor<LockWord>);

impl<M: Media, T: Techniques> Holds<M, LockWord> for Tree<M, T> {
    #[inline]
    fn still_holds(&self, holder: &Region<'_, M>, version: LockWord, _: u64) -> bool {
        version.still_holds(holder)
    }
}

impl<M: Media, T: Techniques, const UP: bool> Walk<LockWord> for KeyWalk<'_, '_, M, T, UP> {
    fn has_moved(&self) -> bool {
        Self::has_moved(self)
    }

    fn has_ended(&self) -> bool {
        Self::has_ended(self)
    }

    fn note(&mut self, batch: &mut Batch<LockWord>, want: usize) -> Result<()> {
        Self::note(self, batch, want)
    }

    fn ask_ahead(&mut self, want: usize) -> Result<()> {
        Self::ask_ahead(self, want)
    }
}

impl<M: Media, T: Techniques> Walked for Tree<M, T> {
    type Medium = M;
    type Version = LockWord;
    type Walk<'g, 'b, const UP: bool> = KeyWalk<'g, 'b, M, T, UP>;

    #[inline(always)]
    fn open_map(&self) -> &OpenMap<M> {
        &self.open
    }

    fn walk<'g, 'b, const UP: bool>(
        &'g self,
        guard: &'g Guard<'g, M>,
        first: Bound<&'b [u8]>,
    ) -> Result<KeyWalk<'g, 'b, M, T, UP>> {
        KeyWalk::new(self, self.root(guard)?, first)
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use super::*;
    use crate::media::Heap;
    use crate::space::{PAGE, Session, Space};
    use crate::tree::records::record::Record;
    use crate::tree::records::scan::noted::BatchShown;
    use crate::tree::roart::nodes::array::Array;
    use crate::tree::roart::nodes::word::LinkKind;
    use crate::tree::{ByteChange, ByteIndex};

    fn opened(heap: &Arc<Heap>, generation: u64) -> Tree<Arc<Heap>> {
        let session = Session { generation, clean: generation == 1, read_only: false };
        let space = Arc::new(Space::mount(Arc::clone(heap), session).unwrap());
        Tree::open(&space, "map").unwrap()
    }

    /// Whether the only child of the root, an array, has its order in this session.
    fn is_ordered(tree: &Tree<Arc<Heap>>, generation: u64) -> bool {
        let guard = tree.open.pin().unwrap();
        let root = tree.root(&guard).unwrap();
        let (_, _, link) = root.next_child::<true>(0).unwrap();
        let LinkKind::Array(kind) = link.kind().unwrap() else { panic!("no array") };
        let array = Array::enter(tree.open.space().media(), link.at(), kind).unwrap();
        array.version().is_ordered(generation)
    }

    /// The keys, in the order in which a scan shows them.
    fn scan_all(tree: &Tree<Arc<Heap>>) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        let all = (Bound::Unbounded, Bound::Unbounded);
        tree.scan_up(&mut Cursor::default(), all, |key, _| {
            keys.push(key.to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
        keys
    }

    /// A session that only reads sorts an array once. Its first scan stores the order, and so begins a version of the
    /// array. It notes the records under that version, so that one walk shows all of them.
    #[test]
    fn a_scan_leaves_the_order_of_an_array_that_no_writer_of_the_session_has_locked() {
        let heap = Arc::new(Heap::new(16 * PAGE));
        Space::format(&heap).unwrap();
        let keys: Vec<Vec<u8>> = (0..20).map(|n: u8| vec![b'k', n * 7 % 20]).collect();
        let mut sorted = keys.clone();
        sorted.sort();
        let tree = opened(&heap, 1);
        for key in &keys {
            tree.modify(key, |_| ByteChange::Put(key.clone().into())).unwrap();
        }
        drop(tree);
        for generation in 2..5 {
            let tree = opened(&heap, generation);
            assert!(!is_ordered(&tree, generation));
            let guard = tree.open.pin().unwrap();
            let (mut batch, mut goes_on) = (Batch::default(), false);
            scan::begin::<_, true>(&tree, &guard, &mut batch, &mut goes_on, Bound::Unbounded)
                .unwrap()
                .unwrap();
            let mut shown = Vec::new();
            let seen = batch.show_runs(
                (&tree, guard.media()),
                usize::MAX,
                false,
                &mut |record: &Record<'_, _>| {
                    shown.push(record.key().to_vec());
                    ControlFlow::Continue(())
                },
            );
            assert!(matches!(seen.unwrap(), BatchShown::Some));
            assert_eq!(shown, sorted);
            assert!(is_ordered(&tree, generation));
            drop(guard);
            assert_eq!(scan_all(&tree), sorted);
            assert_eq!(tree.exact_len().unwrap(), keys.len() as u64, "each record counts once");
            tree.modify(b"kz", |_| ByteChange::Put(b"".into())).unwrap();
            assert!(!is_ordered(&tree, generation));
            tree.modify(b"kz", |_| ByteChange::Remove).unwrap();
        }
    }
}
