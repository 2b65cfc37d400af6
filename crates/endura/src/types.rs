//! The types of a map.

use std::fmt;

/// The types of a map's keys and values, by the names that the pool records
/// ([`Value::type_name`](crate::Value::type_name)).
///
/// Shown as `Map<str, u64>`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Types {
    /// Of the keys.
    pub key: String,
    /// Of the values.
    pub value: String,
}

impl Types {
    /// Numbers to numbers.
    pub(crate) fn numbers() -> Self {
        Self { key: "u64".to_owned(), value: "u64".to_owned() }
    }

    /// Byte strings to byte strings.
    pub(crate) fn byte_strings() -> Self {
        Self { key: "[u8]".to_owned(), value: "[u8]".to_owned() }
    }
}

impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Map<{}, {}>", self.key, self.value)
    }
}
