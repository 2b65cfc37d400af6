//! What the catalogue keeps of a key: where it is, what it is called, when it expires.

use endura::Kind;

/// Where the entries of a key are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// In the map that all keys share, behind the number of the key.
    Shared,
    /// In a map of its own, of integers.
    Own(Kind),
    /// Something that a newer version of the module has made, by its number.
    Unknown(u8),
}

impl Form {
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Shared => 0,
            Self::Own(kind) => kind.number(),
            Self::Unknown(number) => number,
        }
    }

    pub(crate) fn numbered(number: u64) -> Option<Self> {
        match u8::try_from(number).ok()? {
            0 => Some(Self::Shared),
            number => Kind::numbered(number).map(Self::Own),
        }
    }

    /// As `EN.CREATE` and `EN.INFO` name it.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Shared => Kind::Roart.name().to_ascii_lowercase(),
            Self::Own(kind) => kind.name().to_ascii_lowercase(),
            Self::Unknown(_) => "unknown".to_owned(),
        }
    }
}

/// The record of a key in the catalogue, under the number of the key.
///
/// Two records may say that they are the same key: a kill came between the one that took the name and the removal of the
/// one that had it. The one with the higher `sequence` is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// The space in which the key is; [`Spaces`](super::spaces::Spaces) says which database that is now, if any.
    pub(crate) space: u64,
    /// Counts the records that were written to this pool.
    pub(crate) sequence: u64,
    /// When it expires, in milliseconds since 1970; negative if it does not.
    pub(crate) expires: i64,
    pub(crate) form: Form,
    pub(crate) name: Vec<u8>,
}

const HEAD: usize = 25;

impl Record {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + self.name.len());
        bytes.extend(self.space.to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(self.expires.to_le_bytes());
        bytes.push(self.form.number());
        bytes.extend(&self.name);
        bytes
    }

    /// `None` for bytes that are no record. A form that this version does not know is said, not left out: what is left
    /// out would be swept.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, name) = bytes.split_at_checked(HEAD)?;
        let word = |at: usize| head[at..at + 8].try_into().map(u64::from_le_bytes).ok();
        Some(Self {
            space: word(0)?,
            sequence: word(8)?,
            expires: word(16)?.cast_signed(),
            form: Form::numbered(head[24].into()).unwrap_or(Form::Unknown(head[24])),
            name: name.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let forms = Kind::all().map(Form::Own).chain([Form::Shared, Form::Unknown(99)]);
        for form in forms {
            let record =
                Record { space: 3, sequence: u64::MAX, expires: -1, form, name: b"\0key".to_vec() };
            assert_eq!(Record::decode(&record.encode()), Some(record));
        }
        assert_eq!(Record::decode(&[0; 24]), None);
    }
}
