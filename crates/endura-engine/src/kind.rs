//! The kinds of index.

use std::fmt;
use std::str::FromStr;

/// The kind of index that stores a map.
///
/// It is chosen when a map is created (`MapOptions::kind`) and recorded in the pool. It
/// never changes results, only the cost of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A FAST & FAIR B+-tree, for keys and values of any type. Keys and values of at most 8 bytes lie in its nodes, others in
    /// records. It is entirely in the pool, restarts in microseconds, and scans numbers fastest.
    FastFair,
    /// An NBTree, for keys and values of any type. Keys and values of at most 8 bytes lie in its blocks, others in records. Its
    /// writers never wait, except that pops take turns and an insert may wait for a pop. An insert, update or remove writes one
    /// cache line, besides the record. Its inner nodes are in DRAM, and are rebuilt as they are needed after an open.
    NbTree,
    /// A ROART radix tree, for keys and values of any type. It is entirely in the pool, and restarts in microseconds.
    Roart,
}

impl Kind {
    const ALL: [Self; 3] = [Self::FastFair, Self::NbTree, Self::Roart];

    /// All kinds that this version has, in the order of their numbers.
    ///
    /// ```
    /// let names: Vec<_> = endura::Kind::all().map(endura::Kind::name).collect();
    /// assert_eq!(names, ["FastFair", "NbTree", "Roart"]);
    /// ```
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        Self::ALL.into_iter()
    }

    /// Whether the nodes of this kind hold keys and values of at most 8 bytes themselves, without records.
    pub const fn holds_words(self) -> bool {
        match self {
            Self::FastFair | Self::NbTree => true,
            Self::Roart => false,
        }
    }

    /// The number by which a pool records the kind. It is never 0, and never changes.
    pub const fn number(self) -> u8 {
        match self {
            Self::FastFair => 1,
            Self::NbTree => 2,
            Self::Roart => 3,
        }
    }

    /// The kind with this [number](Self::number); `None` if this version has none.
    ///
    /// ```
    /// use endura::Kind;
    /// assert!(Kind::all().all(|kind| Kind::numbered(kind.number()) == Some(kind)));
    /// assert_eq!(Kind::numbered(0), None);
    /// ```
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// The name of the kind, as in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::FastFair => "FastFair",
            Self::NbTree => "NbTree",
            Self::Roart => "Roart",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    /// Reads a name, in letters of either case, with or without `-` between its words.
    fn from_str(name: &str) -> Result<Self, String> {
        let plain = name.replace('-', "");
        let found = Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(&plain));
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("no kind of map is called `{name}`: the kinds are {known}")
        })
    }
}
