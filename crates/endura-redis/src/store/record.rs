//! The record of a key in the catalogue: its database, its name, when it expires, and where its entries are.

use endura::Kind;

/// Where the entries of a key are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// In the map that all keys share, each field after the number of the key.
    Shared,
    /// In a map of its own, of integers.
    Own(Kind),
    /// A form that only a newer version of the module knows, by its number.
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

    /// The name of the form in `EN.CREATE` and `EN.INFO`.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Shared => Kind::Roart.name().to_ascii_lowercase(),
            Self::Own(kind) => kind.name().to_ascii_lowercase(),
            Self::Unknown(_) => "unknown".to_owned(),
        }
    }
}

/// The record of a key in the catalogue, under the number of the key. No two records have the same name in the same space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// The space in which the key is; [`Spaces`](super::spaces::Spaces) says which database that is now, if any.
    pub(crate) space: u64,
    /// When the key expires, in milliseconds since 1970; negative if it does not.
    pub(crate) expires: i64,
    pub(crate) form: Form,
    pub(crate) name: Vec<u8>,
}

const HEAD: usize = 17;

impl Record {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + self.name.len());
        bytes.extend(self.space.to_le_bytes());
        bytes.extend(self.expires.to_le_bytes());
        bytes.push(self.form.number());
        bytes.extend(&self.name);
        bytes
    }

    /// Decodes a record; `None` if the bytes are not one. A record of an unknown form is decoded too, because the
    /// entries of a key without a record would be swept.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, name) = bytes.split_at_checked(HEAD)?;
        let word = |at: usize| head[at..at + 8].try_into().map(u64::from_le_bytes).ok();
        Some(Self {
            space: word(0)?,
            expires: word(8)?.cast_signed(),
            form: Form::numbered(head[16].into()).unwrap_or(Form::Unknown(head[16])),
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
            let record = Record { space: 3, expires: -1, form, name: b"\0key".to_vec() };
            assert_eq!(Record::decode(&record.encode()), Some(record));
        }
        assert_eq!(Record::decode(&[0; 16]), None);
    }
}
