//! The new record of a write. It is written once, even if the write has to search for its place several times.

use std::borrow::Cow;

use crate::Result;
use crate::media::Media;
use crate::space::Guard;
use crate::tree::records::fresh::Fresh;
use crate::tree::records::record::{Record, Writer, bytes_for, check_lengths};

/// The address from which a value was borrowed; `None` if it was not borrowed.
type Source = Option<*const u8>;

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
    /// The offset of a record of `key` with this value: the one written before, if it has this value. It is flushed, and
    /// the caller fences before it links the record.
    #[allow(
        clippy::ptr_arg,
        reason = "whether the value is borrowed tells whether it may have changed"
    )]
    #[inline]
    pub(crate) fn of<'g, M: Media>(
        &mut self,
        guard: &'g Guard<'g, M>,
        fresh: &mut Fresh<'g, M>,
        key: &[u8],
        value: &Cow<'_, [u8]>,
    ) -> Result<u64> {
        let len = value.len();
        check_lengths(0, len)?;
        let source = match value {
            Cow::Borrowed(bytes) => Some(bytes.as_ptr()),
            Cow::Owned(_) => None,
        };
        let at = match &self.0 {
            None => fresh.alloc(bytes_for(key.len(), len))?,
            Some(written) => match self.another(guard, fresh, written, (value, source))? {
                Some(at) => at,
                None => return Ok(written.at),
            },
        };
        self.0 = Some(Written { at, len, source });
        let mut writer = Writer::new(guard.media(), at, key, len)?;
        writer.write(value);
        writer.finish();
        Ok(at)
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
