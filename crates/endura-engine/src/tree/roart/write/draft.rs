//! The new record of a write. It is written once, even if the write has to search for its place several times.

use crate::Result;
use crate::media::Media;
use crate::space::Guard;
use crate::tree::roart::nodes::fresh::Fresh;
use crate::tree::roart::nodes::record::{Record, Writer, bytes_for};
use crate::tree::roart::nodes::word::{Link, Slot};
use crate::tree::roart::path::descend::Sought;

/// A record that is written and flushed, but not linked.
pub(crate) struct NewRecord {
    pub(crate) at: u64,
}

impl NewRecord {
    pub(crate) fn slot(&self, key: &Sought<'_>) -> Slot {
        Slot::new(self.at, key.fingerprint)
    }

    /// The word for the record as the child of a node that branches on byte `depth`, or as the key that ends there.
    pub(crate) fn link(&self, key: &Sought<'_>, depth: usize) -> Link {
        Link::record(self.at, key.fingerprint, key.bytes.get(depth).copied().unwrap_or(0))
    }
}

/// The address from which a value was borrowed; `None` if it was not borrowed.
pub(crate) type Source = Option<*const u8>;

/// The record written so far: the first of the operation's fresh chunks.
#[derive(Default)]
pub(crate) struct Draft(Option<Written>);

struct Written {
    at: u64,
    len: usize,
    /// The address from which the value was borrowed. The value has not changed, because the operation still borrows
    /// it.
    source: Source,
}

impl Draft {
    /// A record of `key` with this value: the one written before, if it has this value.
    #[inline]
    pub(crate) fn of<'g, M: Media>(
        &mut self,
        guard: &'g Guard<'g, M>,
        fresh: &mut Fresh<'g, M>,
        key: &Sought<'_>,
        (value, source): (&[u8], Source),
    ) -> Result<NewRecord> {
        let len = value.len();
        let at = match &self.0 {
            None => fresh.alloc(bytes_for(key.bytes.len(), len))?,
            Some(written) => match self.another(guard, fresh, written, (value, source))? {
                Some(at) => at,
                None => return Ok(NewRecord { at: written.at }),
            },
        };
        self.0 = Some(Written { at, len, source });
        let mut writer = Writer::new(guard.media(), at, key.bytes, len)?;
        writer.write(value);
        writer.finish();
        Ok(NewRecord { at })
    }

    /// The offset at which to write a record with this value; `None` if the one written before has it.
    #[cold]
    fn another<'g, M: Media>(
        &self,
        guard: &'g Guard<'g, M>,
        fresh: &mut Fresh<'g, M>,
        written: &Written,
        (value, source): (&[u8], Source),
    ) -> Result<Option<u64>> {
        let record = Record::enter(guard.media(), written.at)?;
        if written.len != value.len() {
            let key = record.key_len();
            fresh.give_back();
            return fresh.alloc(bytes_for(key, value.len())).map(Some);
        }
        let is_same = written.source.is_some() && written.source == source;
        // The record is not linked, so that it may be overwritten.
        Ok((!is_same && record.value() != *value).then_some(written.at))
    }
}
