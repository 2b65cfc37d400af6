//! In which form an index holds the entries of a map.

/// The form of a map's entries. *Words* are encodings of one length, of at most 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entries {
    /// Keys and values are words, and lie in the nodes.
    Words,
    /// Keys are words, and lie in the nodes; values have any length, and lie in records.
    WordKeys,
    /// Keys and values have any length, and lie in records.
    Bytes,
}

impl Entries {
    /// The form of the entries of a map whose keys, and values, are words or not: an index holds them in this form, or in
    /// a later one.
    pub fn of(keys_are_words: bool, values_are_words: bool) -> Self {
        match (keys_are_words, values_are_words) {
            (true, true) => Self::Words,
            (true, false) => Self::WordKeys,
            (false, _) => Self::Bytes,
        }
    }

    /// Whether an index that holds entries in this form can hold these.
    pub(crate) fn can_hold(self, entries: Self) -> bool {
        entries <= self
    }
}
