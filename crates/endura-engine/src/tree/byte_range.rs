//! A live range of byte strings, which can be read from both ends.

use std::ops::Bound;

use crate::Result;
use crate::tree::{ByteIndex, Entry, EntryVisitor};

/// The keys that are still to be returned, and the tree's cursor at each end. The range does not own the tree: the
/// caller passes the tree to each call.
pub struct ByteRange<C> {
    done: bool,
    front: End<C>,
    back: End<C>,
    /// The buffer for the next entry. The entry returned last is needed until the next one is found, because its key is
    /// the bound.
    spare: Entry,
}

/// One end of a range.
struct End<C> {
    limit: Limit,
    cursor: C,
}

/// A bound of the range. Its key is in an [`Entry`]: at first the key that the caller named, later that of the entry
/// returned last.
struct Limit {
    bound: Bound<()>,
    entry: Entry,
}

impl<C: Default> End<C> {
    fn new(bound: Bound<Vec<u8>>) -> Self {
        let (bound, key) = match bound {
            Bound::Included(key) => (Bound::Included(()), key),
            Bound::Excluded(key) => (Bound::Excluded(()), key),
            Bound::Unbounded => (Bound::Unbounded, Vec::new()),
        };
        Self { limit: Limit { bound, entry: Entry::of_key(key) }, cursor: C::default() }
    }
}

impl Limit {
    #[inline]
    fn get(&self) -> Bound<&[u8]> {
        self.bound.map(|()| self.entry.key())
    }
}

impl<C: Default> ByteRange<C> {
    /// All keys between two bounds.
    pub fn new(from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Self {
        Self { done: false, front: End::new(from), back: End::new(to), spare: Entry::default() }
    }

    /// Leaves out the keys below `from`; all keys, if it is `None`.
    pub fn skip_to(&mut self, from: Option<Vec<u8>>) {
        let Some(from) = from else {
            self.done = true;
            return;
        };
        let is_further = match self.front.limit.get() {
            Bound::Included(first) | Bound::Excluded(first) => *from > *first,
            Bound::Unbounded => true,
        };
        if is_further {
            self.done |= match self.back.limit.get() {
                Bound::Included(last) => *from > *last,
                Bound::Excluded(end) => *from >= *end,
                Bound::Unbounded => false,
            };
            self.front = End::new(Bound::Included(from));
        }
    }

    /// Copies the next entry from one end, if there is one. Without `with_value`, only its key is copied.
    pub fn next(
        &mut self,
        tree: &impl ByteIndex<Cursor = C>,
        upwards: bool,
        with_value: bool,
    ) -> Result<Option<&mut Entry>> {
        if self.done {
            return Ok(None);
        }
        let keys = (self.front.limit.get(), self.back.limit.get());
        let cursor = if upwards { &mut self.front.cursor } else { &mut self.back.cursor };
        let found = tree.next_entry(cursor, keys, upwards, with_value, &mut self.spare);
        self.done = !matches!(found, Ok(true));
        if self.done {
            return found.map(|_| None).map_err(|error| tree.noted(error));
        }
        let limit = if upwards { &mut self.front.limit } else { &mut self.back.limit };
        std::mem::swap(&mut limit.entry, &mut self.spare);
        limit.bound = Bound::Excluded(());
        Ok(Some(&mut limit.entry))
    }

    /// Passes copies of all remaining entries to `visit`, until it breaks. Afterwards the range is empty.
    pub fn visit(
        &mut self,
        tree: &impl ByteIndex<Cursor = C>,
        upwards: bool,
        visit: EntryVisitor<'_>,
    ) -> Result<()> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(());
        }
        let keys = (self.front.limit.get(), self.back.limit.get());
        let cursor = if upwards { &mut self.front.cursor } else { &mut self.back.cursor };
        tree.show(cursor, keys, upwards, visit)
    }
}

/// The smallest byte string that is greater than all those with this `prefix`; `None` if there is none.
pub fn behind(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte < 0xFF)?;
    let mut key = prefix[..=last].to_vec();
    key[last] += 1;
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::behind;

    #[test]
    fn what_is_behind_a_prefix() {
        for (prefix, key) in [
            (&b""[..], None),
            (b"a", Some(&b"b"[..])),
            (b"a\xFF\xFF", Some(b"b")),
            (b"\xFF\xFF", None),
            (b"\xFE\xFF\x00", Some(b"\xFE\xFF\x01")),
        ] {
            assert_eq!(behind(prefix).as_deref(), key, "{prefix:?}");
        }
    }
}
