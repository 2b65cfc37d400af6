//! Attempts of a write: each searches for the place of its key, locks it, and fails if the place has changed.
//!
//! The number of attempts has no limit, because an attempt fails only if another write has made progress: other writers
//! may win any number of times. Only damage makes an attempt fail while no thread changes anything, and this code
//! detects that. After an attempt has failed, the chunks that it used are recorded: up to three, each with its lock
//! word. Suppose that the next attempt fails over the same chunks with the same words, and none of them is locked. Then
//! no thread has changed them since before that attempt started its search: a thread that changes a chunk takes its
//! lock, and leaves another version (a holder that changes nothing leaves the same version). So the attempt has failed
//! because of damage.

use crate::media::Media;
use crate::tree::roart::nodes::array::Array;
use crate::tree::roart::nodes::lock::LockWord;
use crate::tree::roart::nodes::node::Node;
use crate::{Error, Result};

/// The chunks that an attempt used, with their lock words after it had failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockWords([Option<(u64, LockWord)>; 3]);

impl LockWords {
    pub(crate) fn of<M: Media>(
        parent: Option<&Node<'_, M>>,
        node: &Node<'_, M>,
        array: Option<&Array<'_, M>>,
    ) -> Self {
        let of_node = |node: &Node<'_, M>| (node.at(), node.version());
        let of_array = array.map(|array| (array.at(), array.version()));
        Self([parent.map(of_node), Some(of_node(node)), of_array])
    }

    /// Whether no thread held the lock of any of these chunks.
    fn is_still(&self) -> bool {
        self.0.iter().flatten().all(|(_, version)| !version.is_locked())
    }
}

/// The outcome of an attempt.
pub(crate) enum Attempt {
    Done,
    /// Nothing was changed: the place had changed since the search.
    Failed(LockWords),
    /// Nothing was changed: a pop comes first.
    HeldUp,
}

/// The outcome of inserting a record under the locks of its place.
pub(crate) enum Entered {
    Yes,
    /// The place had changed since the search.
    Moved,
    /// A pop comes first.
    HeldUp,
}

/// The attempts that an operation makes in one pin.
pub(crate) struct Attempts {
    last: Option<LockWords>,
    left: u32,
}

impl Attempts {
    /// The number of failed attempts after which the pin is ended. Until then, the chunks that other writers retire
    /// meanwhile cannot be reused.
    const IN_ONE_PIN: u32 = 256;

    pub(crate) fn new() -> Self {
        Self { last: None, left: Self::IN_ONE_PIN }
    }

    /// Records that an attempt has failed; returns whether another may follow in this pin. Returns the error of
    /// `damage` if no other thread can be the reason.
    pub(crate) fn failed(
        &mut self,
        seen: LockWords,
        damage: impl FnOnce() -> Error,
    ) -> Result<bool> {
        if self.last == Some(seen) && seen.is_still() {
            return Err(damage());
        }
        self.last = Some(seen);
        self.left = self.left.saturating_sub(1);
        Ok(self.left > 0)
    }
}
