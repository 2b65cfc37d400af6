//! On what the decision of a write rests, so that it need not decide again after each attempt that failed.

use crate::media::Media;
use crate::tree::ByteChange;
use crate::tree::records::record::Record;

/// What must be unchanged for a decision about a present key to stay valid. (For an absent key there is nothing to
/// compare.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The value of the key, which may have been replaced and restored meanwhile.
    Value,
    /// The value, shown to a closure of the caller that may itself have written to the map. So a decision to remove an
    /// absent key is checked again.
    Shown,
    /// The record of the key: the decision also rests on what else was seen while this record was linked.
    Record,
}

/// A decision whose attempt has failed, and the record on which it is based.
pub(crate) type Kept<'g, 'v, M> = (Option<Record<'g, M>>, ByteChange<'v>);

impl Basis {
    /// The decision of the last attempt, if it is valid for the record found since, in the same pin.
    #[cold]
    pub(crate) fn reuse<'v, M: Media>(
        self,
        kept: &mut Option<Kept<'_, 'v, M>>,
        now: Option<Record<'_, M>>,
    ) -> Option<ByteChange<'v>> {
        let (old, change) = kept.take()?;
        let holds = match (old, now) {
            // A record that was replaced stays as it was until the pin ends.
            (Some(old), Some(now)) => {
                old.at() == now.at() || self != Self::Record && old.value() == now.value()
            }
            (old, now) => old.is_none() && now.is_none(),
        };
        holds.then_some(change)
    }
}
