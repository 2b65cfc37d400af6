//! Attempts of a write: each looks for the place of its key, locks it, and fails if the place is no longer
//! what it was.
//!
//! There is no limit to their number, for each that fails does so because another write has got on: others
//! may be faster as often as they like. Only damage makes an attempt fail while nobody changes anything,
//! and that is what is looked for. What an attempt looked at is noted when it has failed: up to three
//! chunks, each with its lock word. If the next one fails over the same chunks, with the same words, and
//! none is locked, nobody has changed them since before it began its search: whoever does takes the lock,
//! and leaves another version (a holder who changes nothing leaves the same).

use crate::media::Media;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::lock::LockWord;
use crate::tree::roart::nodes::node::Node;
use crate::{Error, Result};

/// The chunks that an attempt looked at, as they were when it had failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen([Option<(u64, LockWord)>; 3]);

impl Seen {
    pub(crate) fn of<M: Media>(
        parent: Option<&Node<'_, M>>,
        node: &Node<'_, M>,
        array: Option<&Array<'_, M>>,
    ) -> Self {
        let of_node = |node: &Node<'_, M>| (node.at(), node.version());
        let of_array = array.map(|array| (array.at(), array.version()));
        Self([parent.map(of_node), Some(of_node(node)), of_array])
    }

    /// Whether nobody is at work on any of them.
    fn is_still(&self) -> bool {
        self.0.iter().flatten().all(|(_, version)| !version.is_locked())
    }
}

/// What came of an attempt.
pub(crate) enum Attempt {
    Done,
    /// Nothing has changed: the place was no longer what it was.
    Failed(Seen),
    /// Nothing has changed: a pop comes first.
    HeldUp,
}

/// What came of entering a record under the locks of its place.
pub(crate) enum Entered {
    Yes,
    /// The place was no longer what it was.
    Moved,
    /// A pop comes first.
    HeldUp,
}

/// The attempts that an operation makes in one pin.
pub(crate) struct Attempts {
    last: Option<Seen>,
    left: u32,
}

impl Attempts {
    /// So many fail before the pin is given up: what the others retire meanwhile waits for it.
    const IN_ONE_PIN: u32 = 256;

    pub(crate) fn new() -> Self {
        Self { last: None, left: Self::IN_ONE_PIN }
    }

    /// Notes that one has failed; whether another may follow in this pin. What `damage` makes if nobody else
    /// can be the reason.
    pub(crate) fn failed(&mut self, seen: Seen, damage: impl FnOnce() -> Error) -> Result<bool> {
        if self.last == Some(seen) && seen.is_still() {
            return Err(damage());
        }
        self.last = Some(seen);
        self.left = self.left.saturating_sub(1);
        Ok(self.left > 0)
    }
}
