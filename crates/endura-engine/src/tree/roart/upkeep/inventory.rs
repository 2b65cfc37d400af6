//! An enumeration, in steps, of all chunks of a tree that no thread uses any more, to free them.

use crate::Result;
use crate::media::{LINE, Media};
use crate::space::MapState;
use crate::tree::records::record::Record;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::node::{EOK, Node};
use crate::tree::roart::nodes::root::root_node;
use crate::tree::roart::nodes::word::{Link, LinkKind};
use crate::tree::roart::upkeep::tour::Chunk;

/// The position of the enumeration.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    has_begun: bool,
    /// Words of enumerated nodes whose targets are still to be enumerated.
    left: Vec<Link>,
}

impl Inventory {
    /// Passes about `bite` more chunks to `note`; returns whether the enumeration has ended. If `note` returns `false`
    /// for a chunk, such as one that was passed before, the chunks below it in the tree are skipped.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if a word leads nowhere.
    pub(crate) fn step<M: Media>(
        &mut self,
        media: &M,
        map: &MapState,
        note: &mut dyn FnMut(u64, u64) -> bool,
        bite: usize,
    ) -> Result<bool> {
        if !self.has_begun {
            self.has_begun = true;
            let root = root_node(media, map.root())?;
            if tell(note, &Chunk::Node(root)) {
                self.enter(&root);
            }
        }
        let mut left = bite;
        while left > 0
            && let Some(link) = self.left.pop()
        {
            left = left.saturating_sub(self.pass(media, link, note)?);
        }
        Ok(self.left.is_empty())
    }

    /// Passes the target of a word to `note`; returns the number of chunks passed.
    fn pass<M: Media>(
        &mut self,
        media: &M,
        link: Link,
        note: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<usize> {
        match link.kind()? {
            LinkKind::Record => {
                tell(note, &Chunk::Record(Record::enter(media, link.at())?));
            }
            LinkKind::Node(kind) => {
                let node = Node::enter(media, link.at(), kind)?;
                if tell(note, &Chunk::Node(node)) {
                    self.enter(&node);
                }
            }
            LinkKind::Array(kind) => {
                let array = Array::enter(media, link.at(), kind)?;
                if tell(note, &Chunk::Array(array)) {
                    let slots = array.slots();
                    // The first lines of all records are prefetched at once, so that the misses overlap.
                    slots.iter().for_each(|slot| media.prefetch(slot.at(), LINE));
                    for slot in &slots {
                        tell(note, &Chunk::Record(Record::enter(media, slot.at())?));
                    }
                    return Ok(1 + slots.len());
                }
            }
        }
        Ok(1)
    }

    /// Notes the targets of the words of a node.
    fn enter<M: Media>(&mut self, node: &Node<'_, M>) {
        let words = [EOK].into_iter().chain(node.places()).map(|i| node.peek(i));
        self.left.extend(words.filter(|link| !link.is_empty()));
    }
}

fn tell<M: Media>(note: &mut dyn FnMut(u64, u64) -> bool, chunk: &Chunk<'_, M>) -> bool {
    let (at, bytes) = chunk.place();
    note(at, bytes)
}
