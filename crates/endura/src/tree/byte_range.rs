//! A live range of byte strings, from both ends.

use std::ops::{Bound, ControlFlow};

use crate::Result;
use crate::tree::{ByteIndex, Bytes};

/// The keys that are still to be returned, and the tree's cursor at each end. It does not own the tree: the caller
/// passes it to each call.
pub struct ByteRange<C> {
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    done: bool,
    front: C,
    back: C,
    /// The buffer for the next key. It cannot overwrite the bound that it will replace, which is needed until then.
    spare: Vec<u8>,
}

impl<C: Default> ByteRange<C> {
    /// All keys between two bounds.
    pub fn new(from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Self {
        let (front, back, spare) = Default::default();
        Self { from, to, done: false, front, back, spare }
    }

    /// Passes the next entry from one end to `read`; `false` if there is none.
    pub fn next(
        &mut self,
        tree: &impl ByteIndex<Cursor = C>,
        upwards: bool,
        read: &mut dyn FnMut(Bytes<'_>, Bytes<'_>),
    ) -> Result<bool> {
        if self.done {
            return Ok(false);
        }
        let mut found = false;
        let (keys, spare) = ((as_slice(&self.from), as_slice(&self.to)), &mut self.spare);
        let visit = |key: Bytes<'_>, value: Bytes<'_>| {
            spare.clear();
            key.append_to(spare);
            read(key, value);
            found = true;
            ControlFlow::Break(())
        };
        let outcome = match upwards {
            true => tree.scan_up(&mut self.front, keys, visit),
            false => tree.scan_down(&mut self.back, keys, visit),
        };
        self.done = !found || outcome.is_err();
        if found {
            let bound = if upwards { &mut self.from } else { &mut self.to };
            let last = std::mem::take(&mut self.spare);
            match std::mem::replace(bound, Bound::Excluded(last)) {
                Bound::Included(old) | Bound::Excluded(old) => self.spare = old,
                Bound::Unbounded => {}
            }
        }
        outcome.map(|()| !self.done)
    }

    /// Passes all entries that are left to `visit`, until it breaks; then none is left.
    pub fn visit(
        &mut self,
        tree: &impl ByteIndex<Cursor = C>,
        upwards: bool,
        visit: &mut dyn FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(());
        }
        let keys = (as_slice(&self.from), as_slice(&self.to));
        match upwards {
            true => tree.scan_up(&mut self.front, keys, visit),
            false => tree.scan_down(&mut self.back, keys, visit),
        }
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// The first byte string after all that start with `prefix`; `None` if there is no such.
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
