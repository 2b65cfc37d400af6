//! A pool on a medium under the direction of a test, with maps of all kinds.

use std::sync::Arc;

use endura_engine::Result;
use endura_engine::index::commit::{Act, Operation, commit, same_bytes};
use endura_engine::index::{ByteTree, FairBytes, NbBytes, NbTree, Wide, WordTree};
use endura_engine::media::{Heap, Media, Ordering, Region};
use endura_engine::space::{PAGE, Session, Space};
use endura_engine::tree::record_tree::RecordTree;
use endura_engine::tree::{ByteIndex, Index, roart};
use endura_variants::media::Staged;

pub(super) type Medium = Arc<Staged<Heap>>;

const PAGES: u64 = 16;
/// Keys that each map has, which are as many as fill leaves.
pub(super) const KEYS: u64 = 64;

pub(super) struct World {
    pub(super) space: Arc<Space<Medium>>,
    words: [WordTree<Medium>; 2],
    bytes: [ByteTree<Medium>; 5],
}

fn get_word(tree: &WordTree<Medium>, key: u64) -> Option<u64> {
    match tree {
        WordTree::Wide(tree) => tree.get(key),
        WordTree::NarrowLeaves(tree) => tree.get(key),
        WordTree::NbTree(tree) => tree.get(key),
    }
    .unwrap()
}

fn get_bytes(tree: &ByteTree<Medium>, key: &[u8]) -> Option<Vec<u8>> {
    let copy = |value: endura_engine::Bytes<'_>| value.to_vec();
    match tree {
        ByteTree::Roart(tree) => tree.get_with(key, copy),
        ByteTree::FairBytes(tree) => tree.get_with(key, copy),
        ByteTree::NbBytes(tree) => tree.get_with(key, copy),
        ByteTree::Wide(tree) => tree.get_with(key, copy),
        ByteTree::NarrowLeaves(tree) => tree.get_with(key, copy),
        ByteTree::NbTree(tree) => tree.get_with(key, copy),
    }
    .unwrap()
}

/// A change of every map: which key, and to which value.
pub(super) type Step = (u64, Option<u64>);

impl World {
    pub(super) fn open(medium: Medium, session: Session) -> Self {
        let space = Arc::new(Space::mount(medium, session).unwrap());
        let words = [
            WordTree::Wide(Wide::open(&space, "wide").unwrap()),
            WordTree::NbTree(NbTree::open(&space, "nb").unwrap()),
        ];
        let bytes = [
            ByteTree::Wide(RecordTree::open(&space, "wide records").unwrap()),
            ByteTree::NbTree(RecordTree::open(&space, "nb records").unwrap()),
            ByteTree::FairBytes(FairBytes::open(&space, "fair").unwrap()),
            ByteTree::NbBytes(NbBytes::open_strings(&space, "nb strings").unwrap()),
            ByteTree::Roart(roart::Tree::open(&space, "roart").unwrap()),
        ];
        Self { space, words, bytes }
    }

    pub(super) fn new() -> Self {
        let medium = Arc::new(Staged::new(Heap::new(PAGES * PAGE)));
        Space::format(&medium).unwrap();
        Self::open(medium, Session { generation: 1, clean: true, read_only: false })
    }

    /// The world that the next session finds after a crash.
    pub(super) fn crashed(&self) -> Self {
        Self::after_a_kill(self.image())
    }

    /// What a crash leaves.
    pub(super) fn image(&self) -> Heap {
        let from = self.space.media();
        let words = from.len() as usize / 8;
        let copy = Heap::new(PAGES * PAGE);
        copy.grow(from.len()).unwrap();
        let to = Region::new(&copy, 0, words).unwrap();
        let from = Region::new(from, 0, words).unwrap();
        (0..words).for_each(|i| to.store(i, from.load(i, Ordering::Relaxed), Ordering::Relaxed));
        copy
    }

    pub(super) fn after_a_kill(image: Heap) -> Self {
        let session = Session { generation: 2, clean: false, read_only: false };
        Self::open(Arc::new(Staged::new(image)), session)
    }

    pub(super) fn commit(&self, steps: &[Step]) -> Result<()> {
        let encoded: Vec<_> = steps
            .iter()
            .map(|(key, value)| (key.to_be_bytes(), value.map(|value| vec![value as u8; 40])))
            .collect();
        let mut all = Vec::new();
        for (&(key, value), (bytes, text)) in steps.iter().zip(&encoded) {
            let act = value.map_or(Act::Delete, Act::Put);
            all.extend(self.words.iter().map(|tree| Operation::Word { tree, key, act }));
            let act = text.as_deref().map_or(Act::Delete, Act::Put);
            all.extend(self.bytes.iter().map(|tree| Operation::Bytes {
                tree,
                key: bytes,
                act,
                is_same: same_bytes,
            }));
        }
        commit(&self.space, &all)
    }

    /// The values of a key in every map, each as its first byte.
    pub(super) fn values(&self, key: u64) -> Vec<Option<u8>> {
        let words = self.words.iter().map(|tree| get_word(tree, key).map(|value| value as u8));
        let bytes = self.bytes.iter().map(|tree| {
            get_bytes(tree, &key.to_be_bytes()).map(|value| {
                assert_eq!(value.len(), 40);
                value[0]
            })
        });
        words.chain(bytes).collect()
    }

    pub(super) fn expect(&self, is_changed: bool, steps: &[Step]) {
        for key in 0..3 * KEYS {
            let before = (key < KEYS).then_some(1);
            let step = steps.iter().find(|step| step.0 == key).filter(|_| is_changed);
            let value = step.map_or(before, |step| step.1.map(|value| value as u8));
            assert!(self.values(key).iter().all(|found| *found == value), "{key}: {value:?}");
        }
    }
}
