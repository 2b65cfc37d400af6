//! The types of a map.

use std::fmt;

/// The types of a map's keys and values, as the names that the pool records
/// (`Value::type_name`).
///
/// `Display` shows them as `Map<str, u64>`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Types {
    /// The type of the keys.
    pub key: String,
    /// The type of the values.
    pub value: String,
}

impl Types {
    /// The types of a map from `u64` to `u64`.
    pub(crate) fn numbers() -> Self {
        Self { key: "u64".to_owned(), value: "u64".to_owned() }
    }

    /// The types of a map from byte strings to byte strings.
    pub(crate) fn byte_strings() -> Self {
        Self { key: "[u8]".to_owned(), value: "[u8]".to_owned() }
    }
}

impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Map<{}, {}>", self.key, self.value)
    }
}
